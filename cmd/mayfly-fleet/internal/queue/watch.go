package queue

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MaxSamples bounds the samples of a campaign. When there are more, every other one goes.
const MaxSamples = 1024

// Progress is how far a campaign is, as its coordinator says.
type Progress struct {
	Coordinator string    `json:"coordinator"` // who says so
	At          time.Time `json:"at"`
	JobsDone    uint64    `json:"jobsDone"` // summed up, in order
	Arrived     uint64    `json:"arrived"`  // results that are there
	Jobs        uint64    `json:"jobs"`
	Seeds       uint64    `json:"seeds"` // or whatever the kind counts
	SeedsAll    uint64    `json:"seedsAll"`
	Steps       uint64    `json:"steps"`
	Cells       int       `json:"cells"`
	Reached     int       `json:"reached"`
	Situations  int       `json:"situations"`
	Failures    int       `json:"failures"`
	Rate        float64   `json:"rate"` // seeds a second, of late
}

// Sample is a point of a campaign's course.
type Sample struct {
	At       time.Time `json:"at"`
	Seeds    uint64    `json:"seeds"`
	Steps    uint64    `json:"steps"`
	Cells    int       `json:"cells"`
	Reached  int       `json:"reached"`
	Failures int       `json:"failures"`
}

// Report keeps how far a campaign is, unless another coordinator was farther.
func (q *Queue) Report(ctx context.Context, id string, p Progress) error {
	var is Progress
	if _, err := q.get(ctx, id+".progress", &is); err != nil {
		return err
	}
	if is.Coordinator != p.Coordinator && is.JobsDone > p.JobsDone {
		return nil
	}
	p.At = now()
	return q.put(ctx, id+".progress", p)
}

// Progress is what was last kept.
func (q *Queue) Progress(ctx context.Context, id string) (p Progress, err error) {
	_, err = q.get(ctx, id+".progress", &p)
	return p, err
}

// AddSamples keeps points of a campaign's course. Points stay in the order of seeds: what a coordinator that
// began later has still to catch up with is left out.
func (q *Queue) AddSamples(ctx context.Context, id string, more []Sample) error {
	all, err := q.Samples(ctx, id)
	if err != nil {
		return err
	}
	n := len(all)
	for _, s := range more {
		if len(all) == 0 || all[len(all)-1].Seeds < s.Seeds {
			all = append(all, s)
		}
	}
	if len(all) == n {
		return nil
	}
	return q.put(ctx, id+".samples", thin(all, MaxSamples))
}

// thin drops every other sample of too many, but the last.
func thin(all []Sample, most int) []Sample {
	if len(all) <= most {
		return all
	}
	var out []Sample
	for i, s := range all {
		if i%2 == 0 || i == len(all)-1 {
			out = append(out, s)
		}
	}
	return out
}

// Samples is the course of a campaign.
func (q *Queue) Samples(ctx context.Context, id string) (all []Sample, err error) {
	_, err = q.get(ctx, id+".samples", &all)
	return all, err
}

// Worker is what a worker says of itself.
type Worker struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Build   string    `json:"build"`
	At      time.Time `json:"at"`
	Slots   int       `json:"slots"` // jobs that it runs at a time
	Current []string  `json:"current"`
	Jobs    uint64    `json:"jobs"` // that it did
	Seeds   uint64    `json:"seeds"`
	Rate    float64   `json:"rate"` // seeds a second, of late
	Refuses []string  `json:"refuses,omitempty"`
	Lost    int       `json:"lost,omitempty"`  // slots whose job hung
	Twice   uint64    `json:"twice,omitempty"` // results that it had for jobs that had one already, which are refused
	Known   uint64    `json:"known,omitempty"` // jobs that came again although their result was there
}

// Alive keeps what a worker says of itself, for some time.
func (q *Queue) Alive(ctx context.Context, w Worker) error {
	w.At = now()
	return q.call(ctx, "saying that the worker lives", func(ctx context.Context) error {
		_, err := q.workers.Put(ctx, w.ID, encode(w))
		return err
	})
}

// Gone takes a worker off the list.
func (q *Queue) Gone(ctx context.Context, id string) error {
	return q.call(ctx, "taking the worker off the list", func(ctx context.Context) error { return q.workers.Purge(ctx, id) })
}

// Workers are those that said lately that they live, by name.
func (q *Queue) Workers(ctx context.Context) (all []Worker, err error) {
	keys, err := q.keys(ctx, q.workers, ">")
	for _, k := range keys {
		if err != nil {
			break
		}
		err = q.call(ctx, "reading a worker", func(ctx context.Context) error {
			e, err := q.workers.Get(ctx, k)
			if err != nil {
				return nil // gone since
			}
			var w Worker
			if json.Unmarshal(e.Value(), &w) == nil {
				all = append(all, w)
			}
			return nil
		})
	}
	return all, err
}

// Campaigns are the names of all campaigns.
func (q *Queue) Campaigns(ctx context.Context) (ids []string, err error) {
	keys, err := q.keys(ctx, q.kv, "*.spec")
	for _, k := range keys {
		ids = append(ids, strings.TrimSuffix(k, ".spec"))
	}
	return ids, err
}

// Change is a campaign as it is now.
type Change struct {
	Spec    Spec
	State   State
	Removed bool
}

// Watch calls changed for every campaign that is there, then ready once, then changed whenever one changed,
// until the context ends. Calls come one at a time.
func (q *Queue) Watch(ctx context.Context, changed func(Change), ready func()) error {
	for {
		err := q.watch(ctx, changed, ready)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		ready = func() {} // the watcher ended by itself; all that is there is told again
	}
}

func (q *Queue) watch(ctx context.Context, changed func(Change), ready func()) error {
	var w jetstream.KeyWatcher
	err := q.call(ctx, "watching campaigns", func(context.Context) (err error) { // the watcher outlives the call
		w, err = q.kv.WatchFiltered(ctx, []string{"*.spec", "*.state"}, jetstream.UpdatesOnly())
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the context or the watcher has ended
	known := map[string]bool{}
	tell := func(id string) error {
		c := Change{}
		found, err := q.get(ctx, id+".spec", &c.Spec)
		if err == nil {
			c.State, err = q.State(ctx, id)
		}
		if err != nil || !found && !known[id] {
			return err
		}
		c.Spec.ID, c.Removed, known[id] = id, !found, found
		changed(c)
		return nil
	}
	ids, err := q.Campaigns(ctx)
	for _, id := range ids {
		if err == nil {
			err = tell(id)
		}
	}
	if err != nil {
		return err
	}
	ready()
	for e := range w.Updates() {
		if e == nil {
			continue
		}
		id, _, _ := strings.Cut(e.Key(), ".")
		if err := tell(id); err != nil {
			return err
		}
	}
	return nil
}

// Follow calls state and isolated for what a campaign is told to do and for its jobs in quarantine, now and
// whenever something changes, until the context ends. Calls come one at a time.
func (q *Queue) Follow(ctx context.Context, id string, state func(State), isolated func(Quarantine)) error {
	for {
		err := q.follow(ctx, id, state, isolated)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (q *Queue) follow(ctx context.Context, id string, state func(State), isolated func(Quarantine)) error {
	var w jetstream.KeyWatcher
	err := q.call(ctx, "following the campaign", func(context.Context) (err error) { // the watcher outlives the call
		w, err = q.kv.WatchFiltered(ctx, []string{id + ".state", id + ".quarantine.*"})
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop() }() // the context or the watcher has ended
	for e := range w.Updates() {
		switch {
		case e == nil || e.Operation() != jetstream.KeyValuePut && e.Key() != id+".state":
		case e.Operation() != jetstream.KeyValuePut:
			state(State{State: Cancelled, Epoch: math.MaxUint64}) // it was removed
		case e.Key() == id+".state":
			var s State
			if json.Unmarshal(e.Value(), &s) == nil {
				state(s)
			}
		default:
			var x Quarantine
			if json.Unmarshal(e.Value(), &x) == nil {
				isolated(x)
			}
		}
	}
	return nil
}

// Sorted is for lists of names that are made from maps.
func Sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
