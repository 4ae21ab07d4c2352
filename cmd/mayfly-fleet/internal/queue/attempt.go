package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The bounds of what is kept of a job that fails.
const (
	MaxAttempts = 16
	MaxLog      = 32 << 10 // of one attempt
)

// Attempt is one try of a job that did not end well, as far as its worker could say.
type Attempt struct {
	Worker   string    `json:"worker"`
	At       time.Time `json:"at"`
	Delivery int       `json:"delivery"`
	What     string    `json:"what"`          // began, failed, hung or handed back
	Log      string    `json:"log,omitempty"` // the end of it
}

// HandedBack is the attempt of a worker that had to go, which says nothing against the job.
const HandedBack = "handed back"

// Quarantine is a job that is not handed out any more.
type Quarantine struct {
	Index      uint64    `json:"index"`
	At         time.Time `json:"at"`
	Deliveries int       `json:"deliveries"` // that did not end well
	Attempts   []Attempt `json:"attempts"`   // as far as workers could say
}

// String is one paragraph about it.
func (x *Quarantine) String() string {
	var all []string
	for _, a := range x.Attempts {
		all = append(all, fmt.Sprintf("%s %s (delivery %d)", a.Worker, a.What, a.Delivery))
	}
	last := "no worker left a log of it, as one that is killed does not"
	for _, a := range x.Attempts {
		if a.Log != "" {
			last = "the last log says: " + firstLine(a.Log)
		}
	}
	if len(all) == 0 {
		all = append(all, "nobody said who had it")
	}
	return fmt.Sprintf("job %d is in quarantine after %d deliveries: %s; %s", x.Index, x.Deliveries, strings.Join(all, ", "), last)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Attempts are those that are kept of a job.
func (q *Queue) Attempts(ctx context.Context, id string, index uint64) (all []Attempt, err error) {
	_, err = q.get(ctx, attemptsKey(id, index), &all)
	return all, err
}

func attemptsKey(id string, index uint64) string { return fmt.Sprintf("%s.attempts.%d", id, index) }

// Attempt keeps one more. The last MaxAttempts are kept.
func (q *Queue) Attempt(ctx context.Context, id string, index uint64, a Attempt) error {
	a.At = now()
	if len(a.Log) > MaxLog {
		a.Log = a.Log[:MaxLog]
	}
	key := attemptsKey(id, index)
	return q.call(ctx, "keeping an attempt", func(ctx context.Context) error {
		for {
			e, err := q.kv.Get(ctx, key)
			var all []Attempt
			if err == nil {
				err = json.Unmarshal(e.Value(), &all)
			}
			if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
				return err
			}
			all = append(all, a)
			all = all[max(0, len(all)-MaxAttempts):]
			if e == nil {
				_, err = q.kv.Create(ctx, key, encode(all))
			} else {
				_, err = q.kv.Update(ctx, key, encode(all), e.Revision())
			}
			if !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
				return err
			}
		}
	})
}

// Isolate puts a job into quarantine after so many deliveries, with its log among the findings.
func (q *Queue) Isolate(ctx context.Context, id string, index uint64, deliveries int) error {
	x := Quarantine{Index: index, At: now(), Deliveries: deliveries}
	var err error
	if x.Attempts, err = q.Attempts(ctx, id, index); err != nil {
		return err
	}
	var log strings.Builder
	for _, a := range x.Attempts {
		fmt.Fprintf(&log, "%s %s %s, delivery %d\n%s\n", a.At.Format(time.RFC3339), a.Worker, a.What, a.Delivery, a.Log)
	}
	if err := q.Keep(ctx, id, fmt.Sprintf("quarantine/%d.log", index), []byte(log.String())); err != nil {
		return err
	}
	return q.put(ctx, fmt.Sprintf("%s.quarantine.%d", id, index), x)
}

// Quarantined are the jobs of a campaign in quarantine.
func (q *Queue) Quarantined(ctx context.Context, id string) (all []Quarantine, err error) {
	keys, err := q.keys(ctx, q.kv, id+".quarantine.*")
	for _, k := range keys {
		var x Quarantine
		found := false
		if err == nil {
			found, err = q.get(ctx, k, &x)
		}
		if found {
			all = append(all, x)
		}
	}
	return all, err
}

// release lets all jobs of a campaign out of quarantine, with no attempts held against them.
func (q *Queue) release(ctx context.Context, id string) error {
	err := q.removeKeys(ctx, q.kv, id+".attempts.*")
	if err == nil {
		err = q.removeKeys(ctx, q.kv, id+".quarantine.*")
	}
	return err
}
