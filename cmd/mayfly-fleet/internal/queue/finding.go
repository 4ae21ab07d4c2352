package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Keep stores a file among a campaign's findings. The same again changes nothing.
func (q *Queue) Keep(ctx context.Context, id, name string, text []byte) error {
	object := id + "/" + name
	return q.callFor(ctx, longTimeout, "storing "+object, func(ctx context.Context) error { return q.putObject(ctx, object, text) })
}

const objectChunk = 128 << 10

// putObject stores an object as the library's Put does, but waits for each message: Put leaves a goroutine
// behind for ever when it is done before that goroutine has begun. No message waits for long: a leader that died does
// not answer, the next one does.
func (q *Queue) putObject(ctx context.Context, name string, text []byte) error {
	bucket := q.cfg.Prefix + "_findings"
	old, err := q.objectInfo(ctx, name)
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(text)
	info := jetstream.ObjectInfo{Bucket: bucket, NUID: rand.Text(), Size: uint64(len(text)), Digest: jetstream.GetObjectDigestValue(h),
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: objectChunk}}}
	if old != nil && old.Digest == info.Digest && old.Size == info.Size {
		return nil
	}
	for chunk := range slices.Chunk(text, objectChunk) {
		if err := q.putPart(ctx, &nats.Msg{Subject: "$O." + bucket + ".C." + info.NUID, Data: chunk}); err != nil {
			return err // chunks that nobody knows of are harmless
		}
		info.Chunks++
	}
	m := nats.NewMsg("$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	m.Data = encode(info)
	if err := q.putPart(ctx, m); err != nil || old == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := q.js.Stream(ctx, "OBJ_"+bucket)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSubject("$O."+bucket+".C."+old.NUID))
	}
	return err
}

// objectInfo describes an object, nil if there is none.
func (q *Queue) objectInfo(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	info, err := q.objects.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, nil
	}
	return info, err
}

// putPart stores one message of an object.
func (q *Queue) putPart(ctx context.Context, m *nats.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := q.js.PublishMsg(ctx, m)
	return err
}

// Findings are the names of a campaign's findings, sorted.
func (q *Queue) Findings(ctx context.Context, id string) (names []string, err error) {
	err = q.callFor(ctx, longTimeout, "listing findings", func(ctx context.Context) error {
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
	err = q.callFor(ctx, longTimeout, "reading "+name, func(ctx context.Context) (err error) {
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
