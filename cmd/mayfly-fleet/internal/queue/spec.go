package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MaxSpec bounds the description of a campaign, with the files in it.
const MaxSpec = 768 << 10

// Spec is what a campaign is. It never changes.
type Spec struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Build string   `json:"build"`
	Args  []string `json:"args"`
	Files []File   `json:"files,omitempty"` // that the arguments name
	Jobs  uint64   `json:"jobs"`
}

// File is one that travels with a campaign.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

var campaignNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// hash is the name of a campaign that was given none: what it is, so that who asks for the same joins it.
func (s Spec) hash() string {
	s.ID = ""
	sum := sha256.Sum256(encode(s))
	return s.Kind + "-" + hex.EncodeToString(sum[:6])
}

// differences says in what a campaign is not another one of the same name.
func (s *Spec) differences(want *Spec) string {
	var all []string
	differ := func(what, is, should string) {
		if is != should {
			all = append(all, fmt.Sprintf("its %s is %q, not %q", what, is, should))
		}
	}
	differ("kind", s.Kind, want.Kind)
	differ("build", s.Build, want.Build)
	differ("command line", strings.Join(s.Args, " "), strings.Join(want.Args, " "))
	if !slices.Equal(s.Files, want.Files) {
		all = append(all, "its files have other contents")
	}
	return strings.Join(all, ", ")
}

// The states of a campaign.
const (
	Running   = "running"
	Paused    = "paused"    // no worker takes jobs of it
	Cancelled = "cancelled" // jobs under way end; those that wait are gone, results stay
	Finished  = "done"      // all results are there and summed up
)

// State is what a campaign is told to do. Epoch rises when jobs may have to be queued a second time.
type State struct {
	State string `json:"state"`
	Epoch uint64 `json:"epoch"`
}

// Round names the epoch for Offer.
func (s State) Round() string { return strconv.FormatUint(s.Epoch, 10) }

// Create makes a campaign, or joins the one of this name, and sees to it that it runs: one that was
// cancelled starts again, one that was paused stays so. An empty ID becomes the hash of the rest.
func (q *Queue) Create(ctx context.Context, s Spec) (Spec, State, error) {
	s.ID = or(s.ID, s.hash())
	if !campaignNames.MatchString(s.ID) {
		return s, State{}, fmt.Errorf("%w: the name %q does not do; use 1 to 40 letters, digits, _ and -", ErrUsage, s.ID)
	}
	text := encode(s)
	if len(text) > MaxSpec {
		return s, State{}, fmt.Errorf("%w: the campaign's description, with its files, is %d bytes; use %d at the most (MaxSpec)", ErrUsage, len(text), MaxSpec)
	}
	err := q.call(ctx, "storing the campaign", func(ctx context.Context) error {
		_, err := q.kv.Create(ctx, s.ID+".spec", text)
		return err
	})
	if errors.Is(err, jetstream.ErrKeyExists) {
		is, err := q.Spec(ctx, s.ID)
		if err != nil {
			return s, State{}, err
		}
		if d := is.differences(&s); d != "" {
			return s, State{}, fmt.Errorf("%w: a campaign %s exists, and %s; use another -name, or remove it with \"cancel -remove\"", ErrOther, s.ID, d)
		}
	} else if err != nil {
		return s, State{}, err
	}
	st, err := q.start(ctx, s.ID)
	if err == nil {
		err = q.consumers.make(ctx, q, s.ID)
	}
	return s, st, err
}

// start makes a campaign run that is new or was cancelled.
func (q *Queue) start(ctx context.Context, id string) (State, error) {
	return q.change(ctx, id, func(s State) State {
		switch s.State {
		case "":
			return State{Running, 1}
		case Cancelled:
			return State{Running, s.Epoch + 1}
		}
		return s
	})
}

// Spec is the description of a campaign.
func (q *Queue) Spec(ctx context.Context, id string) (s Spec, err error) {
	found, err := q.get(ctx, id+".spec", &s)
	if err == nil && !found {
		err = fmt.Errorf("%w: %q is none of the campaigns with the prefix %s at %s; \"mayfly-fleet status\" lists them", ErrUnknown, id, q.cfg.Prefix, q.shown)
	}
	return s, err
}

// State is what a campaign is told to do.
func (q *Queue) State(ctx context.Context, id string) (s State, err error) {
	_, err = q.get(ctx, id+".state", &s)
	return s, err
}

// change replaces the state of a campaign by what f makes of it, whoever else does so at the same time.
func (q *Queue) change(ctx context.Context, id string, f func(State) State) (next State, err error) {
	key := id + ".state"
	err = q.call(ctx, "changing the campaign's state", func(ctx context.Context) error {
		for {
			var is State
			e, err := q.kv.Get(ctx, key)
			switch {
			case errors.Is(err, jetstream.ErrKeyNotFound):
			case err != nil:
				return err
			default:
				if err := json.Unmarshal(e.Value(), &is); err != nil {
					return fmt.Errorf("the state of %s cannot be read: %w", id, err)
				}
			}
			if next = f(is); next == is {
				return nil
			}
			if e == nil {
				_, err = q.kv.Create(ctx, key, encode(next))
			} else {
				_, err = q.kv.Update(ctx, key, encode(next), e.Revision())
			}
			if !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
				return err
			}
		}
	})
	return next, err
}

// Pause keeps workers from taking further jobs.
func (q *Queue) Pause(ctx context.Context, id string) (State, error) {
	return q.change(ctx, id, func(s State) State {
		if s.State == Running {
			s.State = Paused
		}
		return s
	})
}

// Resume takes a pause, and the quarantine of jobs, back.
func (q *Queue) Resume(ctx context.Context, id string) (State, error) {
	if err := q.release(ctx, id); err != nil {
		return State{}, err
	}
	return q.change(ctx, id, func(s State) State {
		if s.State != Finished {
			s.State, s.Epoch = Running, s.Epoch+1
		}
		return s
	})
}

// Finish says that a campaign is done.
func (q *Queue) Finish(ctx context.Context, id string) error {
	_, err := q.change(ctx, id, func(s State) State { s.State = Finished; return s })
	return err
}

// Cancel ends a campaign before its end. Its results stay.
func (q *Queue) Cancel(ctx context.Context, id string) (State, error) {
	st, err := q.change(ctx, id, func(s State) State {
		if s.State != Finished {
			s.State = Cancelled
		}
		return s
	})
	if err != nil {
		return st, err
	}
	return st, q.call(ctx, "dropping the campaign's jobs", func(ctx context.Context) error {
		return q.jobs.Purge(ctx, jetstream.WithPurgeSubject(q.jobSubject(id, "*")))
	})
}

// Remove forgets a campaign and all that it came to.
func (q *Queue) Remove(ctx context.Context, id string) error {
	if _, err := q.Cancel(ctx, id); err != nil {
		return err
	}
	err := q.call(ctx, "removing the campaign", func(ctx context.Context) error {
		if err := q.results.Purge(ctx, jetstream.WithPurgeSubject(q.resultSubject(id, "*"))); err != nil {
			return err
		}
		err := q.jobs.DeleteConsumer(ctx, id)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			err = nil
		}
		return err
	})
	if err == nil {
		err = q.removeFindings(ctx, id)
	}
	for _, kv := range []jetstream.KeyValue{q.share, q.kv} {
		if err == nil {
			err = q.removeKeys(ctx, kv, id+".>")
		}
	}
	return err
}

func (q *Queue) removeKeys(ctx context.Context, kv jetstream.KeyValue, filter string) error {
	keys, err := q.keys(ctx, kv, filter)
	for _, k := range keys {
		if err == nil {
			err = q.call(ctx, "removing "+k, func(ctx context.Context) error { return kv.Purge(ctx, k) })
		}
	}
	return err
}

// keys lists the keys of a bucket, sorted.
func (q *Queue) keys(ctx context.Context, kv jetstream.KeyValue, filter string) (keys []string, err error) {
	err = q.callFor(ctx, longTimeout, "listing "+filter, func(ctx context.Context) error {
		keys = nil
		l, err := kv.ListKeysFiltered(ctx, filter)
		if err != nil {
			return err
		}
		for k := range l.Keys() {
			keys = append(keys, k)
		}
		_ = l.Stop() // it has ended by itself
		return nil
	})
	slices.Sort(keys)
	return slices.Compact(keys), err
}

// get reads a value of the bucket of campaigns, and says whether there is one.
func (q *Queue) get(ctx context.Context, key string, into any) (found bool, err error) {
	err = q.call(ctx, "reading "+key, func(ctx context.Context) error {
		e, err := q.kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
			return nil
		}
		if err != nil {
			return err
		}
		found = true
		return json.Unmarshal(e.Value(), into)
	})
	return found, err
}

func (q *Queue) put(ctx context.Context, key string, v any) error {
	return q.call(ctx, "storing "+key, func(ctx context.Context) error {
		_, err := q.kv.Put(ctx, key, encode(v))
		return err
	})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("FLEET-1: plain data does not encode: " + err.Error())
	}
	return b
}

// now is the time that is written into what people look at.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
