package queue

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Keep stores a file among a campaign's findings. The same again changes nothing.
func (q *Queue) Keep(ctx context.Context, id, name string, text []byte) error {
	object := id + "/" + name
	return q.call(ctx, "storing "+object, func(ctx context.Context) error {
		if is, err := q.objects.GetBytes(ctx, object); err == nil && bytes.Equal(is, text) {
			return nil
		}
		_, err := q.objects.PutBytes(ctx, object, text)
		return err
	})
}

// Findings are the names of a campaign's findings, sorted.
func (q *Queue) Findings(ctx context.Context, id string) (names []string, err error) {
	err = q.call(ctx, "listing findings", func(ctx context.Context) error {
		names = nil
		all, err := q.objects.List(ctx)
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			return nil
		}
		for _, o := range all {
			if name, ours := strings.CutPrefix(o.Name, id+"/"); ours {
				names = append(names, name)
			}
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Finding is the text of one.
func (q *Queue) Finding(ctx context.Context, id, name string) (text []byte, err error) {
	err = q.call(ctx, "reading "+name, func(ctx context.Context) (err error) {
		text, err = q.objects.GetBytes(ctx, id+"/"+name)
		return err
	})
	return text, err
}

func (q *Queue) removeFindings(ctx context.Context, id string) error {
	names, err := q.Findings(ctx, id)
	for _, n := range names {
		if err == nil {
			err = q.call(ctx, "removing "+n, func(ctx context.Context) error { return q.objects.Delete(ctx, id+"/"+n) })
		}
	}
	return err
}

// Share is what the jobs of one campaign tell each other.
type Share struct {
	q  *Queue
	id string
}

// Share is that of a campaign.
func (q *Queue) Share(id string) *Share { return &Share{q, id} }

// Put stores a value, for all. The last one stays.
func (s *Share) Put(ctx context.Context, key string, value []byte) error {
	return s.q.call(ctx, "sharing "+key, func(ctx context.Context) error {
		_, err := s.q.share.Put(ctx, s.id+"."+key, value)
		return err
	})
}

// Add stores a value unless there is one of this key, and says whether there was none.
func (s *Share) Add(ctx context.Context, key string, value []byte) (first bool, err error) {
	first = true
	err = s.q.call(ctx, "sharing "+key, func(ctx context.Context) error {
		_, err := s.q.share.Create(ctx, s.id+"."+key, value)
		if errors.Is(err, jetstream.ErrKeyExists) {
			first = false
			return nil
		}
		return err
	})
	return first && err == nil, err
}

// Keys are all keys, sorted.
func (s *Share) Keys(ctx context.Context) ([]string, error) {
	keys, err := s.q.keys(ctx, s.q.share, s.id+".>")
	for i, k := range keys {
		keys[i] = strings.TrimPrefix(k, s.id+".")
	}
	return keys, err
}

// Get is the value of a key, nil if there is none.
func (s *Share) Get(ctx context.Context, key string) (value []byte, err error) {
	err = s.q.call(ctx, "reading "+key, func(ctx context.Context) error {
		e, err := s.q.share.Get(ctx, s.id+"."+key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			value = e.Value()
		}
		return err
	})
	return value, err
}
