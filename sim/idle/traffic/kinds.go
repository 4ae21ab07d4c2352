package traffic

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Kind is one kind of traffic that Parse knows.
type Kind struct {
	Name  string
	Form  string // how it is written, with the values of its parameters as an example
	About string // one line
}

// Kinds lists the kinds of traffic by name.
func Kinds() []Kind {
	var out []Kind
	for _, k := range kinds {
		out = append(out, k.Kind)
	}
	return out
}

// Common lists the parameters that every population takes, beside those of its form.
func Common() []string {
	return []string{
		"tenants=N: how many tenants",
		"peers=N: how many peers each tenant has; each is called on its own, but by agents",
		"takes=D|tools: how long a call takes (0 if not given; agents: the published tool times)",
		"gaps=start|end: gaps run from the start of a call, which may overlap the next, or from its end",
	}
}

type kind struct {
	Kind
	params []string
	open   bool // gaps run from starts if the spec does not say
	fixed  bool // and may not be changed
	build  func(a *args, p Population) (Traffic, error)
}

var kinds = []kind{
	{Kind{"agent", "agent:sessions=3/d,touch=1/0.5/0.2/0.05,share=1,lanes=1,hours=flat|work",
		"coding agents: sessions, requests, rounds and tool calls by TraceLab's quantiles, human waits between"},
		[]string{"sessions", "touch", "share", "lanes", "hours"}, false, true, buildAgent},
	{Kind{"azure", "azure:max=10/m", "tenants of the rates and the burstiness of Azure's applications, most of them rarely called"},
		[]string{"max"}, false, false, func(a *args, p Population) (Traffic, error) {
			return AzureApps(a.rate("max", "10/m")*day, p)
		}},
	{Kind{"cron", "cron:every=5m/1h,jitter=0s,phase=aligned|spread", "timers: every tenant has one of the periods and fires at whole ones"},
		[]string{"every", "jitter", "phase"}, true, true, buildCron},
	{Kind{"fixed", "fixed:every=30m", "the same gap always, each peer at a phase of its own"},
		[]string{"every"}, false, false, renews(func(a *args) (Law, error) { return Deterministic(a.seconds("every", "")) })},
	{Kind{"gamma", "gamma:shape=2,rate=4/h", "Poisson tenants whose rates follow a gamma law"},
		[]string{"shape", "rate"}, true, false, func(a *args, p Population) (Traffic, error) {
			return GammaRates(a.number("shape", ""), a.rate("rate", ""), p)
		}},
	{Kind{"hyper", "hyper:mean=15m,cv2=16", "hyper-exponential gaps with balanced means: bursts and pauses"},
		[]string{"mean", "cv2"}, false, false, renews(func(a *args) (Law, error) { return Hyper(a.seconds("mean", ""), a.number("cv2", "")) })},
	{Kind{"lognormal", "lognormal:mu=4.87,sigma=0.982", "log-normal gaps, of seconds"},
		[]string{"mu", "sigma"}, false, false, renews(func(a *args) (Law, error) { return LogNormal(a.number("mu", ""), a.number("sigma", "")) })},
	{Kind{"lomax", "lomax:scale=10m,alpha=1.5", "Pareto gaps that begin at 0"},
		[]string{"scale", "alpha"}, false, false, renews(func(a *args) (Law, error) { return Lomax(a.seconds("scale", ""), a.number("alpha", "")) })},
	{Kind{"pareto", "pareto:xm=60s,alpha=1.5", "Pareto gaps of at least xm"},
		[]string{"xm", "alpha"}, false, false, renews(func(a *args) (Law, error) { return Pareto(a.seconds("xm", ""), a.number("alpha", "")) })},
	{Kind{"poisson", "poisson:rate=2/h", "calls at random: constant hazard, for which no timeout is better than all or nothing"},
		[]string{"rate"}, true, false, renews(func(a *args) (Law, error) { return poisson(a.rate("rate", "")) })},
	{Kind{"sessions", "sessions:calls=10,gap=20s,between=1h", "on and off: sessions of a geometric number of calls, exponential gaps within and between"},
		[]string{"calls", "gap", "between"}, false, false, buildSessions},
	{Kind{"trace", "trace:FILE", "your own trace: CSV or JSONL of time, tenant, peer and duration, gzipped or not"},
		nil, true, true, nil},
	{Kind{"waits", "waits", "TraceLab's human waits alone as gaps: the median is 86 s, a quarter above 5 min"},
		nil, false, false, renews(func(*args) (Law, error) { return HumanWaits(), nil })},
	{Kind{"weibull", "weibull:shape=0.418,scale=10m", "Weibull gaps: below shape 1 the longer the gap, the longer it will be"},
		[]string{"shape", "scale"}, false, false, renews(func(a *args) (Law, error) { return Weibull(a.number("shape", ""), a.seconds("scale", "")) })},
}

func renews(law func(*args) (Law, error)) func(*args, Population) (Traffic, error) {
	return func(a *args, p Population) (Traffic, error) {
		l, err := law(a)
		if err != nil {
			return nil, err
		}
		return Renewals(l, p)
	}
}

// poisson is the law of the gaps of a rate, in calls a second.
func poisson(rate float64) (Law, error) {
	if err := positive("poisson", "rate", rate); err != nil {
		return nil, err
	}
	if 1/rate > maxSeconds {
		return nil, errors.New("poisson: rate is less than one call a century")
	}
	return Exponential(1 / rate)
}

func buildSessions(a *args, p Population) (Traffic, error) {
	calls := a.number("calls", "")
	gap, err := Exponential(a.seconds("gap", ""))
	between, err2 := Exponential(a.seconds("between", ""))
	if err = first(a.err, err, err2); err != nil {
		return nil, err
	}
	return Sessions(calls, gap, between, p)
}

func buildCron(a *args, p Population) (Traffic, error) {
	c := CronConfig{Jitter: a.duration("jitter", "0s")}
	list := a.value("every", "")
	for _, v := range strings.Split(list, "/") {
		d, ok := parseSpan(v)
		if !ok {
			a.bad("every", list, "durations with their units, like 5m or 5m/1h")
		}
		c.Every = append(c.Every, d)
	}
	switch v := a.value("phase", "aligned"); v {
	case "aligned":
	case "spread":
		c.Spread = true
	default:
		a.bad("phase", v, "aligned or spread")
	}
	return Cron(c, p)
}

func buildAgent(a *args, p Population) (Traffic, error) {
	c := AgentConfig{Share: a.number("share", "1"), Lanes: a.whole("lanes", "1"), PerDay: a.rate("sessions", "3/d") * day}
	if _, ok := a.given["share"]; ok && c.Share == 0 {
		a.bad("share", a.given["share"], "above 0")
	}
	if v, ok := a.given["touch"]; ok {
		for _, q := range strings.Split(v, "/") {
			n, err := strconv.ParseFloat(q, 64)
			if err != nil {
				a.bad("touch", v, "a chance for every peer, like 1/0.5/0.2")
			}
			c.Touch = append(c.Touch, n)
		}
	} else if p.Peers > 0 {
		c.Touch = slices.Repeat(AgentPeers(), p.Peers/len(AgentPeers())+1)[:p.Peers]
	}
	switch v := a.value("hours", "flat"); v {
	case "flat":
	case "work":
		c.Week = WorkingHours()
	default:
		a.bad("hours", v, "flat or work")
	}
	return Agents(c, p)
}
