package sim

import (
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// TestScenarios runs every embedded scenario in the machine world.
func TestScenarios(t *testing.T) {
	for _, f := range scenarios.All() {
		if !f.RunsIn(scenarios.Machine) {
			continue
		}
		t.Run(f.ID(), func(t *testing.T) {
			report, err := scenarios.Run(t.Context(), f, NewScenarioWorld())
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Err(); err != nil {
				t.Error(err)
			}
			if len(report.Outcomes) == 0 {
				t.Error("the scenario expects nothing")
			}
		})
	}
}

// run parses a script and runs it in the machine world.
func run(t *testing.T, script string) (*scenarios.Report, error) {
	t.Helper()
	f, err := scenarios.Parse("x.txtar", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return scenarios.Run(t.Context(), f, NewScenarioWorld())
}

// TestScenarioFails: an expectation that is wrong fails at its line.
func TestScenarioFails(t *testing.T) {
	report, err := run(t, "server S\nagent a\ndeclare a m1 S\ncall a echo\nexpect spawns S = 2\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err == nil || !strings.Contains(err.Error(), "x.txtar:5") || !strings.Contains(err.Error(), "got 1") {
		t.Errorf("want a failure at x.txtar:5 that got 1, got %v", err)
	}
}

// TestScenarioEndless: waiting for what never comes ends with an error, not with a hang.
func TestScenarioEndless(t *testing.T) {
	_, err := run(t, "server S\nagent a\ndeclare a m1 S\nhold S call\nawait S call\n")
	if err == nil || !strings.Contains(err.Error(), "did not come true within") {
		t.Errorf("want an error that the wait was in vain, got %v", err)
	}
}

// TestScenarioInstants: time stops at the very instant of a cause, and things of one instant
// happen in their order.
func TestScenarioInstants(t *testing.T) {
	for _, script := range []string{
		// The connect takes exactly as long as it may: its answer comes before the timeout.
		"set connect_timeout 3s\nserver S connect=3s\nagent a\ndeclare a m1 S\ncall a echo\nexpect result = ok\n",
		"set connect_timeout 3s\nserver S connect=3001ms\nagent a\ndeclare a m1 S\ncall a echo\nexpect result = refused\n",
		// A call of exactly the call timeout is answered; the idle clock starts at its end.
		"set call_timeout 2s\nset idle_timeout 4s\nserver S call=2s\nagent a\ndeclare a m1 S\ncall a echo\nexpect result = ok\n" +
			"advance 3999ms\nexpect running S = 1\nadvance 1001ms\nexpect running S = 0\n",
		// A stubborn process ends at SIGKILL, after two graces.
		"set grace 1s\nserver S ignores=eof,term\nagent a\ndeclare a m1 S\ncall a echo\ndelete a m1\n" +
			"advance 1999ms\nexpect running S = 1\nadvance 1ms\nexpect running S = 0\n",
		// The second declarer serves when the first lacks the tool, and both stay up.
		"server S tools=one\nserver R tools=two\nagent a\ndeclare a m1 S\ndeclare a m2 R\ncall a two\nexpect result = ok\n" +
			"expect calls S = 0\nexpect calls R = 1\nexpect status a m1 = connected\n",
		// No declarer has the tool.
		"server S tools=one\nagent a\ndeclare a m1 S\ncall a two\nexpect result = refused\n",
		// A held first listing is part of the connect.
		"server S\nagent a\ndeclare a m1 S\nhold S list\nstart c: call a echo\nawait S list\nexpect status a m1 = connecting\n" +
			"release S list\nawait c\nexpect result c = ok\n",
	} {
		report, err := run(t, script)
		if err != nil {
			t.Errorf("%v in\n%s", err, script)
			continue
		}
		if err := report.Err(); err != nil {
			t.Errorf("%v in\n%s", err, script)
		}
	}
}
