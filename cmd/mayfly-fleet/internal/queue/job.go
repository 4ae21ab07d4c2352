package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func (q *Queue) jobSubject(id, index string) string { return q.cfg.Prefix + ".job." + id + "." + index }

func (q *Queue) resultSubject(id, index string) string {
	return q.cfg.Prefix + ".result." + id + "." + index
}

// Offer queues a job, unless it is queued or taken. In one round a job is offered once: another coordinator's
// offer of a job that was done meanwhile has no effect. The round is the campaign's epoch, and whatever else
// makes it another one.
func (q *Queue) Offer(ctx context.Context, id string, index uint64, round string) error {
	n := strconv.FormatUint(index, 10)
	return q.call(ctx, "queueing job "+n, func(ctx context.Context) error {
		_, err := q.js.PublishMsg(ctx, nats.NewMsg(q.jobSubject(id, n)), jetstream.WithMsgID(fmt.Sprintf("%s/%s/%s", id, round, n)), jetstream.WithRetryAttempts(0))
		if full(err) {
			return nil
		}
		return err
	})
}

// Queued is how many jobs of a campaign are queued or taken.
func (q *Queue) Queued(ctx context.Context, id string) (n int, err error) {
	err = q.call(ctx, "counting jobs", func(ctx context.Context) error {
		info, err := q.jobs.Info(ctx, jetstream.WithSubjectFilter(q.jobSubject(id, "*")))
		if err == nil {
			n = len(info.State.Subjects)
		}
		return err
	})
	return n, err
}

// Deliveries is how often jobs of a campaign were handed out, those that came again with the others.
func (q *Queue) Deliveries(ctx context.Context, id string) (n uint64, err error) {
	err = q.call(ctx, "counting deliveries", func(ctx context.Context) error {
		c, err := q.jobs.Consumer(ctx, id)
		if err == nil {
			n = c.CachedInfo().Delivered.Consumer
		}
		return err
	})
	return n, err
}

// consumers are those of the campaigns, by name.
type consumers struct {
	mu  sync.Mutex
	all map[string]jetstream.Consumer
}

// make makes the consumer of a campaign.
func (c *consumers) make(ctx context.Context, q *Queue, id string) error {
	return q.call(ctx, "making the campaign's consumer", func(ctx context.Context) error {
		_, err := q.jobs.Consumer(ctx, id)
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
		_, err = q.jobs.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: id, FilterSubject: q.jobSubject(id, "*"), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: q.cfg.AckWait, MaxDeliver: -1, MaxAckPending: MaxPending, MaxWaiting: MaxWaiting, Replicas: q.cfg.Replicas})
		if errors.Is(err, jetstream.ErrConsumerExists) {
			return nil
		}
		return err
	})
}

// get is the consumer of a campaign, nil if there is none.
func (c *consumers) get(ctx context.Context, q *Queue, id string) (jetstream.Consumer, error) {
	c.mu.Lock()
	found := c.all[id]
	c.mu.Unlock()
	if found != nil {
		return found, nil
	}
	found, err := q.jobs.Consumer(ctx, id)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]jetstream.Consumer{}
	}
	c.all[id] = found
	return found, nil
}

func (c *consumers) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, id)
}

// Job is one that was taken.
type Job struct {
	Campaign   string
	Index      uint64
	Deliveries int           // how often it was handed out, with this time
	AckWait    time.Duration // how long to be silent about it at the most

	q   *Queue
	msg jetstream.Msg
}

// Take waits for a job of a campaign, and returns nil if there is none in this time. It waits for all of the
// time also when the context ends: a job that is on its way then would be lost to all others for the ack wait.
func (q *Queue) Take(ctx context.Context, id string, wait time.Duration) (*Job, error) {
	c, err := q.consumers.get(ctx, q, id)
	if err != nil || c == nil {
		return nil, q.patient(err)
	}
	batch, err := c.Fetch(1, jetstream.FetchMaxWait(wait))
	if err != nil {
		return nil, q.patient(err)
	}
	for msg := range batch.Messages() {
		return q.job(id, msg, c.CachedInfo().Config.AckWait)
	}
	if err := batch.Error(); err != nil && ctx.Err() == nil {
		q.consumers.forget(id) // it may have been removed, and made again
		return nil, q.patient(err)
	}
	return nil, nil
}

// patient leaves out what passes: who waits for jobs waits again.
func (q *Queue) patient(err error) error {
	if err == nil || passing(err) || errors.Is(err, context.Canceled) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, jetstream.ErrNoHeartbeat) ||
		errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		return nil
	}
	return q.explain("waiting for a job", err)
}

func (q *Queue) job(id string, msg jetstream.Msg, wait time.Duration) (*Job, error) {
	meta, err := msg.Metadata()
	text := msg.Subject()[strings.LastIndex(msg.Subject(), ".")+1:]
	index, bad := strconv.ParseUint(text, 10, 64)
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("%w: the message on %s is no job: %w", ErrEngine, msg.Subject(), errors.Join(err, msg.Term()))
	}
	return &Job{Campaign: id, Index: index, Deliveries: int(meta.NumDelivered), AckWait: wait, q: q, msg: msg}, nil
}

// Beat says that the job is under way. An error is no reason to stop.
func (j *Job) Beat() error { return j.msg.InProgress() }

// Done says that its result is stored; the job never comes back.
func (j *Job) Done(ctx context.Context) error {
	return j.q.call(ctx, "acknowledging a job", func(ctx context.Context) error {
		err := j.msg.DoubleAck(ctx)
		if errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			return nil
		}
		return err
	})
}

// Again hands it back, to be handed out after some time.
func (j *Job) Again(after time.Duration) error { return j.msg.NakWithDelay(after) }
