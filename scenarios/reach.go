package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// The worlds that can do what others cannot. A live daemon has no hand for most of it: nothing
// in its protocol sets a bound, and no real process survives SIGKILL.
var (
	virtual = []string{Machine, Host}
	pure    = []string{Machine}
)

// limit is a part of a command that not every world can do.
type limit struct {
	what   string
	worlds []string
}

// limits lists what of a command is not for every world.
func limits(c Command) (all []limit) {
	add := func(is bool, what string, worlds []string) {
		if is {
			all = append(all, limit{what, worlds})
		}
	}
	switch x := c.(type) {
	case Set:
		add(!slices.Contains(liveSettings, x.Name), "set "+x.Name, virtual)
	case Configure, Announce, Break, Quit, Drain, Reload, Expire:
		add(true, verbOf(c), virtual)
	case Restart:
		add(true, "restart", virtual)
		add(x.Kill, "restart kill", pure)
	case Declare:
		add(x.Wish != (Wish{}), "what a claim asks for ("+x.Wish.String()+")", virtual)
	case Upsert:
		add(x.Wish != (Wish{}), "what a claim asks for ("+x.Wish.String()+")", virtual)
	case WriteOff:
		add(true, "write-off", virtual)
	case Server:
		all = append(all, x.Behaviour.limits()...)
	case Change:
		var b Behaviour
		for _, e := range x.Edits {
			_ = b.apply(e) // the parser has done so before
		}
		all = append(all, b.limits()...)
	case Start:
		return limits(x.Op)
	case Expect:
		worlds, limited := queryWorlds[x.Query.Kind]
		add(limited, "expect "+string(x.Query.Kind), worlds)
	}
	return all
}

// AnsweredIn says whether a world can answer a query of this kind.
func (k Kind) AnsweredIn(world string) bool {
	worlds, limited := queryWorlds[k]
	return !limited || slices.Contains(worlds, world)
}

// limits lists the options that not every world can do.
func (b Behaviour) limits() (all []limit) {
	for _, o := range []struct {
		is   bool
		what string
		in   []string
	}{
		{b.Spawn != 0, "spawn=" + duration(b.Spawn), virtual},
		{b.Says != 0, "says=" + duration(b.Says), virtual},
		{b.Stop != 0, "stop=" + duration(b.Stop), virtual},
		{b.IgnoresKill, "ignores=kill", virtual},
		{b.Answers == AnswersLost, "answers=lost", virtual},
		{b.Late, "strays=late", virtual},
		{b.Twice, "strays=twice", pure},
	} {
		if o.is {
			all = append(all, limit{o.what, o.in})
		}
	}
	return all
}

// verbOf is the first word of a command.
func verbOf(c Command) string {
	verb, _, _ := strings.Cut(c.String(), " ")
	return verb
}

// Worlds returns the worlds that can do everything that the lines of the file say, whatever its
// only line says, in the order machine, host, live.
func (f *File) Worlds() []string {
	worlds := slices.Clone(worldNames)
	for _, l := range f.Lines {
		if l.Command == nil {
			continue
		}
		for _, part := range limits(l.Command) {
			worlds = slices.DeleteFunc(worlds, func(w string) bool { return !slices.Contains(part.worlds, w) })
		}
		if s, ok := l.Command.(Server); ok && s.Behaviour.Exec != nil {
			worlds = slices.DeleteFunc(worlds, func(w string) bool { return w != Live })
		}
	}
	return worlds
}

// reach holds a command to the worlds of the file: a word that one of them does not know must
// not be passed over in silence.
func (c *checker) reach(x Command) error {
	for _, part := range limits(x) {
		for _, w := range c.only {
			if !slices.Contains(part.worlds, w) {
				return fmt.Errorf("the world %s cannot do %s: write `only %s` in the head", w, part.what, strings.Join(part.worlds, " "))
			}
		}
	}
	return nil
}
