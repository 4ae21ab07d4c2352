package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Behaviour says what a server program does. The zero value with a tool list is a
// healthy server that answers at once.
type Behaviour struct {
	Tools   []string      // what it exports, in order
	Connect time.Duration // delay before it answers initialize
	Call    time.Duration // delay before it answers a call
	Fails   Failure       // how its connects fail
	Answers Answer        // what it answers to calls
	Spawn   time.Duration // until its process exists
	Says    time.Duration // from the spawn to a first message that means nothing; 0 for none
	Stop    time.Duration // from the rung that ends it to its end
	// IgnoresEOF, IgnoresTerm and IgnoresKill make it live on when its input is closed, after
	// SIGTERM, and after SIGKILL, as a process does that hangs in its kernel.
	IgnoresEOF  bool
	IgnoresTerm bool
	IgnoresKill bool
	// Late and Twice make news of connects and calls arrive although nobody waits for it any
	// more, or two times.
	Late, Twice bool
	// Exec is the command line of a real server, which nothing can steer; nil for all others.
	Exec []string
}

// Failure is a way for a connect to fail.
type Failure string

// The failures.
const (
	FailsNever Failure = ""      // it connects
	FailsSpawn Failure = "spawn" // no process comes to life
	FailsExit  Failure = "exit"  // the process exits instead of answering initialize
	FailsHang  Failure = "hang"  // initialize is never answered
	// FailsReject answers initialize with an error, and leaves the process to whoever stops it.
	FailsReject Failure = "reject"
)

// Answer is a way to answer a call.
type Answer string

// The answers.
const (
	AnswersOK     Answer = ""       // a result
	AnswersReject Answer = "reject" // a result with isError
	AnswersError  Answer = "error"  // a JSON-RPC error
	AnswersHang   Answer = "hang"   // none, ever
	AnswersExit   Answer = "exit"   // none: the process exits when the call arrives
	AnswersLost   Answer = "lost"   // none: the call fails in transport and the process lives on
)

// Edit is one change of a behaviour: an option of the server line, or the bare key
// "heals", which stands for fails=never answers=ok.
type Edit struct{ Key, Value string }

// String returns the edit as written.
func (e Edit) String() string {
	if e.Key == "heals" {
		return e.Key
	}
	return e.Key + "=" + e.Value
}

// behaviourKeys are the options of a server line in canonical order.
var behaviourKeys = []string{"tools", "spawn", "says", "connect", "call", "fails", "answers", "ignores", "stop", "strays", "exec"}

// defaultBehaviour is that of a server line without options.
func defaultBehaviour() Behaviour { return Behaviour{Tools: []string{"echo"}} }

// apply carries out one edit, or says what is wrong with it.
func (b *Behaviour) apply(e Edit) (err error) {
	switch e.Key {
	case "tools":
		b.Tools, err = parseTools(e.Value)
	case "spawn":
		b.Spawn, err = parseDuration(e.Value)
	case "says":
		b.Says, err = parseDuration(e.Value)
	case "stop":
		b.Stop, err = parseDuration(e.Value)
	case "connect":
		b.Connect, err = parseDuration(e.Value)
	case "call":
		b.Call, err = parseDuration(e.Value)
	case "fails":
		b.Fails, err = choice(e, "never", FailsNever, FailsSpawn, FailsExit, FailsHang, FailsReject)
	case "answers":
		b.Answers, err = choice(e, "ok", AnswersOK, AnswersReject, AnswersError, AnswersHang, AnswersExit, AnswersLost)
	case "ignores":
		err = b.parseIgnores(e.Value)
	case "strays":
		err = b.parseStrays(e.Value)
	case "exec":
		b.Exec, err = parseExec(e.Value)
	case "heals":
		b.Fails, b.Answers = FailsNever, AnswersOK
	default:
		err = fmt.Errorf("a server has no option %q%s", e.Key, suggest(e.Key, behaviourKeys))
	}
	return err
}

// String returns the tools and the options that differ from a healthy server's, in
// canonical order. The tools are always there, so that a reader sees what can be called.
func (b Behaviour) String() string {
	words := []string{"tools=" + strings.Join(b.Tools, ",")}
	words = append(words, span("spawn", b.Spawn), span("says", b.Says), span("connect", b.Connect), span("call", b.Call))
	words = append(words, option("fails", string(b.Fails)), option("answers", string(b.Answers)))
	words = append(words, option("ignores", b.ignored()), span("stop", b.Stop), option("strays", b.strays()))
	return join(append(words, option("exec", strings.Join(b.Exec, ",")))...)
}

// span is an option with a time, and nothing for none.
func span(key string, d time.Duration) string {
	if d == 0 {
		return ""
	}
	return option(key, duration(d))
}

// ignored lists what does not end the process.
func (b Behaviour) ignored() string {
	return listed("eof", b.IgnoresEOF, "term", b.IgnoresTerm, "kill", b.IgnoresKill)
}

func (b Behaviour) strays() string { return listed("late", b.Late, "twice", b.Twice) }

// listed joins those words that hold.
func listed(pairs ...any) string {
	var words []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1].(bool) {
			words = append(words, pairs[i].(string))
		}
	}
	return strings.Join(words, ",")
}

// canonical rewrites the value of an edit that has passed apply, so that one meaning has
// one text.
func (e Edit) canonical() Edit {
	switch e.Key {
	case "spawn", "says", "stop", "connect", "call":
		if d, err := parseDuration(e.Value); err == nil {
			e.Value = duration(d)
		}
	case "ignores":
		var b Behaviour
		if b.parseIgnores(e.Value) == nil && e.Value != nothing {
			e.Value = b.ignored()
		}
	case "strays":
		var b Behaviour
		if b.parseStrays(e.Value) == nil && e.Value != nothing {
			e.Value = b.strays()
		}
	}
	return e
}

// choice looks a word up among a set of values, the first of which is written as zero.
func choice[T ~string](e Edit, zero string, values ...T) (T, error) {
	words := []string{zero}
	if e.Value == zero {
		return values[0], nil
	}
	for _, v := range values[1:] {
		if e.Value == string(v) {
			return v, nil
		}
		words = append(words, string(v))
	}
	return values[0], fmt.Errorf("%s=%s is not known: write %s=%s", e.Key, e.Value, e.Key, strings.Join(words, "|"))
}

func parseTools(s string) ([]string, error) {
	tools := strings.Split(s, ",")
	if len(tools) > MaxTools {
		return nil, fmt.Errorf("%d tools are too many: a server has at most %d", len(tools), MaxTools)
	}
	for i, t := range tools {
		if err := checkName("tool", t); err != nil {
			return nil, err
		}
		if slices.Contains(tools[:i], t) {
			return nil, fmt.Errorf("tool %q is there twice: name every tool once", t)
		}
	}
	return tools, nil
}

// parseExec reads a command line: words with commas in between.
func parseExec(s string) ([]string, error) {
	words := strings.Split(s, ",")
	if slices.Contains(words, "") {
		return nil, fmt.Errorf("exec=%s holds an empty word: write exec=WORD,WORD", s)
	}
	return words, nil
}

// steered reports whether anything but the tools says what the server does.
func (b Behaviour) steered() bool {
	b.Tools, b.Exec = nil, nil
	return b.String() != Behaviour{}.String()
}

// nothing is the value that takes an option back.
const nothing = "nothing"

func (b *Behaviour) parseIgnores(s string) error {
	eof, term, kill := false, false, false
	err := flagged(s, map[string]*bool{"eof": &eof, "term": &term, "kill": &kill})
	b.IgnoresEOF, b.IgnoresTerm, b.IgnoresKill = eof, term, kill
	if err != nil {
		return fmt.Errorf("ignores=%s is not known: write ignores=eof, ignores=term, ignores=eof,term,kill or ignores=nothing", s)
	}
	return nil
}

func (b *Behaviour) parseStrays(s string) error {
	late, twice := false, false
	err := flagged(s, map[string]*bool{"late": &late, "twice": &twice})
	b.Late, b.Twice = late, twice
	if err != nil {
		return fmt.Errorf("strays=%s is not known: write strays=late, strays=twice, strays=late,twice or strays=nothing", s)
	}
	return nil
}

// flagged sets the flags that are listed, each of which may be there once.
func flagged(s string, flags map[string]*bool) error {
	if s == nothing {
		return nil
	}
	for w := range strings.SplitSeq(s, ",") {
		p := flags[w]
		if p == nil || *p {
			return fmt.Errorf("%q is not known", w)
		}
		*p = true
	}
	return nil
}
