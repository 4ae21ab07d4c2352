package view

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly-fleet/internal/queue"
	"github.com/mayfly-mcp/mayfly/fakes/wait"
)

func TestMain(m *testing.M) { os.Exit(wait.Main(m)) }

var (
	some = queue.Progress{Jobs: 100, JobsDone: 40, Arrived: 45, Seeds: 2560, SeedsAll: 6400, Steps: 1000, Cells: 249, Reached: 148, Situations: 149, Failures: 2, Rate: 64}
	crew = []queue.Worker{{ID: "a-1", Slots: 2, Current: []string{"x/1", "x/2"}, Rate: 40.4, Seeds: 1280},
		{ID: strings.Repeat("long", 20), Slots: 1, Rate: 23.6, Seeds: 640, Refuses: []string{"old"}, Lost: 1}}
)

const line = "2560 of 6400 seeds, 64 seeds/s, 2 workers, 2 unique failures, 148 of 149 situations, 249 cells, 1m0s left\n"

// TestTable: what a terminal shows.
func TestTable(t *testing.T) {
	want := line + `jobs: 40 of 100 summed up, 5 results waiting for their turn
  WORKER                           SLOTS  BUSY    seeds/s        seeds
  a-1                                  2     2         40         1280
  longlonglonglonglonglonglongl...     1     0         24          640  of another build: refuses old; 1 jobs hung
`
	if d := cmp.Diff(want, Table(some, crew, "seeds")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	var many []queue.Worker
	for i := range maxRows + 5 {
		many = append(many, queue.Worker{ID: fmt.Sprint(i)})
	}
	if got := Table(some, many, "seeds"); !strings.HasSuffix(got, "  and 5 more\n") || strings.Count(got, "\n") != maxRows+4 {
		t.Errorf("many workers:\n%s", got)
	}
	if got := Table(some, nil, "seeds"); !strings.Contains(got, "no worker is there") {
		t.Errorf("no workers:\n%s", got)
	}
}

func TestLeft(t *testing.T) {
	for want, p := range map[string]queue.Progress{
		"done":    {Seeds: 3, SeedsAll: 3},
		"? left":  {Seeds: 2, SeedsAll: 3},
		"2s left": {Seeds: 1, SeedsAll: 3, Rate: 1},
	} {
		if got := Left(p); got != want {
			t.Errorf("%+v: %s, want %s", p, got, want)
		}
	}
}

// TestLines: where there is no terminal a line comes now and then, and one at the end.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	v := New(&out, "seeds")
	v.clock = func() time.Time { return now }
	v.Workers(crew)
	for range 31 {
		v.Progress(some)
		now = now.Add(time.Second)
	}
	v.Log("word %d", 1)
	v.Close()
	if d := cmp.Diff(strings.Repeat(line, 3)+"mayfly-fleet: word 1\n"+line, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestTerminal: a table is drawn over the one before, and gives way to what is said.
func TestTerminal(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	v := New(&out, "seeds")
	v.terminal, v.clock = true, func() time.Time { now = now.Add(drawEvery); return now }
	v.Progress(some)
	v.Workers(crew)
	v.Log("word")
	v.Close()
	const up = "\x1b[3A\x1b[J"
	want := Table(some, nil, "seeds") + up + Table(some, crew, "seeds") + "\x1b[5A\x1b[J" + "mayfly-fleet: word\n" + line
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// TestMetrics: what Prometheus reads.
func TestMetrics(t *testing.T) {
	v := New(io.Discard, "seeds")
	v.Progress(some)
	v.Workers(crew)
	me := queue.Worker{ID: "a-1", Slots: 2, Jobs: 7, Current: []string{"x/1"}}
	m, err := Serve("127.0.0.1:0", append(Campaign("x", v.Now), Worker(func() queue.Worker { return me })...))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get("http://" + m.Addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	for _, want := range []string{`mayfly_fleet_units_done{campaign="x"} 2560`, `mayfly_fleet_situations_reached{campaign="x"} 148`, `mayfly_fleet_workers{campaign="x"} 2`,
		`mayfly_fleet_worker_jobs_done{worker="a-1"} 7`, `mayfly_fleet_worker_busy{worker="a-1"} 1`, "# HELP mayfly_fleet_failures Distinct failures."} {
		if err != nil || !strings.Contains(string(text), want+"\n") {
			t.Errorf("metrics lack %q (%v):\n%s", want, err, text)
		}
	}
	if _, err := Serve(m.Addr, nil); err == nil || !strings.Contains(err.Error(), "use -metrics HOST:PORT with a port that is free") {
		t.Errorf("a port in use: %v", err)
	}
}
