package conformance

import (
	"fmt"
	"strings"
	"sync"
)

// auditID is the check that every run ends with.
const auditID = "leaves-nothing-behind"

// auditCheck describes it in lists. It has nothing to run: it watches all others.
func auditCheck() Check {
	return Check{ID: auditID, Title: "Every daemon stops on SIGTERM with exit code 0, and no process of it is left.",
		Clauses: []string{"SH-1", "PR-1", "PR-2"}}
}

// maxAudit bounds the lines of evidence of the audit.
const maxAudit = 5

// audit collects how the daemons of a run ended. What one of them leaves behind is a fault
// of its own, not one of the check that happened to be under way.
type audit struct {
	mu      sync.Mutex
	daemons int
	servers int
	faults  []string
}

// closed records the end of a rig.
func (a *audit) closed(r *rig, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.daemons++
	a.servers += r.spawned()
	if err != nil {
		a.faults = append(a.faults, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// result is the verdict over all ends.
func (a *audit) result() Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := auditCheck()
	r := Result{ID: c.ID, Title: c.Title, Clauses: c.Clauses, Level: c.Level(), Verdict: Pass}
	r.Evidence = fmt.Sprintf("%d daemons stopped, %d servers spawned, none left", a.daemons, a.servers)
	switch {
	case len(a.faults) > 0:
		r.Verdict = Fail
		r.Evidence = fmt.Sprintf("%d of %d daemons: %s", len(a.faults), a.daemons,
			strings.Join(a.faults[:min(len(a.faults), maxAudit)], "; "))
	case a.daemons == 0:
		r.Verdict, r.Evidence = NotObserved, "no daemon came to an orderly end"
	case a.servers == 0:
		r.Verdict, r.Evidence = NotObserved, "no server was spawned that could have been left"
	}
	return r
}
