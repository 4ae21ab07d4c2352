package queue

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Replica says how a stream is kept.
type Replica struct {
	Stream string   `json:"stream"`
	Leader string   `json:"leader"` // name of a server; "" where there is no cluster, or no leader
	Behind []string `json:"behind"` // servers that are away, or have not got all of it
	Bytes  uint64   `json:"bytes"`
	Msgs   uint64   `json:"msgs"`
}

// Replicas says how all streams are kept, the jobs and the results first.
func (q *Queue) Replicas(ctx context.Context) (all []Replica, err error) {
	for _, name := range []string{"%s_JOBS", "%s_RESULTS", "KV_%s_campaigns", "KV_%s_workers", "KV_%s_share", "OBJ_%s_findings"} {
		r := Replica{Stream: fmt.Sprintf(name, q.cfg.Prefix), Behind: []string{}}
		err := q.call(ctx, "asking about replicas", func(ctx context.Context) error {
			s, err := q.js.Stream(ctx, r.Stream)
			if err == nil {
				r.read(s.CachedInfo())
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (r *Replica) read(info *jetstream.StreamInfo) {
	r.Bytes, r.Msgs, r.Behind = info.State.Bytes, info.State.Msgs, []string{}
	if info.Cluster == nil {
		return
	}
	r.Leader = info.Cluster.Leader
	for _, p := range info.Cluster.Replicas {
		if p.Offline || !p.Current || p.Lag > 0 {
			r.Behind = append(r.Behind, p.Name)
		}
	}
}
