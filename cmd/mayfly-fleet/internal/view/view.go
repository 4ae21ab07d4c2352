package view

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
)

// The pace and the size of what is shown.
const (
	LineEvery = 10 * time.Second
	drawEvery = 250 * time.Millisecond
	maxRows   = 20 // workers in the table
)

// View shows a campaign.
type View struct {
	out      io.Writer
	terminal bool
	unit     string
	clock    func() time.Time

	mu       sync.Mutex
	progress queue.Progress
	workers  []queue.Worker
	drawn    time.Time
	rows     int // on the terminal
	said     bool
}

// New shows on a writer, as a table if it is a terminal.
func New(out io.Writer, unit string) *View {
	return &View{out: out, terminal: isTerminal(out), unit: unit, clock: time.Now}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Progress takes up how far the campaign is.
func (v *View) Progress(p queue.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.progress = p
	v.show()
}

// Workers takes up who works.
func (v *View) Workers(ws []queue.Worker) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.workers = ws
	if v.terminal {
		v.show()
	}
}

// Now is what was taken up last.
func (v *View) Now() (queue.Progress, []queue.Worker) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.progress, v.workers
}

// Close leaves the last state behind, as a line.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	if v.progress.Jobs > 0 {
		fmt.Fprintln(v.out, Line(v.progress, len(v.workers), v.unit))
	}
}

// Log prints a line that stays.
func (v *View) Log(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clear()
	fmt.Fprintf(v.out, "mayfly-fleet: "+format+"\n", args...)
}

func (v *View) show() {
	every := LineEvery
	if v.terminal {
		every = drawEvery
	}
	if now := v.clock(); now.Sub(v.drawn) < every {
		return
	} else if v.drawn = now; !v.said && !v.terminal {
		v.said = true // nothing is known yet
		return
	}
	if !v.terminal {
		fmt.Fprintln(v.out, Line(v.progress, len(v.workers), v.unit))
		return
	}
	v.clear()
	text := Table(v.progress, v.workers, v.unit)
	v.rows = strings.Count(text, "\n")
	fmt.Fprint(v.out, text)
}

// clear takes the table off the terminal.
func (v *View) clear() {
	if v.rows > 0 {
		fmt.Fprintf(v.out, "\x1b[%dA\x1b[J", v.rows)
		v.rows = 0
	}
}

// Line is one line about a campaign.
func Line(p queue.Progress, workers int, unit string) string {
	s := fmt.Sprintf("%d of %d %s, %.0f %s/s, %d workers, %d unique failures", p.Seeds, p.SeedsAll, unit, p.Rate, unit, workers, p.Failures)
	if p.Situations > 0 {
		s += fmt.Sprintf(", %d of %d situations, %d cells", p.Reached, p.Situations, p.Cells)
	}
	return s + ", " + Left(p)
}

// Left says how long it will take.
func Left(p queue.Progress) string {
	switch {
	case p.Seeds >= p.SeedsAll:
		return "done"
	case p.Rate <= 0:
		return "? left"
	}
	return time.Duration(float64(p.SeedsAll-p.Seeds)/p.Rate*float64(time.Second)).Round(time.Second).String() + " left"
}

// Table is a campaign and its workers.
func Table(p queue.Progress, ws []queue.Worker, unit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", Line(p, len(ws), unit))
	fmt.Fprintf(&b, "jobs: %d of %d summed up, %d results waiting for their turn\n", p.JobsDone, p.Jobs, p.Arrived-min(p.Arrived, p.JobsDone))
	if len(ws) == 0 {
		return b.String() + "no worker is there; \"mayfly-fleet worker\" joins from anywhere\n"
	}
	fmt.Fprintf(&b, "  %-32s %5s %5s %10s %12s\n", "WORKER", "SLOTS", "BUSY", unit+"/s", unit)
	for i, w := range ws {
		if i == maxRows {
			fmt.Fprintf(&b, "  and %d more\n", len(ws)-i)
			break
		}
		row := fmt.Sprintf("  %-32s %5d %5d %10.0f %12d  %s", short(w.ID), w.Slots, len(w.Current), w.Rate, w.Seeds, remark(&w))
		fmt.Fprintln(&b, strings.TrimRight(row, " "))
	}
	return b.String()
}

func remark(w *queue.Worker) string {
	var all []string
	if len(w.Refuses) > 0 {
		all = append(all, "of another build: refuses "+strings.Join(w.Refuses, ", "))
	}
	if w.Lost > 0 {
		all = append(all, fmt.Sprintf("%d jobs hung", w.Lost))
	}
	return strings.Join(all, "; ")
}

func short(id string) string {
	const most = 32
	if len(id) > most {
		return id[:most-3] + "..."
	}
	return id
}
