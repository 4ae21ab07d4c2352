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
	return Check{ID: auditID, Title: "Every daemon stops with exit code 0 when it is asked to, by SIGTERM or -stop-signal, and no process of it is left.",
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
		a.faults = append(a.faults, r.say(strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
}

// record is what it saw. Faults beyond what a report shows are counted, not kept.
func (a *audit) record() auditRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := auditRecord{Daemons: a.daemons, Servers: a.servers, Bad: len(a.faults)}
	for _, f := range a.faults[:min(len(a.faults), maxAudit)] {
		r.Faults = append(r.Faults, clipped(f))
	}
	return r
}

// result is the verdict over all ends.
func (a auditRecord) result() Result {
	c := auditCheck()
	r := Result{ID: c.ID, Title: c.Title, Clauses: c.Clauses, Level: c.Level(), Verdict: Pass}
	r.Evidence = fmt.Sprintf("%d daemons stopped, %d servers spawned, none left", a.Daemons, a.Servers)
	switch {
	case a.Bad > 0:
		r.Verdict = Fail
		r.Evidence = fmt.Sprintf("%d of %d daemons: %s", a.Bad, a.Daemons, strings.Join(a.Faults, "; "))
	case a.Lacking != "":
		r.Verdict, r.Evidence = NotApplicable, "the target lacks "+a.Lacking
	case a.Daemons == 0:
		r.Verdict, r.Evidence = NotObserved, "no daemon came to an orderly end"
	case a.Servers == 0:
		r.Verdict, r.Evidence = NotObserved, "no server was spawned that could have been left"
	}
	return r
}
