package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// pretender is a *testing.T that keeps what is said.
type pretender struct {
	ctx  context.Context
	name string
	said *[]string
}

func (p pretender) Helper()                  {}
func (p pretender) Context() context.Context { return p.ctx }
func (p pretender) say(how, format string, args []any) {
	*p.said = append(*p.said, how+" "+p.name+" "+strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " | "))
}
func (p pretender) Logf(format string, args ...any)   { p.say("log", format, args) }
func (p pretender) Errorf(format string, args ...any) { p.say("error", format, args) }
func (p pretender) Fatalf(format string, args ...any) { p.say("fatal", format, args) }
func (p pretender) Run(name string, f func(pretender)) bool {
	f(pretender{p.ctx, name, p.said})
	return true
}

// TestSuiteSaysEverything: verdicts become subtests; a MUST that failed is an error, what does
// not apply is logged and never left out.
func TestSuiteSaysEverything(t *testing.T) {
	t.Parallel()
	var said []string
	target := mutant(t, "connects-at-registration")
	target.Template = DefaultTemplate // so that it lacks the timeouts
	runSuite(pretender{t.Context(), "", &said}, target, []string{"registration-starts-nothing", "connect-timeout-measured", "frame-empty"})
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"error registration-starts-nothing FAIL (MUST", "log connect-timeout-measured NOT-APPLICABLE (MUST",
		"the target lacks connect-timeout", "log frame-empty PASS (FIELD", "log leaves-nothing-behind PASS (FIELD", "log  MUST ",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing says %q in\n%s", want, all)
		}
	}
	said = nil
	runSuite(pretender{t.Context(), "", &said}, mutant(t, "exits-with-1"), []string{"own-process-group"})
	if all := strings.Join(said, "\n"); !strings.Contains(all, "log leaves-nothing-behind FAIL (FIELD") || strings.Contains(all, "error ") {
		t.Errorf("a FIELD that fails is not logged alone:\n%s", all)
	}
	said = nil
	runSuite(pretender{t.Context(), "", &said}, target, []string{"no-such-check"})
	if len(said) != 1 || !strings.HasPrefix(said[0], `fatal  there is no check "no-such-check"`) {
		t.Errorf("an unknown id: %q", said)
	}
	said = nil
	target.Argv = []string{"no-such-daemon"}
	runSuite(pretender{t.Context(), "", &said}, target, nil)
	if len(said) != 1 || !strings.HasPrefix(said[0], `fatal  cannot run the target "no-such-daemon"`) {
		t.Errorf("a target that is not there: %q", said)
	}
}
