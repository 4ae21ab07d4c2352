package idle

import (
	"fmt"
	"time"
)

// RetryBackoff has failed peers tried again by themselves, where the RFC leaves them alone for idle_timeout: after a
// time drawn from [0, min(Cap, Base × 2^(failures-1))), exponential backoff with full jitter (Brooker, Exponential
// Backoff And Jitter, AWS Architecture Blog, 2015). It adds to another policy, which says when peers go. Make one with
// [DefaultRetry].
type RetryBackoff struct {
	Policy   Policy // nil is RFC{}
	Base     time.Duration
	Cap      time.Duration
	Attempts int // failures in a row after which the peer is left to age, as the RFC has it
}

// DefaultRetry returns a second, five minutes, and a hundred attempts, which take eight hours on average.
func DefaultRetry() RetryBackoff {
	return RetryBackoff{Base: time.Second, Cap: 5 * time.Minute, Attempts: 100}
}

// Name returns "retry" and whatever is not the default, behind the name of the policy that it adds to.
func (p RetryBackoff) Name() string {
	d := DefaultRetry()
	return joined(p.Policy, specOf("retry", changed(p.Base != d.Base, durationArg("base", p.Base)),
		changed(p.Cap != d.Cap, durationArg("cap", p.Cap)), changed(p.Attempts != d.Attempts, fmt.Sprintf("attempts=%d", p.Attempts))))
}

// Validate refuses a backoff that would not back off.
func (p RetryBackoff) Validate() error {
	return all(within("retry", "Base", p.Base, time.Millisecond, maxTimeout), within("retry", "Cap", p.Cap, max(p.Base, time.Millisecond), maxTimeout),
		share("retry", "Attempts", float64(p.Attempts), 1, 1e6), canWrap("retry", p.Policy))
}

// Start returns the other policy's keeper, which also retries.
func (p RetryBackoff) Start(env Env) Keeper {
	mustBeValid(p)
	inner := orRFC(p.Policy).Start(env)
	k := &retrier{Keeper: inner, RetryBackoff: p, seed: env.Seed}
	victims, chooses := inner.(Victims)
	watching, watches := inner.(Watching)
	switch { // what the other can do must stay visible
	case chooses && watches:
		return struct {
			*retrier
			Victims
			Watching
		}{k, victims, watching}
	case chooses:
		return struct {
			*retrier
			Victims
		}{k, victims}
	case watches:
		return struct {
			*retrier
			Watching
		}{k, watching}
	default:
		return k
	}
}

type retrier struct {
	Keeper
	RetryBackoff
	seed uint64
}

// Retry draws when.
func (k *retrier) Retry(p Peer, now time.Duration, failures int) (time.Duration, bool) {
	if failures > k.Attempts {
		return 0, false
	}
	most := k.Base
	for i := 1; i < failures && most < k.Cap; i++ {
		most *= 2
	}
	u := uniform(k.seed, saltRetry, p.Key, uint64(now))
	return now + time.Duration(float64(min(most, k.Cap))*u), true
}
