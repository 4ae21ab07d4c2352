package scenarios

import "time"

// Scaled returns the scenario with every time that it writes multiplied: what it waits, what
// it sets, how slow its servers are and what its claims wish. It says the same, with wider
// margins for a machine that is slow.
func (f *File) Scaled(by int) *File {
	g := *f
	g.Lines = make([]Line, len(f.Lines))
	for i, l := range f.Lines {
		g.Lines[i] = Line{scaled(l.Command, time.Duration(by)), l.Comment}
	}
	return &g
}

func scaled(c Command, by time.Duration) Command {
	switch x := c.(type) {
	case Set:
		x.Value *= by
		return x
	case Configure:
		x.Set.Value *= by
		return x
	case Server:
		x.Behaviour.Connect *= by
		x.Behaviour.Call *= by
		x.Behaviour.Spawn *= by
		x.Behaviour.Says *= by
		x.Behaviour.Stop *= by
		return x
	case Change:
		x.Edits = scaledEdits(x.Edits, by)
		return x
	case Declare:
		x.Wish = x.Wish.scaled(by)
		return x
	case Upsert:
		x.Wish = x.Wish.scaled(by)
		return x
	case Start:
		x.Op = scaled(x.Op, by).(Operation)
		return x
	case Advance:
		x.By *= by
		return x
	}
	return c
}

// scaledEdits multiplies the edits that are times. They were checked when they were parsed.
func scaledEdits(edits []Edit, by time.Duration) (out []Edit) {
	for _, e := range edits {
		switch e.Key {
		case "connect", "call", "spawn", "says", "stop":
			if d, err := time.ParseDuration(e.Value); err == nil {
				e.Value = duration(d * by)
			}
		}
		out = append(out, e)
	}
	return out
}

func (w Wish) scaled(by time.Duration) Wish {
	for _, key := range wishKeys {
		*w.field(key) *= by
	}
	return w
}
