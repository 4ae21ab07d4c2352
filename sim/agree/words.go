package agree

import (
	"cmp"
	"strconv"
	"time"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/sim/spec"
)

// What a configuration means where it says 0; SPEC PR-6.
const (
	defaultQueued = 65536
	defaultQueue  = time.Minute
)

var kinds = [...]spec.Kind{
	lifecycle.InOwnerBorn: spec.OwnerBorn, lifecycle.InOwnerDied: spec.OwnerDied, lifecycle.InDeclare: spec.Declare,
	lifecycle.InRelease: spec.Release, lifecycle.InDispatch: spec.Dispatch, lifecycle.InEnsure: spec.Ensure,
	lifecycle.InReconnect: spec.Reconnect, lifecycle.InCancel: spec.Cancel, lifecycle.InCallDone: spec.CallDone,
	lifecycle.InConnected: spec.Initialised, lifecycle.InConnectFailed: spec.ConnectFailed,
	lifecycle.InBroken: spec.SessionBroken, lifecycle.InExited: spec.Exited, lifecycle.InTimeReached: spec.TimeReached,
	lifecycle.InConfigure: spec.Configure, lifecycle.InDrain: spec.Drain, lifecycle.InStarted: spec.Started,
	lifecycle.InRelisted: spec.Relisted, lifecycle.InSpawned: spec.Spawned, lifecycle.InWriteOff: spec.WriteOff,
}

func input(in *lifecycle.Input) spec.Input {
	s := spec.Input{Kind: kinds[in.Kind], Ticket: uint64(in.Ticket), Owner: word(in.Owner), Name: word(in.Name),
		Peer: fingerprint(in.FP), Run: run(in.Peer, in.Gen), Tools: int(in.Tools), Transport: in.Done == lifecycle.DoneTransport, Clean: in.Clean}
	if in.Policy != nil {
		s.Policy = spec.Policy(*in.Policy)
	}
	if in.Config != nil {
		s.Config = config(in.Config)
	}
	return s
}

func (p *Pair) seen(out *lifecycle.Output) (s spec.Seen) {
	for i := range out.Effects {
		e := &out.Effects[i]
		fp := p.Word(e.Peer)
		if e.Kind == lifecycle.EffectDial || e.Kind == lifecycle.EffectForget {
			fp = fingerprint(e.FP)
		}
		s.Effects = append(s.Effects, spec.Effect{Kind: spec.EffectKind(e.Kind.String()), Peer: fp, Run: run(e.Peer, e.Gen),
			Stage: spec.Stage(e.Stage.String()), Reason: spec.Reason(e.Reason.String()), Ticket: uint64(e.Ticket)})
	}
	for i := range out.Events {
		e := &out.Events[i]
		s.Events = append(s.Events, spec.Event{Seq: e.Seq, At: spec.Time(e.At), Owner: word(e.Owner), Name: word(e.Name),
			Peer: p.Word(e.Peer), Status: spec.Status(e.State.String()), Reason: spec.Reason(e.Reason.String()),
			Tools: int(e.Tools), Replay: e.Replay})
	}
	for i := range out.Replies {
		r := &out.Replies[i]
		s.Replies = append(s.Replies, spec.Reply{Ticket: uint64(r.Ticket), Kind: spec.ReplyKind(r.Kind.String()),
			Status: spec.Status(r.State.String()), Reason: spec.Reason(r.Reason.String()), Cause: spec.Reason(r.Cause.String()),
			Run: run(r.Peer, r.Gen), Tools: int(r.Tools), RetryAt: spec.Time(r.RetryAt)})
	}
	return s
}

func standing(v *lifecycle.View) spec.Standing {
	s := spec.Standing{Status: spec.Status(v.State.String()), Phase: spec.Phase(v.Phase.String()), Stage: spec.Stage(v.Stage.String()),
		Reason: spec.Reason(v.Reason.String()), Tools: int(v.Tools), Claims: v.Claims, Waiters: v.Waiters, InFlight: v.InFlight,
		WrittenOff: v.WrittenOff, Queued: v.Queued, Policy: spec.Policy(v.Policy)}
	if v.Phase != lifecycle.Absent {
		s.Run = run(v.Peer, v.Gen)
	}
	return s
}

func config(c *lifecycle.Config) spec.Config {
	return spec.Config{IdleTimeout: c.IdleTimeout, FailedRetry: c.FailedRetry, StartTimeout: c.StartTimeout,
		ConnectTimeout: c.ConnectTimeout, CallTimeout: c.CallTimeout, CloseGrace: c.CloseGrace,
		TerminateGrace: c.TerminateGrace, KillGrace: c.KillGrace, DrainGrace: c.DrainGrace,
		MaxWaiters: c.MaxWaiters, MaxLive: c.MaxLive, MaxDialing: c.MaxDialing, MaxSpawning: c.MaxSpawning,
		MaxQueued: cmp.Or(c.MaxQueued, defaultQueued), QueueTimeout: cmp.Or(c.QueueTimeout, defaultQueue)}
}

func load(l *lifecycle.Load, s *lifecycle.Stats) spec.Load {
	return spec.Load{Live: l.Live, Dialing: l.Dialing, Spawning: l.Spawning, Stopping: l.Stopping, Stuck: l.Stuck, WrittenOff: l.WrittenOff,
		Queued: l.Queued, InFlight: l.InFlight, Overloaded: int(s.Overloaded), Unused: int(s.Reclaimed + s.Evicted)}
}

// run numbers incarnations, which are numbered by slot, through.
func run(p lifecycle.PeerID, g lifecycle.Generation) spec.Run { return spec.Run(p)<<32 | spec.Run(g) }

func word[T ~uint32](id T) string { return strconv.Itoa(int(id)) }

// short are the fingerprints of tests, which differ in their first byte, as words.
var short = func() (all [256]string) {
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}()

// fingerprint is a word for each.
func fingerprint(fp lifecycle.Fingerprint) string {
	if fp == (lifecycle.Fingerprint{fp[0]}) {
		return short[fp[0]]
	}
	return string(fp[:])
}
