package conformance

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Answer is what a run says to a question that RFC 0204 leaves open: in words, and with the
// numbers that bear them out. It is a function of the capture, as the verdicts are.
type Answer struct {
	ID         string   `json:"id"`
	Question   string   `json:"question"`
	Words      string   `json:"words"`                // a short paragraph; the numbers that matter are in it
	Range      string   `json:"range,omitempty"`      // what was tested: settings, sizes, kinds of servers
	Confidence string   `json:"confidence,omitempty"` // how sure the words are, and by which rule
	Numbers    []Number `json:"numbers,omitempty"`
}

// Number is one quantity of an answer with the interval in which it lies.
type Number struct {
	Name       string  `json:"name"`
	Unit       string  `json:"unit,omitempty"` // "s", "ms", "T", "share"; none for a plain count
	Value      float64 `json:"value"`          // the best estimate
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence,omitempty"` // with which it lies between Low and High, 0.95 for 95 %
	Samples    int     `json:"samples,omitempty"`
}

// String is the number for a table: value, interval, samples.
func (n Number) String() string {
	s := fmt.Sprintf("%s %.4g", n.Name, n.Value)
	if n.Low != n.High {
		s = fmt.Sprintf("%s [%.4g, %.4g]", s, n.Low, n.High)
	}
	if n.Unit != "" {
		s += " " + n.Unit
	}
	switch {
	case n.Confidence > 0 && n.Samples > 0:
		s += fmt.Sprintf(" (%.4g %%, n=%d)", 100*n.Confidence, n.Samples)
	case n.Samples > 0:
		s += fmt.Sprintf(" (n=%d)", n.Samples)
	}
	return s
}

// evidence is what answers are made of: what was seen in the attempt that counted of each
// check of a run, and the verdict on it.
type evidence struct {
	results []Result
	seen    map[string][]observation // by check; looked up, never ranged over
}

// verdict is that on a check; "" when it was not run.
func (e evidence) verdict(check string) Verdict {
	if i := slices.IndexFunc(e.results, func(r Result) bool { return r.ID == check }); i >= 0 {
		return e.results[i].Verdict
	}
	return ""
}

// says is the evidence of a check in words.
func (e evidence) says(check string) string {
	if i := slices.IndexFunc(e.results, func(r Result) bool { return r.ID == check }); i >= 0 {
		return e.results[i].Evidence
	}
	return ""
}

// series are the observations of a kind in a check, with a What that begins with a prefix.
func (e evidence) series(check, kind, prefix string) (out []observation) {
	for _, o := range e.seen[check] {
		if o.Kind == kind && strings.HasPrefix(o.What, prefix) {
			out = append(out, o)
		}
	}
	return out
}

// answerer makes an answer of the evidence; false when the checks that it needs were not run.
type answerer func(e evidence) (Answer, bool)

// answerers are asked in this order.
var answerers = []answerer{idleAnswer, gateAnswer, retryAnswer, hungAnswer, coldStartAnswer, overlayAnswer}

// measured says whether anything of the timing profile was run. A run of the catalogue answers
// nothing, although it has checks that would.
func (e evidence) measured() bool {
	return slices.ContainsFunc(e.results, func(r Result) bool { return strings.HasPrefix(r.ID, timingPrefix) })
}

// answers makes all answers that the evidence allows.
func (e evidence) answers() (out []Answer) {
	if !e.measured() {
		return nil
	}
	for _, ask := range answerers {
		if a, ok := ask(e); ok {
			out = append(out, a)
		}
	}
	return out
}

// WriteAnswers writes answers for a terminal.
func WriteAnswers(w io.Writer, answers []Answer) error {
	if len(answers) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\nAnswers to the open questions of RFC 0204\n"); err != nil {
		return err
	}
	for _, a := range answers {
		text := fmt.Sprintf("\n%s\n  %s\n", a.Question, a.Words)
		if a.Range != "" {
			text += "  Tested: " + a.Range + "\n"
		}
		if a.Confidence != "" {
			text += "  Confidence: " + a.Confidence + "\n"
		}
		text += a.figures()
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
