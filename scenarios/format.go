package scenarios

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Format returns the canonical text of a file: one space between words, options in the
// order of the manual, defaults left out (tools apart), two spaces before a comment behind a command.
// Parsing it gives the same File again.
func Format(f *File) []byte {
	var b strings.Builder
	for _, l := range f.Lines {
		if l.Command != nil {
			b.WriteString(l.Command.String())
			if l.Comment != "" {
				b.WriteString("  ")
			}
		}
		b.WriteString(l.Comment)
		b.WriteByte('\n')
	}
	a := &txtar.Archive{Comment: []byte(b.String())}
	for _, s := range f.Attachments {
		a.Files = append(a.Files, txtar.File{Name: s.Name, Data: []byte(s.Data)})
	}
	return txtar.Format(a)
}

func (c Clauses) String() string { return join(append([]string{"clauses"}, c.IDs...)...) }
func (c Only) String() string    { return join(append([]string{"only"}, c.Worlds...)...) }
func (c Needs) String() string   { return join(append([]string{"needs"}, c.Programs...)...) }
func (c Set) String() string     { return join("set", c.words()) }

// words are the setting and its value.
func (c Set) words() string {
	if new(Settings).bound(c.Name) != nil {
		return join(c.Name, strconv.Itoa(c.Count))
	}
	return join(c.Name, duration(c.Value))
}

func (c Configure) String() string { return join("configure", c.Set.words()) }
func (c Reload) String() string    { return join("reload", c.From, c.To) }
func (Drain) String() string       { return "drain" }

func (c Restart) String() string {
	if c.Kill {
		return "restart kill"
	}
	return "restart"
}

func (c Server) String() string { return join("server", c.Name, c.Behaviour.String()) }

func (c Change) String() string {
	words := []string{"change", c.Server}
	for _, e := range c.Edits {
		words = append(words, e.String())
	}
	return join(words...)
}

func (c Hold) String() string       { return join("hold", c.Server, string(c.Point)) }
func (c Release) String() string    { return join("release", c.Server, string(c.Point)) }
func (c AwaitPoint) String() string { return join("await", c.Server, string(c.Point)) }
func (c Kill) String() string       { return join("kill", c.Server, option("token", c.Token)) }
func (c Quit) String() string       { return join("quit", c.Server, option("token", c.Token)) }
func (c Break) String() string      { return join("break", c.Server, option("token", c.Token)) }
func (c Announce) String() string   { return join("announce", c.Server) }
func (c Expire) String() string     { return join("expire", c.Token) }

func (c Agent) String() string { return join("agent", c.Name) }
func (c Declare) String() string {
	return join("declare", c.Agent, c.MCP, c.Target.String(), c.Wish.String())
}
func (c Delete) String() string { return join("delete", c.Agent, c.MCP) }
func (c Remove) String() string { return join("remove", c.Agent) }
func (c Rename) String() string { return join("rename", c.Agent, c.To) }

// String returns the target's words: the server and the options.
func (t Target) String() string {
	words := []string{t.Server, option("token", t.Token)}
	for _, e := range t.Env {
		words = append(words, "env="+e.Key+":"+e.Value)
	}
	return join(words...)
}

func (c Call) String() string      { return join("call", c.Agent, c.Tool) }
func (c List) String() string      { return join("list", c.Agent) }
func (c Reconnect) String() string { return join("reconnect", c.Agent, c.MCP) }
func (c Upsert) String() string {
	return join("upsert", c.Agent, c.MCP, c.Target.String(), c.Wish.String())
}
func (c WriteOff) String() string { return join("write-off", c.Agent, c.MCP) }

func (c Start) String() string   { return join("start", c.Calls.String()+":", c.Op.String()) }
func (c Await) String() string   { return join("await", c.Calls.String()) }
func (c Cancel) String() string  { return join("cancel", c.Calls.String()) }
func (c Advance) String() string { return join("advance", duration(c.By)) }
func (Fence) String() string     { return "fence" }

func (c Expect) String() string {
	q := c.Query
	q.Call = c.Calls.String()
	return join("expect", q.String(), "=", c.Want)
}

// FormatDuration writes a duration as the language does, so that answers and files agree.
func FormatDuration(d time.Duration) string { return duration(d) }

// duration writes 90s as 1m30s and 60s as 1m: the standard text without empty units.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
