package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// Error is one thing wrong with a file, at the line where it is wrong.
type Error struct {
	File string
	Line int
	Msg  string // what is wrong and what to write instead
}

// Error returns "file:line: message".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Parse reads a scenario. The error joins up to MaxErrors values of type *Error, all of
// one file: first what cannot be read, and only when all can be read, what makes no sense.
func Parse(name string, src []byte) (*File, error) {
	f := &File{Name: name}
	script, err := f.open(src)
	if err != nil {
		return nil, err
	}
	var errs errorList
	for i, text := range script {
		if errs.full {
			break
		}
		command, comment, err := parseLine(text)
		if err != nil {
			errs.add(f.Name, i+1, err)
		}
		f.Lines = append(f.Lines, Line{Command: command, Comment: comment})
	}
	if err := errs.join(); err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return f, nil
}

// open checks the bytes as a whole, keeps the attachments and returns the script's lines.
func (f *File) open(src []byte) ([]string, error) {
	if len(src) > MaxSize {
		return nil, &Error{f.Name, 1, fmt.Sprintf("the file has %d bytes: at most %d", len(src), MaxSize)}
	}
	if bytes.HasPrefix(src, []byte("mayfly tape ")) {
		return nil, &Error{f.Name, 1, "the file is the tape of a simulation: replay it with `mayfly sim -replay`"}
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	if i := firstUnreadable(src); i >= 0 {
		line := 1 + bytes.Count(src[:i], []byte("\n"))
		return nil, &Error{f.Name, line, "there is a byte that is not readable text: write UTF-8 without control characters"}
	}
	archive := txtar.Parse(src)
	for _, a := range archive.Files {
		f.Attachments = append(f.Attachments, Attachment{Name: a.Name, Data: string(a.Data)})
	}
	if len(archive.Comment) == 0 {
		return nil, nil
	}
	lines := strings.Split(strings.TrimSuffix(string(archive.Comment), "\n"), "\n")
	if len(lines) > MaxLines {
		return nil, &Error{f.Name, MaxLines + 1, fmt.Sprintf("the script has %d lines: at most %d", len(lines), MaxLines)}
	}
	return lines, nil
}

// firstUnreadable returns the offset of the first byte that is no readable text, or -1.
func firstUnreadable(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return i
		}
		i += n
	}
	return -1
}

// errorList collects the errors of one file up to the bound.
type errorList struct {
	errs []error
	full bool
}

// add records an error. At the bound it records that there are more, and is full.
func (l *errorList) add(file string, line int, err error) {
	switch {
	case l.full:
		return
	case len(l.errs) == MaxErrors:
		l.full = true
		err = errors.New("too many errors: mend those above first")
	}
	l.errs = append(l.errs, &Error{file, line, err.Error()})
}

func (l *errorList) join() error { return errors.Join(l.errs...) }

// verb is one row of the language.
type verb struct {
	name  string
	usage string // an example, complete and valid
	parse func(*args) Command
}

// verbs returns the language in the order of the manual. It is a function, since start
// parses the verb behind it.
func verbs() []verb {
	return []verb{
		{"clauses", "clauses CL-1 DI-1", parseClauses},
		{"only", "only machine host", parseOnly},
		{"needs", "needs npx", parseNeeds},
		{"set", "set idle_timeout 4s", parseSet},
		{"server", "server S tools=echo,add connect=300ms", parseServer},
		{"agent", "agent a", func(a *args) Command { return Agent{a.name("agent")} }},
		{"declare", "declare a m1 S token=t1 env=K:V", parseDeclare},
		{"upsert", "upsert a m1 S token=t1 env=K:V", parseUpsert},
		{"delete", "delete a m1", func(a *args) Command { return Delete{a.name("agent"), a.name("MCP")} }},
		{"remove", "remove a", func(a *args) Command { return Remove{a.name("agent")} }},
		{"rename", "rename a b", func(a *args) Command { return Rename{a.name("agent"), a.name("agent")} }},
		{"call", "call a echo", func(a *args) Command { return Call{a.name("agent"), a.name("tool")} }},
		{"list", "list a", func(a *args) Command { return List{a.name("agent")} }},
		{"reconnect", "reconnect a m1", func(a *args) Command { return Reconnect{a.name("agent"), a.name("MCP")} }},
		{"write-off", "write-off a m1", func(a *args) Command { return WriteOff{a.name("agent"), a.name("MCP")} }},
		{"start", "start c1..c8: call a echo", parseStart},
		{"await", "await c1..c8` or `await S initialize", parseAwait},
		{"cancel", "cancel c1", func(a *args) Command { return Cancel{a.calls()} }},
		{"hold", "hold S initialize", func(a *args) Command { return Hold{a.name("server"), a.point()} }},
		{"release", "release S initialize", parseRelease},
		{"kill", "kill S", func(a *args) Command { return Kill{a.name("server"), a.token()} }},
		{"quit", "quit S", func(a *args) Command { return Quit{a.name("server"), a.token()} }},
		{"break", "break S", func(a *args) Command { return Break{a.name("server"), a.token()} }},
		{"announce", "announce S", func(a *args) Command { return Announce{a.name("server")} }},
		{"expire", "expire t1", func(a *args) Command { return Expire{a.name("token")} }},
		{"change", "change S heals", parseChange},
		{"configure", "configure idle_timeout 2s", func(a *args) Command { return Configure{a.setting()} }},
		{"reload", "reload S R", func(a *args) Command { return Reload{a.name("server"), a.name("server")} }},
		{"restart", "restart", parseRestart},
		{"drain", "drain", func(*args) Command { return Drain{} }},
		{"advance", "advance 5s", func(a *args) Command { return Advance{a.duration()} }},
		{"fence", "fence", func(*args) Command { return Fence{} }},
		{"expect", "expect running S = 1", parseExpect},
	}
}

// parseLine reads one line. Blank and comment lines give no command.
func parseLine(text string) (Command, string, error) {
	if len(text) > MaxLineLen {
		return nil, "", fmt.Errorf("the line has %d bytes: at most %d", len(text), MaxLineLen)
	}
	words, comment := splitLine(text)
	if len(words) == 0 {
		return nil, comment, nil
	}
	c, err := parseCommand(words)
	return c, comment, err
}

func parseCommand(words []string) (Command, error) {
	var names []string
	for _, v := range verbs() {
		if v.name != words[0] {
			names = append(names, v.name)
			continue
		}
		a := &args{words: words[1:], usage: v.usage}
		c := v.parse(a)
		if err := a.end(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("there is no command %.20q%s; the package comment of scenarios lists all %d",
		words[0], suggest(words[0], names), len(names))
}

func (a *args) calls() Calls {
	w := a.word("the name of a call")
	if a.err != nil {
		return Calls{}
	}
	c, err := parseCalls(w)
	a.fail(err)
	return c
}

func (a *args) point() Point {
	w := a.word("the point")
	if a.err == nil {
		a.fail(oneOf("point", w, []string{string(AtInitialize), string(AtList), string(AtCall)}))
	}
	return Point(w)
}

func (a *args) target() Target {
	t := Target{Server: a.name("server")}
	t.Token = a.token()
	for a.err == nil && len(a.words) > 0 && !isWish(a.words[0]) {
		kv, ok := strings.CutPrefix(a.words[0], "env=")
		key, value, colon := strings.Cut(kv, ":")
		switch {
		case !ok:
			a.fail(fmt.Errorf("%q is not an option of a claim: write token=NAME, then env=KEY:VALUE, then wishes such as idle=4s", a.words[0]))
		case !colon || checkEnvKey(key) != nil:
			a.fail(fmt.Errorf("%q is not a variable: write env=KEY:VALUE", a.words[0]))
		case len(t.Env) == MaxEnv:
			a.fail(fmt.Errorf("more than %d variables: a claim has at most that many", MaxEnv))
		}
		t.Env = append(t.Env, EnvVar{key, value})
		a.words = a.words[1:]
	}
	return t
}

// checkEnvKey accepts names that may also begin with an underscore but hold no hyphen.
func checkEnvKey(key string) error {
	if strings.Contains(key, "-") {
		return fmt.Errorf("variable %q holds a hyphen", key)
	}
	return checkName("variable", strings.TrimLeft(key, "_"))
}

func parseClauses(a *args) Command {
	c := Clauses{IDs: []string{a.clause()}}
	for a.err == nil && len(a.words) > 0 {
		c.IDs = append(c.IDs, a.clause())
	}
	return c
}

// clause reads an id such as CL-1: two capital letters, a hyphen, a number.
func (a *args) clause() string {
	w := a.word("a clause id")
	if a.err != nil {
		return ""
	}
	area, number := splitNumber(w)
	if len(area) != 3 || area[2] != '-' || number < 1 || strings.ToUpper(area) != area || checkName("area", area[:2]) != nil {
		a.fail(shapeError(strconv.Quote(w) + " is not a clause id"))
	}
	return w
}

func parseOnly(a *args) Command {
	var o Only
	for first := true; a.err == nil && (first || len(a.words) > 0); first = false {
		w := a.word("a world")
		if a.err == nil {
			a.fail(oneOf("world", w, worldNames))
		}
		o.Worlds = append(o.Worlds, w)
	}
	return o
}

func parseNeeds(a *args) Command {
	n := Needs{[]string{a.name("program")}}
	for a.err == nil && len(a.words) > 0 {
		n.Programs = append(n.Programs, a.name("program"))
	}
	return n
}

func parseSet(a *args) Command { return a.setting() }

// setting reads a setting and its value.
func (a *args) setting() Set {
	w := a.word("a setting")
	if a.err == nil {
		a.fail(oneOf("setting", w, settingNames))
	}
	if new(Settings).bound(w) != nil {
		return Set{Name: w, Count: a.count()}
	}
	return Set{Name: w, Value: a.duration()}
}

// count returns the next word as a number.
func (a *args) count() int {
	w := a.word("a number")
	if a.err != nil {
		return 0
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 0 || n > MaxCount || strconv.Itoa(n) != w {
		a.fail(fmt.Errorf("%q is not a bound: write a number up to %d, or 0 for none", w, MaxCount))
	}
	return n
}

func parseRestart(a *args) Command {
	if a.err != nil || len(a.words) == 0 {
		return Restart{}
	}
	w := a.word("how")
	a.fail(oneOf("way to restart", w, []string{"kill"}))
	return Restart{Kill: true}
}

func parseServer(a *args) Command {
	s := Server{Name: a.name("server"), Behaviour: defaultBehaviour()}
	a.edits(&s.Behaviour, false)
	return s
}

func parseChange(a *args) Command {
	c := Change{Server: a.name("server")}
	var scratch Behaviour
	c.Edits = a.edits(&scratch, true)
	if len(c.Edits) == 0 {
		a.fail(shapeError("there is nothing to change"))
	}
	return c
}

// edits reads the options of a behaviour, applies them and returns them in canonical order.
func (a *args) edits(b *Behaviour, mayHeal bool) []Edit {
	given := map[string]Edit{}
	for a.err == nil && len(a.words) > 0 {
		w := a.word("an option")
		key, value, _ := strings.Cut(w, "=")
		e := Edit{Key: key, Value: value}
		_, twice := given[key]
		switch {
		case twice:
			a.fail(fmt.Errorf("option %s is there twice: write it once", key))
		case key == "heals" && (!mayHeal || w != "heals"):
			a.fail(fmt.Errorf("%q is not an option: `change SERVER heals` ends the failures of a server", w))
		default:
			a.fail(b.apply(e))
		}
		given[key] = e.canonical()
	}
	var edits []Edit
	for _, key := range append([]string{"heals"}, behaviourKeys...) {
		if e, ok := given[key]; ok {
			edits = append(edits, e)
		}
	}
	return edits
}

func parseDeclare(a *args) Command {
	return Declare{a.name("agent"), a.name("MCP"), a.target(), a.wish()}
}

func parseUpsert(a *args) Command {
	return Upsert{a.name("agent"), a.name("MCP"), a.target(), a.wish()}
}

func parseStart(a *args) Command {
	w := a.word("the name of a call")
	if a.err != nil {
		return nil
	}
	name, ok := strings.CutSuffix(w, ":")
	if !ok {
		a.fail(shapeError(strconv.Quote(w) + " lacks the colon between name and operation"))
		return nil
	}
	calls, err := parseCalls(name)
	a.fail(err)
	if a.err != nil || len(a.words) == 0 {
		a.fail(shapeError("the operation is missing"))
		return nil
	}
	c, err := parseCommand(a.words)
	a.words = nil
	a.fail(err)
	op, ok := c.(Operation)
	if !ok {
		a.fail(fmt.Errorf("`%v` ends at once and cannot be started: start call, list, reconnect, upsert or write-off", c))
	}
	return Start{calls, op}
}

func parseAwait(a *args) Command {
	if len(a.words) < 2 {
		return Await{a.calls()}
	}
	return AwaitPoint{a.name("server"), a.point()}
}

func parseRelease(a *args) Command {
	r := Release{Server: a.name("server")}
	if len(a.words) > 0 {
		r.Point = a.point()
	}
	return r
}

func parseExpect(a *args) Command {
	query, value, err := splitExpect(a.words)
	a.words = query
	a.fail(err)
	kind := Kind(a.word("the query"))
	if a.err != nil {
		return nil
	}
	a.fail(oneOf("query", string(kind), kinds))
	a.usage = kind.usage()
	e := Expect{Query: Query{Kind: kind}, Want: join(value...)}
	switch kind {
	case Status, Tools, Claims, InFlight, Told, Generation, WrittenOff:
		e.Query.Agent, e.Query.MCP = a.name("agent"), a.name("MCP")
	case Events, Reasons, Replays:
		e.Query.Agent = a.name("agent")
	case Spawns, Running, Arrived:
		e.Query.Server, e.Query.Token = a.name("server"), a.token()
	case Order:
		e.Query.Server = a.name("server")
	case Peers:
	case Result, Credential, Refusal, Retry:
		if len(a.words) > 0 {
			e.Calls = a.calls()
		}
	}
	if a.err == nil && len(a.words) == 0 {
		a.fail(kind.checkValue(value))
	}
	return e
}

// splitExpect cuts the words of an expectation at the lone "=".
func splitExpect(words []string) (query, value []string, err error) {
	for i, w := range words {
		if w == "=" {
			return words[:i], words[i+1:], nil
		}
	}
	return nil, nil, shapeError("there is no = with a space on both sides")
}
