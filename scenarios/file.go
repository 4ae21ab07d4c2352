package scenarios

import (
	"path"
	"slices"
	"strings"
)

// The worlds that an only line may name.
const (
	Machine = "machine" // the pure lifecycle machine in virtual time
	Host    = "host"    // the real host over fake transports in virtual time
	Live    = "live"    // a live daemon and real processes in real time
)

var worldNames = []string{Machine, Host, Live}

// File is one parsed scenario. A File may be built by hand, too: Run checks it just as
// Parse checks text, and Format writes it. Line i of the script is Lines[i-1].
type File struct {
	Name        string // as given to Parse; the file in every error
	Lines       []Line // the script, comments and blank lines included
	Attachments []Attachment
}

// Line is one line of the script: a command, a comment, both, or neither.
type Line struct {
	Command Command // nil on blank and comment lines
	Comment string  // from '#' to the end of the line; empty when there is none
}

// Attachment is a section that follows the script, for tools that keep something beside
// it, such as the tape of a shrunk counterexample. It is carried, never interpreted.
type Attachment struct {
	Name string
	Data string
}

// ID returns the file's name without directory and extension.
func (f *File) ID() string {
	return strings.TrimSuffix(path.Base(f.Name), path.Ext(f.Name))
}

// Title returns the opening comment, which says in a sentence what the scenario shows.
func (f *File) Title() string {
	var words []string
	for _, l := range f.Lines {
		if l.Command != nil || l.Comment == "" {
			break
		}
		words = append(words, strings.Fields(strings.TrimLeft(l.Comment, "#"))...)
	}
	return strings.Join(words, " ")
}

// Clauses returns the ids of the clauses that the scenario shows, in the order written.
func (f *File) Clauses() []string {
	for _, l := range f.Lines {
		if c, ok := l.Command.(Clauses); ok {
			return slices.Clone(c.IDs)
		}
	}
	return nil
}

// RunsIn reports whether the scenario makes sense in a world: Machine, Host or Live.
func (f *File) RunsIn(world string) bool { return slices.Contains(f.only(), world) }

// only returns the worlds that the file allows.
func (f *File) only() []string {
	for _, l := range f.Lines {
		if o, ok := l.Command.(Only); ok {
			return o.Worlds
		}
	}
	return worldNames
}

// Needs returns the executables that the scenario's machine must have. Whoever runs many
// files leaves those out whose needs it cannot meet, and says so.
func (f *File) Needs() []string {
	for _, l := range f.Lines {
		if n, ok := l.Command.(Needs); ok {
			return slices.Clone(n.Programs)
		}
	}
	return nil
}

// Settings returns the defaults overlaid by the file's set lines.
func (f *File) Settings() Settings {
	s := DefaultSettings()
	names := map[string]bool{}
	for _, l := range f.Lines {
		switch c := l.Command.(type) {
		case Set:
			s.Apply(c)
		case Declare:
			s.Wished = max(s.Wished, c.Wish.longest())
			names[c.MCP] = true
		case Upsert:
			s.Wished = max(s.Wished, c.Wish.longest())
			names[c.MCP] = true
		case Start:
			if u, ok := c.Op.(Upsert); ok {
				s.Wished = max(s.Wished, u.Wish.longest())
				names[u.MCP] = true
			}
		}
	}
	s.Declarers = max(1, len(names))
	return s
}
