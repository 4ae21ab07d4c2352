package queue

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxResult bounds one result, before it is packed.
const MaxResult = 64 << 20

// Store keeps the result of a job, and says whether it is the first.
func (q *Queue) Store(ctx context.Context, id string, index uint64, result []byte) (first bool, err error) {
	n := strconv.FormatUint(index, 10)
	packed := pack(result)
	if most := q.conn.MaxPayload() - 1024; int64(len(packed)) > most { // there is a header
		return false, fmt.Errorf("%w: the result of job %d is %d bytes, packed, and the servers take %d; use smaller jobs, or raise their max_payload", ErrEngine, index, len(packed), most)
	}
	first = true
	err = q.call(ctx, "storing the result of job "+n, func(ctx context.Context) error {
		msg := nats.NewMsg(q.resultSubject(id, n))
		msg.Data = packed
		ack, err := q.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		if full(err) {
			first = false
			return nil
		}
		if err == nil && ack.Duplicate {
			first = false
		}
		return err
	})
	return first && err == nil, err
}

// Result is what a job came to, ErrMissing if it did not yet.
func (q *Queue) Result(ctx context.Context, id string, index uint64) (result []byte, err error) {
	n := strconv.FormatUint(index, 10)
	var missing bool
	err = q.call(ctx, "reading the result of job "+n, func(ctx context.Context) error {
		msg, err := q.results.GetLastMsgForSubject(ctx, q.resultSubject(id, n))
		if missing = errors.Is(err, jetstream.ErrMsgNotFound); missing {
			return nil
		}
		if err == nil {
			result, err = unpack(msg.Data)
		}
		return err
	})
	if err == nil && missing {
		err = fmt.Errorf("%w: job %d of %s", ErrMissing, index, id)
	}
	return result, err
}

// Arrivals calls arrived for each result that is there, in no order, then ready once, and then arrived for each
// further one, until the context ends. It may call arrived for one again.
func (q *Queue) Arrivals(ctx context.Context, id string, arrived func(index uint64), ready func()) error {
	var pending uint64
	var c jetstream.Consumer
	err := q.call(ctx, "watching results", func(ctx context.Context) (err error) {
		if c, err = q.results.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{q.resultSubject(id, "*")}, HeadersOnly: true}); err != nil {
			return err
		}
		info, err := c.Info(ctx)
		if err == nil {
			pending = info.NumPending
		}
		return err
	})
	if err != nil {
		return err
	}
	it, err := c.Messages()
	if err != nil {
		return q.explain("watching results", err)
	}
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()
	defer it.Stop()
	if pending == 0 {
		ready()
		ready = func() {}
	}
	for {
		msg, err := it.Next()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return q.explain("watching results", err)
		case err != nil:
			continue // the iterator makes the consumer again
		}
		if n, err := strconv.ParseUint(msg.Subject()[strings.LastIndex(msg.Subject(), ".")+1:], 10, 64); err == nil {
			arrived(n)
		}
		if meta, err := msg.Metadata(); err == nil && meta.NumPending == 0 {
			ready()
			ready = func() {}
		}
	}
}

// packers are writers to use again: each is large.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.DefaultCompression)
	if err != nil {
		panic("FLEET-2: the level of compression is none: " + err.Error())
	}
	return w
}}

// pack makes a result small: its lines are much alike.
func pack(b []byte) []byte {
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		panic("FLEET-2: memory does not take what is packed: " + err.Error())
	}
	return out.Bytes()
}

func unpack(b []byte) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), MaxResult+1))
	if err == nil && len(out) > MaxResult {
		err = fmt.Errorf("it has more than %d bytes (MaxResult)", MaxResult)
	}
	if err != nil {
		return nil, fmt.Errorf("a result that was stored cannot be unpacked: %w", err)
	}
	return out, nil
}
