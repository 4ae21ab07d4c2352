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
	// IgnoresEOF and IgnoresTerm make it live on when its input is closed, or after SIGTERM.
	IgnoresEOF  bool
	IgnoresTerm bool
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
var behaviourKeys = []string{"tools", "connect", "call", "fails", "answers", "ignores", "exec"}

// defaultBehaviour is that of a server line without options.
func defaultBehaviour() Behaviour { return Behaviour{Tools: []string{"echo"}} }

// apply carries out one edit, or says what is wrong with it.
func (b *Behaviour) apply(e Edit) (err error) {
	switch e.Key {
	case "tools":
		b.Tools, err = parseTools(e.Value)
	case "connect":
		b.Connect, err = parseDuration(e.Value)
	case "call":
		b.Call, err = parseDuration(e.Value)
	case "fails":
		b.Fails, err = choice(e, "never", FailsNever, FailsSpawn, FailsExit, FailsHang)
	case "answers":
		b.Answers, err = choice(e, "ok", AnswersOK, AnswersReject, AnswersError, AnswersHang, AnswersExit)
	case "ignores":
		b.IgnoresEOF, b.IgnoresTerm, err = parseIgnores(e.Value)
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
	if b.Connect != 0 {
		words = append(words, "connect="+duration(b.Connect))
	}
	if b.Call != 0 {
		words = append(words, "call="+duration(b.Call))
	}
	words = append(words, option("fails", string(b.Fails)), option("answers", string(b.Answers)))
	var ignores []string
	if b.IgnoresEOF {
		ignores = append(ignores, "eof")
	}
	if b.IgnoresTerm {
		ignores = append(ignores, "term")
	}
	words = append(words, option("ignores", strings.Join(ignores, ",")), option("exec", strings.Join(b.Exec, ",")))
	return join(words...)
}

// canonical rewrites the value of an edit that has passed apply, so that one meaning has
// one text.
func (e Edit) canonical() Edit {
	switch e.Key {
	case "connect", "call":
		if d, err := parseDuration(e.Value); err == nil {
			e.Value = duration(d)
		}
	case "ignores":
		if eof, term, err := parseIgnores(e.Value); err == nil && eof && term {
			e.Value = "eof,term"
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
	return b.Connect != 0 || b.Call != 0 || b.Fails != FailsNever || b.Answers != AnswersOK || b.IgnoresEOF || b.IgnoresTerm
}

func parseIgnores(s string) (eof, term bool, err error) {
	if s == "nothing" {
		return false, false, nil
	}
	for w := range strings.SplitSeq(s, ",") {
		switch {
		case w == "eof" && !eof:
			eof = true
		case w == "term" && !term:
			term = true
		default:
			return false, false, fmt.Errorf("ignores=%s is not known: write ignores=eof, ignores=term, ignores=eof,term or ignores=nothing", s)
		}
	}
	return eof, term, nil
}
