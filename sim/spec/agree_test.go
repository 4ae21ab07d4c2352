package spec_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	lc "github.com/mayfly-mcp/mayfly/core/lifecycle"
	"pgregory.net/rapid"
)

// TestMain asks for more examples than rapid does by itself: one costs well under a millisecond.
func TestMain(m *testing.M) {
	flag.Parse()
	unless("rapid.checks", "5000")
	unless("rapid.steps", "60")
	os.Exit(m.Run())
}

// unless sets a flag that the command line does not.
func unless(name, value string) {
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if asked {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

const (
	maxOwners = 3 // alive at a time
	maxNames  = 2
	maxPeers  = 3
)

// testConfig has times that are small and differ, so that every order of deadlines comes up.
func testConfig() lc.Config {
	return lc.Config{IdleTimeout: 40, ConnectTimeout: 13, CallTimeout: 70, CloseGrace: 3, TerminateGrace: 5,
		KillGrace: 7, DrainGrace: 11, MaxWaiters: 3}
}

func drawConfig(t *rapid.T) lc.Config {
	c := testConfig()
	c.IdleTimeout = rapid.SampledFrom([]time.Duration{40, 4, 3, 1, 100, 0}).Draw(t, "T")
	c.FailedRetry = rapid.SampledFrom([]time.Duration{0, 20, 60}).Draw(t, "retry")
	c.CallTimeout = rapid.SampledFrom([]time.Duration{70, 10}).Draw(t, "call")
	c.CloseGrace = rapid.SampledFrom([]time.Duration{3, 0}).Draw(t, "close")
	c.MaxWaiters = rapid.SampledFrom([]int{3, 1}).Draw(t, "waiters")
	c.StartTimeout = rapid.SampledFrom([]time.Duration{0, 0, 6, 20}).Draw(t, "start")
	return drawCaps(t, c)
}

// drawCaps draws bounds that bite with three peers; half of the time there are none.
func drawCaps(t *rapid.T, c lc.Config) lc.Config {
	if rapid.Bool().Draw(t, "unbounded") {
		return c
	}
	c.MaxLive = rapid.SampledFrom([]int{1, 2, 0}).Draw(t, "live")
	c.MaxDialing = rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "dialing")
	c.MaxSpawning = rapid.SampledFrom([]int{0, 1}).Draw(t, "spawning")
	c.MaxQueued = rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "queued")
	c.QueueTimeout = rapid.SampledFrom([]time.Duration{0, 9, 25}).Draw(t, "queue")
	return c
}

// policies are wishes that are shorter, longer and other than the configuration's.
var policies = []*lc.Policy{nil, nil, {}, {IdleTimeout: 10}, {IdleTimeout: 64}, {MinUptime: 50}, {MinUptime: 12, CallTimeout: 33},
	{Pinned: true}, {StartTimeout: 8}, {ConnectTimeout: 5, StartTimeout: 11}, {ConnectTimeout: 30}, {IdleTimeout: 5, MinUptime: 21, CallTimeout: 90},
	{CloseGrace: 9}, {CloseGrace: 1, TerminateGrace: 2}, {TerminateGrace: 11}}

// driver draws legal inputs for a pair.
type driver struct {
	*pair
	fail func(d *driver, err error)
}

func (d *driver) feed(in lc.Input) {
	if err := d.step(in); err != nil {
		d.fail(d, err)
	}
}

func (d *driver) owner(t *rapid.T) lc.OwnerID {
	lo := 1
	if d.born > maxOwners {
		lo = int(d.born) - maxOwners // the oldest is dead
	}
	return lc.OwnerID(rapid.IntRange(lo, int(d.born)).Draw(t, "owner"))
}

func (d *driver) name(t *rapid.T) lc.NameID {
	return lc.NameID(rapid.IntRange(1, maxNames).Draw(t, "name"))
}

// bear introduces an owner; when there are too many the oldest dies.
func (d *driver) bear() {
	d.born++
	d.feed(lc.OwnerBorn(d.born))
	if d.born > maxOwners {
		d.feed(lc.OwnerDied(d.born - maxOwners))
	}
}

func (d *driver) declare(t *rapid.T) {
	fp := lc.Fingerprint{byte(rapid.IntRange(0, maxPeers-1).Draw(t, "fp"))}
	in := lc.Declare(d.newTicket(), d.owner(t), d.name(t), fp)
	in.Policy = rapid.SampledFrom(policies).Draw(t, "policy")
	d.feed(in)
}

// moveAndDie moves a claim that may have calls in flight, and then its owner dies.
func (d *driver) moveAndDie(t *rapid.T) {
	o, n := d.owner(t), d.name(t)
	d.feed(lc.Dispatch(d.newTicket(), o, n))
	d.feed(lc.Declare(0, o, n, lc.Fingerprint{byte(rapid.IntRange(0, maxPeers-1).Draw(t, "fp"))}))
	d.feed(lc.OwnerDied(o))
}

func (d *driver) release(t *rapid.T)   { d.feed(lc.Release(d.newTicket(), d.owner(t), d.name(t))) }
func (d *driver) dispatch(t *rapid.T)  { d.feed(lc.Dispatch(d.newTicket(), d.owner(t), d.name(t))) }
func (d *driver) ensure(t *rapid.T)    { d.feed(lc.Ensure(d.newTicket(), d.owner(t), d.name(t))) }
func (d *driver) reconnect(t *rapid.T) { d.feed(lc.Reconnect(d.newTicket(), d.owner(t), d.name(t))) }

// anyTicket draws one that may have ended long ago.
func (d *driver) anyTicket(t *rapid.T) lc.Ticket {
	if len(d.opened) == 0 {
		return lc.MakeTicket(1, 1<<30)
	}
	back := rapid.IntRange(1, min(12, len(d.opened))).Draw(t, "back")
	return d.opened[len(d.opened)-back]
}

func (d *driver) cancel(t *rapid.T) { d.feed(lc.Cancel(d.anyTicket(t))) }

// done ends an admitted call, or one that has ended already.
func (d *driver) done(t *rapid.T) {
	kind := rapid.SampledFrom([]lc.DoneKind{lc.DoneAnswered, lc.DoneRejected, lc.DoneCancelled, lc.DoneTransport}).Draw(t, "done")
	waiting, admitted := d.model.Open()
	if len(admitted) > 0 && rapid.IntRange(0, 9).Draw(t, "late") > 0 {
		d.feed(lc.CallDone(lc.Ticket(rapid.SampledFrom(admitted).Draw(t, "call")), kind))
		return
	}
	id := d.anyTicket(t)
	for _, w := range waiting {
		if lc.Ticket(w) == id {
			return // not legal
		}
	}
	d.feed(lc.CallDone(id, kind))
}

// run draws an incarnation: mostly one that is in a phase of interest, else one of the newest.
func (d *driver) run(t *rapid.T, phases ...lc.Phase) (lc.PeerID, lc.Generation, bool) {
	if len(d.runs) == 0 {
		return 0, 0, false
	}
	var fit []lc.View
	for id := lc.PeerID(1); int(id) < d.machine.Slots(); id++ {
		if v := d.machine.View(id); v.State != lc.NoState && slices.Contains(phases, v.Phase) {
			fit = append(fit, v)
		}
	}
	if len(fit) > 0 && rapid.IntRange(0, 9).Draw(t, "stale") > 0 {
		v := rapid.SampledFrom(fit).Draw(t, "run")
		return v.Peer, v.Gen, true
	}
	back := rapid.IntRange(1, min(6, len(d.runs))).Draw(t, "run")
	e := d.runs[len(d.runs)-back]
	return e.Peer, e.Gen, true
}

func (d *driver) connected(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing); ok {
		d.feed(lc.InputConnected(p, g, uint32(rapid.IntRange(0, 3).Draw(t, "tools"))))
	}
}

func (d *driver) connectFailed(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing); ok {
		d.feed(lc.ConnectFailed(p, g))
	}
}

func (d *driver) broken(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing, lc.Up, lc.Broken); ok {
		d.feed(lc.SessionBroken(p, g))
	}
}

func (d *driver) started(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing); ok {
		d.feed(lc.Started(p, g))
	}
}

func (d *driver) spawned(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing); ok {
		d.feed(lc.Spawned(p, g))
	}
}

func (d *driver) relisted(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Up, lc.Broken); ok {
		d.feed(lc.Relisted(p, g, uint32(rapid.IntRange(0, 3).Draw(t, "tools"))))
	}
}

func (d *driver) exited(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Stopping); ok {
		d.feed(d.exit(t, p, g))
	}
}

// writeOff gives up an incarnation that may be stuck; one in two is made so before.
func (d *driver) writeOff(t *rapid.T) {
	o, n := d.owner(t), d.name(t)
	for id := d.machine.Claimed(o, n); rapid.Bool().Draw(t, "climbs") && d.machine.View(id).Phase == lc.Stopping; {
		if d.machine.View(id).Stage == lc.StageStuck {
			break
		}
		d.wake(t)
	}
	d.feed(lc.WriteOff(d.newTicket(), o, n))
}

// exhume lets something exit that was written off, or has exited since.
func (d *driver) exhume(t *rapid.T) {
	if len(d.written) > 0 {
		v := rapid.SampledFrom(d.written).Draw(t, "written off")
		d.feed(d.exit(t, v.Peer, v.Gen))
	}
}

func (d *driver) exit(t *rapid.T, p lc.PeerID, g lc.Generation) lc.Input {
	in := lc.Exited(p, g)
	in.Clean = rapid.Bool().Draw(t, "clean")
	return in
}

// diedByItself ends an incarnation that nobody asked to stop.
func (d *driver) diedByItself(t *rapid.T) {
	if p, g, ok := d.run(t, lc.Dialing, lc.Up, lc.Broken); ok {
		d.feed(d.exit(t, p, g))
	}
}

// wake goes to the deadline and tells it.
func (d *driver) wake(*rapid.T) {
	if due := d.machine.Deadline(); due != lc.Never {
		d.now = max(d.now, due)
	}
	d.feed(lc.TimeReached())
}

// oversleep tells a time that may be far beyond several deadlines.
func (d *driver) oversleep(t *rapid.T) {
	d.now += lc.Instant(rapid.IntRange(0, 150).Draw(t, "sleep"))
	d.feed(lc.TimeReached())
}

// pass lets time go by, up to the deadline, and says nothing.
func (d *driver) pass(t *rapid.T) {
	until := max(d.now, d.machine.Deadline())
	d.now = min(until, d.now+lc.Instant(rapid.IntRange(1, 30).Draw(t, "pass")))
}

// lag lets time go by beyond the deadline: whatever comes next comes before the tick.
func (d *driver) lag(t *rapid.T) { d.now += lc.Instant(rapid.IntRange(1, 90).Draw(t, "lag")) }

func (d *driver) configure(t *rapid.T) {
	c := drawConfig(t)
	d.feed(lc.Configure(&c))
}

func (d *driver) die(t *rapid.T) { d.feed(lc.OwnerDied(d.owner(t))) }

// actions weighs the inputs by naming some of them twice.
func (d *driver) actions(drains bool) map[string]func(*rapid.T) {
	a := map[string]func(*rapid.T){
		"declare": d.declare, "declare again": d.declare, "release": d.release,
		"dispatch": d.dispatch, "dispatch again": d.dispatch, "dispatch more": d.dispatch,
		"ensure": d.ensure, "reconnect": d.reconnect, "reconnect again": d.reconnect, "cancel": d.cancel,
		"done": d.done, "done again": d.done, "connected": d.connected, "connected again": d.connected,
		"connect failed": d.connectFailed, "broken": d.broken, "exited": d.exited, "exited again": d.exited, "died by itself": d.diedByItself,
		"wake": d.wake, "wake again": d.wake, "oversleep": d.oversleep, "pass": d.pass, "lag": d.lag,
		"born": func(*rapid.T) { d.bear() }, "died": d.die, "moved and died": d.moveAndDie,
		"write off": d.writeOff, "exhume": d.exhume,
		"started": d.started, "spawned": d.spawned, "spawned again": d.spawned, "relisted": d.relisted,
	}
	if drains {
		a["drain"] = func(*rapid.T) { d.feed(lc.Drain()) }
	} else {
		a["configure"] = d.configure
	}
	return a
}

// prepare makes a small world in which calls are in flight, so that the first draws meet something.
func (d *driver) prepare() {
	d.bear()
	d.bear()
	for o := lc.OwnerID(1); o <= 2; o++ {
		d.feed(lc.Declare(0, o, 1, lc.Fingerprint{}))
	}
	d.feed(lc.Declare(0, 2, 2, lc.Fingerprint{1}))
	for n := lc.NameID(1); n <= 2; n++ {
		d.feed(lc.Dispatch(d.newTicket(), 2, n))
		d.feed(lc.Dispatch(d.newTicket(), 2, n))
		if d.machine.View(lc.PeerID(n)).Phase == lc.Dialing {
			d.feed(lc.InputConnected(lc.PeerID(n), 1, 2))
		}
	}
}

// TestMachineAgreesWithModel drives both with random legal inputs and compares everything after
// each of them. Deeper: -rapid.checks 100000.
func TestMachineAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &driver{pair: newPair(drawConfig(t), tamper{})}
		d.fail = func(d *driver, err error) {
			t.Fatalf("%v\nafter:\n%s", err, strings.Join(d.log, "\n"))
		}
		d.prepare()
		t.Repeat(d.actions(rapid.IntRange(0, 3).Draw(t, "drains") == 0))
	})
}
