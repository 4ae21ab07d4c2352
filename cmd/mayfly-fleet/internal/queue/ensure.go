package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	workerTTL   = 30 * time.Second // a worker says every few seconds that it lives
	maxKeyValue = 1 << 20
)

// ensure makes the streams and buckets that are not there, and leaves those that are as they are.
func (q *Queue) ensure(ctx context.Context) error {
	err := q.call(ctx, "looking for JetStream", func(ctx context.Context) error {
		_, err := q.js.AccountInfo(ctx)
		if errors.Is(err, nats.ErrNoResponders) {
			return jetstream.ErrJetStreamNotEnabled
		}
		return err
	})
	if err != nil {
		return err
	}
	switch cluster := q.conn.ConnectedClusterName() != ""; {
	case q.cfg.Replicas == 0 && cluster:
		q.cfg.Replicas = 3
	case q.cfg.Replicas == 0:
		q.cfg.Replicas = 1
	case q.cfg.Replicas > 1 && !cluster:
		return fmt.Errorf("%w: %d replicas want a cluster, and the server stands alone; use 1, or name servers of a cluster", ErrConfig, q.cfg.Replicas)
	}
	steps := []struct {
		what string
		make func(ctx context.Context) error
	}{
		{"making the stream of jobs", func(ctx context.Context) (err error) { q.jobs, err = q.stream(ctx, q.jobsConfig()); return err }},
		{"making the stream of results", func(ctx context.Context) (err error) { q.results, err = q.stream(ctx, q.resultsConfig()); return err }},
		{"making the bucket of campaigns", func(ctx context.Context) (err error) { q.kv, err = q.exact(ctx, "campaigns"); return err }},
		{"making the bucket of workers", func(ctx context.Context) (err error) {
			q.workers, err = q.bucket(ctx, "workers", workerTTL)
			return err
		}},
		{"making the bucket of what jobs share", func(ctx context.Context) (err error) { q.share, err = q.bucket(ctx, "share", 0); return err }},
		{"making the store of findings", func(ctx context.Context) (err error) { q.objects, err = q.store(ctx, "findings"); return err }},
	}
	for _, s := range steps {
		if err := q.call(ctx, s.what, s.make); err != nil {
			return err
		}
	}
	return nil
}

// jobsConfig: a job is one message until it is done, and a second one for it is refused.
func (q *Queue) jobsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: q.cfg.Prefix + "_JOBS", Subjects: []string{q.cfg.Prefix + ".job.*.*"}, Description: "jobs of mayfly campaigns that are not done",
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: q.cfg.Replicas,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, Duplicates: duplicates}
}

// resultsConfig: the first result of a job stays.
func (q *Queue) resultsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: q.cfg.Prefix + "_RESULTS", Subjects: []string{q.cfg.Prefix + ".result.*.*"}, Description: "results of mayfly campaigns, until they are removed",
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: q.cfg.Replicas,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, Duplicates: duplicates}
}

// stream looks for a stream before it makes one: two that start together make one, and the settings of
// whoever runs the servers stay.
func (q *Queue) stream(ctx context.Context, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, cfg.Name)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	s, err = q.js.CreateStream(ctx, cfg)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return q.js.Stream(ctx, cfg.Name)
	}
	return s, err
}

func (q *Queue) bucket(ctx context.Context, name string, ttl time.Duration) (jetstream.KeyValue, error) {
	name = q.cfg.Prefix + "_" + name
	kv, err := q.js.KeyValue(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return kv, err
	}
	kv, err = q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name, TTL: ttl, Replicas: q.cfg.Replicas, MaxValueSize: maxKeyValue, Storage: jetstream.FileStorage})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.js.KeyValue(ctx, name)
	}
	return kv, err
}

// exact is a bucket of which only the leader is asked. Of a usual one any replica is, and one that lags behind, as a
// server does whose disk is full, would tell a worker that a campaign is in the state that it has just left.
func (q *Queue) exact(ctx context.Context, name string) (jetstream.KeyValue, error) {
	bucket := q.cfg.Prefix + "_" + name
	_, err := q.stream(ctx, jetstream.StreamConfig{Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1, MaxMsgSize: maxKeyValue,
		Storage: jetstream.FileStorage, Replicas: q.cfg.Replicas, Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, Duplicates: duplicates})
	if err != nil {
		return nil, err
	}
	return q.js.KeyValue(ctx, bucket)
}

func (q *Queue) store(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	name = q.cfg.Prefix + "_" + name
	s, err := q.js.ObjectStore(ctx, name)
	if !errors.Is(err, jetstream.ErrBucketNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return s, err
	}
	s, err = q.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name, Replicas: q.cfg.Replicas, Storage: jetstream.FileStorage})
	if errors.Is(err, jetstream.ErrBucketExists) {
		return q.js.ObjectStore(ctx, name)
	}
	return s, err
}
