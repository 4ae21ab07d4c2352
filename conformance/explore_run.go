package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/scenarios"
)

// Bounds of one run of a plan.
const (
	stepBound   = 30 * time.Second        // of one line; a sound daemon needs a fraction
	shrinkBound = 2500 * time.Millisecond // that an answer may take to become right while shrinking
	endReserve  = time.Minute             // of a run, besides its lines
)

// outing is one run of a script against a daemon of its own.
type outing struct {
	verdict      Verdict // Pass, Fail, Inconclusive: too slow for its waits, or HarnessError
	says         string  // what is wrong
	op           int     // the operation behind which it came out
	query        scenarios.Query
	calls        string
	asked        string // the question as written
	observations int
}

var (
	errDiverged = errors.New("the daemon has shown something else than the model says")
	errSlow     = errors.New("the requests took so long that nobody can say what has expired")
)

// watch is a live world that is asked no further once it has disagreed with the model, and that
// notices when requests took more of the time between waits than the model allows for.
type watch struct {
	scenarios.World
	settle time.Duration
	idle   time.Duration
	wants  []scenarios.Expect // of the file, in order

	got      string
	asked    time.Time // the question at hand, first
	began    time.Time // of the requests since the last long wait
	spent    time.Duration
	short    bool // there was a short wait since
	again    bool // the next question is the last one once more: it was in time
	diverged bool
	slow     bool
	answers  int
	err      error // the first that is not of the script's making
}

func (w *watch) Setup(ctx context.Context, s scenarios.Settings) error {
	if err := w.fault(w.World.Setup(ctx, s)); err != nil {
		return err
	}
	w.began = time.Now()
	return nil
}

func (w *watch) fault(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// step bounds one line.
func (w *watch) step(ctx context.Context, do func(context.Context) error) error {
	if w.diverged {
		return errDiverged
	}
	if w.slow = w.slow || !w.again && w.late(); w.slow {
		return errSlow
	}
	bounded, cancel := context.WithTimeout(ctx, stepBound)
	defer cancel()
	return w.fault(do(bounded))
}

// late reports whether requests took more time than fits into T with the waits.
func (w *watch) late() bool {
	if w.idle == 0 {
		return false
	}
	most := w.idle * 9 / 10
	if w.short {
		most = w.idle * 3 / 10
	}
	return w.spent+time.Since(w.began) > most
}

func (w *watch) Do(ctx context.Context, c scenarios.Command) error {
	a, wait := c.(scenarios.Advance)
	if wait {
		w.short = a.By < w.idle
	}
	err := w.step(ctx, func(ctx context.Context) error {
		if wait {
			w.spent += time.Since(w.began)
		}
		return w.World.Do(ctx, c)
	})
	if wait {
		if w.began = time.Now(); !w.short {
			w.spent = 0
		}
	}
	return err
}

func (w *watch) Start(ctx context.Context, call string, op scenarios.Operation) error {
	return w.step(ctx, func(bounded context.Context) error { return w.World.Start(bounded, call, op) })
}

func (w *watch) Cancel(ctx context.Context, call string) error {
	return w.step(ctx, func(bounded context.Context) error { return w.World.Cancel(bounded, call) })
}

func (w *watch) Query(ctx context.Context, q scenarios.Query) (got string, err error) {
	err = w.step(ctx, func(bounded context.Context) (err error) {
		got, err = w.World.Query(bounded, q)
		return err
	})
	w.answers++
	w.got, w.again = got, false
	return got, err
}

// hopeless says that an answer will not become the expected one by waiting: counts only rise, and
// what has ended has ended.
func (w *watch) hopeless() bool {
	if w.answers > len(w.wants) {
		return false
	}
	switch want := w.wants[w.answers-1]; want.Query.Kind {
	case scenarios.Spawns, scenarios.Arrived:
		most, err1 := strconv.Atoi(want.Want)
		n, err2 := strconv.Atoi(w.got)
		return err1 == nil && err2 == nil && n > most
	case scenarios.Result:
		return w.got != wordPending
	}
	return false
}

// Settle implements scenarios.Settler.
func (w *watch) Settle(ctx context.Context, try int) bool {
	if try == 1 {
		w.asked = time.Now()
	}
	if !w.hopeless() && time.Since(w.asked) < w.settle && !w.slow && pause(ctx, settleStep) == nil {
		w.answers-- // the same question once more
		w.again = true
		return true
	}
	w.diverged = true
	return false
}

// try runs a script against a daemon of its own, and ends the daemon.
func (x *explorer) try(ctx context.Context, s script, idle, settle time.Duration) outing {
	if ctx.Err() != nil {
		return outing{verdict: HarnessError, says: "interrupted"}
	}
	p := &probe{target: x.target, audit: &audit{}, rec: &recorder{}}
	w := &watch{settle: settle, idle: idle}
	for _, l := range s.file.Lines {
		if e, ok := l.Command.(scenarios.Expect); ok {
			w.wants = append(w.wants, e)
		}
	}
	var report *scenarios.Report
	var failed error
	bounded, cancel := context.WithTimeoutCause(ctx, endReserve+2*duration(s.file)+time.Duration(len(s.file.Lines))*time.Second/4, errWatchdog)
	defer cancel()
	e := p.perform(bounded, Check{ID: "explore", run: func(ctx context.Context, p *probe) (string, error) {
		inner := NewWorld(p.target).(*world)
		inner.adopt, inner.keep = p.adopt, true
		w.World = inner
		report, failed = scenarios.Run(ctx, s.file, w)
		return "", errors.Join(w.err, failed)
	}})
	t := outing{verdict: Pass, op: -1, observations: w.answers}
	switch {
	case ctx.Err() != nil:
		t.verdict, t.says = HarnessError, "interrupted"
	case w.slow:
		t.verdict, t.says = Inconclusive, errSlow.Error()
	case report != nil && len(report.Failures()) > 0:
		t.differs(s, report.Failures()[0])
	case failed != nil:
		r := granted.ending(e, nil)
		t.verdict, t.says = r.verdict, oneLine(p.say(r.evidence))
		if at, ok := errors.AsType[*scenarios.Error](failed); ok {
			t.op = s.op[at.Line-1]
		}
	case report == nil:
		t.verdict, t.says = HarnessError, e.Text
	}
	x.end(ctx, p, &t)
	return t
}

// end ends the daemon of a run; how it ends is an observation, too.
func (x *explorer) end(ctx context.Context, p *probe, t *outing) {
	if ctx.Err() != nil || t.verdict != Pass {
		p.discard()
		return
	}
	p.close()
	if a := p.audit.record(); a.Bad > 0 {
		t.verdict, t.says = Fail, "at its end: "+strings.Join(a.Faults, "; ")
	}
}

func (t *outing) differs(s script, o scenarios.Outcome) {
	t.verdict = Fail
	t.says = fmt.Sprintf("%v, but got %s", o.Expect, o.Got)
	t.op, t.query, t.calls, t.asked = s.op[o.Line-1], o.Expect.Query, o.Expect.Calls.First, written(o.Expect)
}

// written is a question without the answer.
func written(e scenarios.Expect) string {
	question, _, _ := strings.Cut(e.String(), " =")
	return question
}

// like says whether another run failed in the same way, as far as that can be said of scripts
// that differ: the same question, about whomever.
func (t outing) like(u outing) bool {
	return t.verdict == Fail && u.verdict == Fail && t.query.Kind == u.query.Kind
}

// Exploration is what was found out about a daemon with drawn operations.
type Exploration struct {
	Suite        string     `json:"suite"`
	Target       string     `json:"target"`
	Dialect      *Dialect   `json:"dialect,omitempty"`
	Seed         uint64     `json:"seed"`
	Steps        int        `json:"steps"`
	Walks        int        `json:"walks"` // daemons that the steps were done to
	Done         int        `json:"done"`  // steps that were done until the end, or until a disagreement
	Kinds        []KindDone `json:"kinds"`
	Observations int        `json:"observations"` // that were compared
	LeftOut      []string   `json:"left_out,omitempty"`
	Verdict      Verdict    `json:"verdict"`
	Evidence     string     `json:"evidence"`
	Found        *Finding   `json:"found,omitempty"`
	DurationMS   int64      `json:"duration_ms"`
}

// KindDone counts the operations of one kind.
type KindDone struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Finding is a disagreement, shrunk.
type Finding struct {
	Walk     int             `json:"walk"`
	Says     string          `json:"says"`
	From     int             `json:"from"`  // operations that it came out behind
	To       int             `json:"to"`    // operations that are left
	Tries    int             `json:"tries"` // daemons that were started for that
	Scenario *scenarios.File `json:"-"`
	Text     string          `json:"scenario"`
}

// kinds counts operations, in the order in which draws has them.
func kindsOf(ops []scenarios.Command, into []KindDone) []KindDone {
	for _, op := range ops {
		k := kindOf(op)
		i := slices.IndexFunc(into, func(d KindDone) bool { return d.Kind == k })
		if i < 0 {
			into, i = append(into, KindDone{Kind: k}), len(into)
		}
		into[i].Count++
	}
	slices.SortFunc(into, func(a, b KindDone) int { return strings.Compare(a.Kind, b.Kind) })
	return into
}

func (k KindDone) String() string { return strconv.Itoa(k.Count) + " " + k.Kind }
