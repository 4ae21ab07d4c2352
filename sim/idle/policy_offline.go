package idle

import "time"

// Offline is the clairvoyant: it keeps a peer if and only if its next call comes within B, and stops it at once
// otherwise. No policy that obeys causes pays less, Bélády's argument for one slot at a time. It is a bound to hold
// others against.
//
// With Prewarm it also starts a stopped peer again shortly before the call, so that nobody waits: a stronger bound
// on waiting, which pays for the time in between.
type Offline struct {
	B       time.Duration // 0 is the run's break-even, or what idle_timeout implies
	Prewarm bool
	Lead    time.Duration // by which a start comes before the call; 0 is twice the mean of the class
	Horizon time.Duration // how far ahead pre-warming looks; 0 is a day
}

// Name returns "clairvoyant" or "prewarm", and what is given.
func (p Offline) Name() string {
	name := "clairvoyant"
	if p.Prewarm {
		name = "prewarm"
	}
	return specOf(name, durationArg("b", p.B), durationArg("lead", p.Lead), durationArg("horizon", p.Horizon))
}

// Foresees makes Offline a policy that is told the future.
func (Offline) Foresees() {}

// Validate refuses what no times can be.
func (p Offline) Validate() error {
	return all(within("clairvoyant", "B", p.B, 0, maxTimeout), within("clairvoyant", "Lead", p.Lead, 0, maxTimeout),
		within("clairvoyant", "Horizon", p.Horizon, 0, maxTimeout))
}

// Start returns a keeper that asks for the next call at each idle period.
func (p Offline) Start(env Env) Keeper {
	mustBeValid(p)
	if p.Horizon == 0 {
		p.Horizon = 24 * time.Hour
	}
	return offline{Offline: p, b: breakEven(p.B, env), env: env}
}

type offline struct {
	deaf
	Offline
	b   time.Duration
	env Env
}

func (k offline) Idle(p Peer, now time.Duration) Decision {
	if k.b == 0 {
		return Decision{Rule: Forever}
	}
	ahead := k.b
	if k.Prewarm {
		ahead = max(ahead, k.Horizon)
	}
	at, ok := k.env.Next(p, now+ahead)
	switch {
	case ok && at-now < k.b: // a call that is late against the forecast does not find it kept for ever
		return Decision{Rule: At, Stop: at + k.b}
	case ok && k.Prewarm:
		return Decision{Rule: At, Stop: now, Wake: max(at-k.lead(p), now+1), Until: at + k.b}
	default:
		return Decision{Rule: At, Stop: now}
	}
}

func (k offline) lead(p Peer) time.Duration {
	if k.Lead > 0 {
		return k.Lead
	}
	return 2 * k.env.Classes[p.Class].Connect
}
