package sim

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
)

// tapeMagic is the first line of a tape. The number rises when the text or the meaning of
// entries changes, because an old tape would then silently mean another run.
const tapeMagic = "mayfly tape 3"

// servedMagic is the first line of a tape on which owners serve something. What earlier programs
// wrote means what it meant, and they refuse what they would not understand.
const servedMagic = "mayfly tape 4"

// magic is the first line of a tape.
func (t *Tape) magic() string {
	for i := range t.Entries {
		if t.Entries[i].Op.serves() {
			return servedMagic
		}
	}
	return tapeMagic
}

// Encode writes the text of a tape: a header of one setting a line, "begin", one entry a
// line, "end".
func (t *Tape) Encode(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, t.magic())
	fmt.Fprintf(b, "seed %d\ntenants %d\nfor %v\naudit-every %d\n", t.Seed, t.Tenants, t.For, t.AuditEvery)
	for _, s := range durations(&t.Config) {
		fmt.Fprintf(b, "%s %v\n", s.name, *s.value)
	}
	for _, s := range bounds(&t.Config) {
		fmt.Fprintf(b, "%s %d\n", s.name, *s.value)
	}
	if t.Schedule.Kind != FIFO {
		fmt.Fprintf(b, "schedule %v\n", t.Schedule)
	}
	if t.Violation != "" {
		fmt.Fprintf(b, "violation %s\n", t.Violation)
	}
	if t.Hash != 0 {
		fmt.Fprintf(b, "hash %016x\n", t.Hash)
	}
	fmt.Fprintln(b, "begin")
	for i := range t.Entries {
		fmt.Fprintln(b, t.Entries[i].String())
	}
	fmt.Fprintln(b, "end")
	return b.Flush()
}

// String returns the text of a tape.
func (t *Tape) String() string {
	var b strings.Builder
	_ = t.Encode(&b) // a Builder does not fail
	return b.String()
}

// String returns the line of an entry.
func (e *Entry) String() string {
	words := []string{time.Duration(e.At).String()}
	add := func(w ...string) { words = append(words, w...) }
	switch e.Op {
	case OpDrain:
		return words[0] + " drain"
	case OpConfigure:
		return fmt.Sprintf("%s configure idle-timeout=%v max-live=%d", words[0], e.Set.IdleTimeout, e.Set.MaxLive)
	case OpRestart, OpReload, OpDown, OpExpire:
		return words[0] + " " + e.Op.String() + " " + strings.Join(e.operatorWords(), " ")
	case OpDial:
		add("dial", e.Target.String())
		add(e.Dial.words()...)
		return strings.Join(words, " ")
	}
	add(fmt.Sprintf("t%d", e.Tenant), e.Op.String())
	switch e.Op {
	case OpDeclare:
		add(fmt.Sprintf("m%d", e.Name), e.Target.String())
		add(policyWords(e.Policy)...)
	case OpRelease, OpEnsure, OpReconnect, OpCancel, OpWriteOff:
		add(fmt.Sprintf("m%d", e.Name))
	case OpDispatch:
		add(fmt.Sprintf("m%d", e.Name))
		add(e.Call.words()...)
	case OpRegister, OpReady, OpUnregister, OpResolve, OpCall:
		add(e.servedWords()...)
	case OpBorn, OpDie, OpDial, OpDrain, OpConfigure, OpRestart, OpReload, OpDown, OpExpire:
	}
	return strings.Join(words, " ")
}

// operatorWords are the words behind what no tenant does.
func (e *Entry) operatorWords() []string {
	server := fmt.Sprintf("s%d", e.Target.Server)
	switch e.Op {
	case OpRestart:
		how := "drain"
		if e.Kill {
			how = "kill"
		}
		return []string{how, e.Span.String()}
	case OpReload:
		return []string{server, fmt.Sprintf("s%d", e.To)}
	case OpDown:
		return []string{server, e.Span.String()}
	default: // OpExpire
		return []string{fmt.Sprintf("t%d.%d", e.Target.Tenant, e.Target.Token)}
	}
}

func (p *CallPlan) words() []string {
	return flags([]string{p.End.String(), p.Takes.String()}, "late", p.Late, "twice", p.Twice)
}

// wishes are the places for the times of a policy under their names on tapes.
func wishes(p *lifecycle.Policy) []setting {
	return []setting{{"idle", &p.IdleTimeout}, {"uptime", &p.MinUptime}, {"start", &p.StartTimeout},
		{"connect", &p.ConnectTimeout}, {"call", &p.CallTimeout},
		{"close", &p.CloseGrace}, {"terminate", &p.TerminateGrace}}
}

// Wishes are what a claim asks for and others do not, in the words of a tape; "" if nothing.
func Wishes(p *lifecycle.Policy) string { return strings.Join(policyWords(p), " ") }

func policyWords(p *lifecycle.Policy) []string {
	if p == nil {
		return nil
	}
	return flags(spans(nil, wishes(p)), "pinned", p.Pinned)
}

// spans appends those spans that are set.
func spans(words []string, all []setting) []string {
	for _, s := range all {
		if *s.value > 0 {
			words = append(words, s.name+"="+s.value.String())
		}
	}
	return words
}

// spans are the times of a plan that it may lack.
func (p *DialPlan) spans() []setting {
	return []setting{{"lives", &p.Lives}, {"spawns", &p.Spawns}, {"starts", &p.Starts}, {"relists", &p.Relists}}
}

func (p *DialPlan) words() []string {
	w := []string{p.Outcome.String(), p.After.String(), fmt.Sprintf("tools=%d", p.Tools),
		"obeys=" + p.Obeys.String(), "stop=" + p.StopTakes.String()}
	w = spans(w, p.spans())
	if p.Retools > 0 {
		w = append(w, fmt.Sprintf("retools=%d", p.Retools))
	}
	return flags(w, "loses", p.LosesOnly, "clean", p.Clean, "late", p.Late, "twice", p.Twice)
}

// flags appends the names of those flags that are set.
func flags(words []string, pairs ...any) []string {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			words = append(words, pairs[i].(string))
		}
	}
	return words
}
