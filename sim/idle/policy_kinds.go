package idle

import (
	"time"

	"github.com/mayfly-mcp/mayfly/sim/idle/oracle"
)

// policyKind is how a kind is made of its parameters.
type policyKind struct {
	PolicyKind
	params []string // nil: any name
	build  func(a *policyArgs, d *policyDraft)
}

// policyKinds are in the order in which they are listed. It is a function because what it lists refers to it.
func policyKinds() []policyKind { return append(basePolicies(), additions()...) }

func basePolicies() []policyKind {
	return []policyKind{
		{PolicyKind{"rfc", "rfc:t=30m", "the RFC's: unused for T, stopped at the next tick of T/4; t sets the machine's T", false}, []string{"t"}, buildRFC},
		{PolicyKind{"exact", "exact:t=30m", "stopped at T exactly, without ticks; T is the machine's if not given", false}, []string{"t"},
			func(a *policyArgs, d *policyDraft) { d.base = Exact{T: a.duration("t", 0)} }},
		{PolicyKind{"at-once", "at-once", "stopped as soon as unused", false}, []string{}, func(_ *policyArgs, d *policyDraft) { d.base = AtOnce{} }},
		{PolicyKind{"keep", "keep", "never stopped for want of use", false}, []string{}, func(_ *policyArgs, d *policyDraft) { d.base = Keep{} }},
		{PolicyKind{"minimax", "minimax:b=30m", "the T that guarantees most against any traffic, 0.8 B with ticks; wait=W gives each class B = W × its start", false},
			[]string{"b", "wait"}, func(a *policyArgs, d *policyDraft) {
				d.base = Minimax{B: a.duration("b", 0), Wait: a.number("wait", 0)}
			}},
		{PolicyKind{"random", "random:b=30m", "a timeout drawn for each idle period, by the density that guarantees 1.582", false}, []string{"b"},
			func(a *policyArgs, d *policyDraft) { d.base = Randomised{B: a.duration("b", 0)} }},
		{PolicyKind{"per-class", "per-class:npx=2h,native=1m", "a timeout per class of servers, or keep; per-second=720 is that many times what a start takes for the rest", false},
			nil, buildPerClass},
		{PolicyKind{"tiers", "tiers:hot=5m,warm=3m,cold=1m,hot-rate=20,warm-rate=5,weight=0.3,rate=ema", "longer for peers that are called often, by a moving average; rate=life averages since the first call", false},
			[]string{"hot", "warm", "cold", "hot-rate", "warm-rate", "weight", "rate"}, buildTiers},
		{PolicyKind{"hybrid", "hybrid:bin=1m,range=4h,head=0.05,tail=0.99,margin=0.1,cv=2,beyond=0.5,weight=0.3,around=0.15", "a histogram of idle times per peer: stopped at once, started before its head, kept to its tail", false},
			[]string{"bin", "range", "head", "tail", "margin", "cv", "beyond", "weight", "around"}, buildHybrid},
		{PolicyKind{"hazard", "hazard:b=30m,learn=50,pool=class", "kept while the chance of a call in the next second is above 1/B, learnt per class; pool=all learns one law", false},
			[]string{"b", "learn", "pool"}, buildHazard},
		{PolicyKind{"known", "known:law=lomax,scale=10m,alpha=1.5,b=30m", "the same, told the law: exp (mean), hyper (mean, cv2), pareto (scale, alpha), lomax (scale, alpha)", false},
			[]string{"law", "mean", "cv2", "scale", "alpha", "b"}, buildKnown},
		{PolicyKind{"sweep", "sweep:t=30m", "unused for T, stopped when anybody calls anything: the RFC's rejected alternative", false}, []string{"t"},
			func(a *policyArgs, d *policyDraft) { d.base = SweepOnDispatch{T: a.duration("t", 0)} }},
		{PolicyKind{"clairvoyant", "clairvoyant:b=30m", "knows the next call and keeps if it comes within B: a bound, not a proposal", false}, []string{"b"},
			func(a *policyArgs, d *policyDraft) { d.base = Offline{B: a.duration("b", 0)} }},
		{PolicyKind{"prewarm", "prewarm:b=30m,lead=30s,horizon=24h", "the clairvoyant who also starts peers before their call", false}, []string{"b", "lead", "horizon"},
			func(a *policyArgs, d *policyDraft) {
				d.base = Offline{B: a.duration("b", 0), Prewarm: true, Lead: a.duration("lead", 0), Horizon: a.duration("horizon", 0)}
			}},
	}
}

func additions() []policyKind {
	return []policyKind{
		{PolicyKind{"greedy-dual", "greedy-dual:max=200", "at a cap the peer goes that is cheapest to start again for its size and use", true}, []string{"max"},
			func(a *policyArgs, d *policyDraft) {
				d.greedy = true
				d.cap("greedy-dual", a.whole("max", 0))
			}},
		{PolicyKind{"lru", "lru:max=200", "at a cap the peer goes that was unused for longest: the machine's own choice, of which only the cap is set", true}, []string{"max"},
			func(a *policyArgs, d *policyDraft) { d.cap("lru", a.whole("max", 0)) }},
		{PolicyKind{"retry", "retry:base=1s,cap=5m,attempts=100", "failed peers are tried again by themselves, with exponential backoff and full jitter", true}, []string{"base", "cap", "attempts"},
			func(a *policyArgs, d *policyDraft) {
				r := DefaultRetry()
				r.Base, r.Cap, r.Attempts = a.duration("base", r.Base), a.duration("cap", r.Cap), a.whole("attempts", r.Attempts)
				d.retry = &r
			}},
		{PolicyKind{"failed-retry", "failed-retry:t=1m", "failed peers may be called again after so long, instead of T", true}, []string{"t"},
			func(a *policyArgs, d *policyDraft) { d.retryFailed(a.needed("t")) }},
		{PolicyKind{"agents", "agents:times=5m/1h,wins=longest", "each tenant's claims ask for a timeout of their own; on a shared peer the longest or the shortest wins", true}, []string{"times", "wins"},
			func(a *policyArgs, d *policyDraft) {
				d.agents(a.durations("times"), a.word("wins", "longest", "shortest") == "shortest")
			}},
	}
}

func buildRFC(a *policyArgs, d *policyDraft) {
	d.base = RFC{}
	if t := a.duration("t", 0); t > 0 {
		d.change(func(c *Config) error {
			c.Machine.IdleTimeout = t
			return nil
		})
	}
}

func buildPerClass(a *policyArgs, d *policyDraft) {
	p := PerClass{Times: map[string]time.Duration{}}
	for _, class := range a.keys {
		switch {
		case class == "per-second":
			p.PerSecond = a.number(class, 0)
		case a.given[class] == "keep":
			p.Times[class] = 0
		default:
			p.Times[class] = a.duration(class, 0)
		}
	}
	d.base = p
	d.change(p.check)
}

func buildTiers(a *policyArgs, d *policyDraft) {
	p := DefaultTiers()
	p.Hot, p.Warm, p.Cold = a.duration("hot", p.Hot), a.duration("warm", p.Warm), a.duration("cold", p.Cold)
	p.HotRate, p.WarmRate, p.Weight = a.number("hot-rate", p.HotRate), a.number("warm-rate", p.WarmRate), a.number("weight", p.Weight)
	p.Lifetime = a.word("rate", "ema", "life") == "life"
	d.base = p
}

func buildHybrid(a *policyArgs, d *policyDraft) {
	p := DefaultHybrid()
	p.Bin, p.Range = a.duration("bin", p.Bin), a.duration("range", p.Range)
	p.Head, p.Tail, p.Margin = a.number("head", p.Head), a.number("tail", p.Tail), a.number("margin", p.Margin)
	p.Spread, p.Beyond = a.number("cv", p.Spread), a.number("beyond", p.Beyond)
	p.Weight, p.Around = a.number("weight", p.Weight), a.number("around", p.Around)
	d.base = p
}

func buildHazard(a *policyArgs, d *policyDraft) {
	p := DefaultHazard()
	p.B, p.Learn = a.duration("b", 0), a.whole("learn", p.Learn)
	p.Global = a.word("pool", "class", "all") == "all"
	d.base = p
}

func buildKnown(a *policyArgs, d *policyDraft) {
	var law oracle.Law
	var err error
	switch a.word("law", "", "exp", "hyper", "pareto", "lomax") {
	case "exp":
		law, err = oracle.NewExponential(1 / a.needed("mean").Seconds())
	case "hyper":
		law, err = oracle.NewBalanced(a.needed("mean").Seconds(), a.number("cv2", 0))
	case "pareto":
		law, err = oracle.NewPareto(a.needed("scale").Seconds(), a.number("alpha", 0))
	case "lomax":
		law, err = oracle.NewLomax(a.needed("scale").Seconds(), a.number("alpha", 0))
	}
	a.fail(err)
	d.base = KnownLaw{Law: law, B: a.duration("b", 0)}
}
