// Package idle says what an idle timeout costs: processes kept on one side, callers who wait for a start on
// the other.
//
// It puts callers before the daemon's own lifecycle machine and servers behind it, in virtual time: a week of
// ten thousand tenants takes seconds. The machine is core/lifecycle itself, or any [sim.Subject]; there is no second model
// of the reaper here that could differ from it. Smallest use:
//
//	calls, err := traffic.Parse("agent:tenants=1000", traffic.Options{})
//	machine := lifecycle.DefaultConfig() // IdleTimeout is T
//	machine.CallTimeout = 24 * time.Hour // agents' calls take as long as they do: 30 s would cut some, and fail their peers
//	res, err := idle.Run(idle.Config{
//		Traffic: calls,
//		Servers: idle.DefaultMix(),
//		Machine: machine,
//		For:     7 * 24 * time.Hour,
//		WarmUp:  24 * time.Hour,
//	})
//	fmt.Println(res.ColdRatio(), res.MeanProcesses(res.Span), res.PerConversation.P95)
//
// [Sweep] plays many configurations under many seeds on several workers.
//
// # Policies
//
// A [Policy] says when an unused peer is stopped. [RFC], the default, leaves it to the machine: idle_timeout, and a tick at
// a quarter of it. Every other one is asked once per idle period and speaks to the machine through
// [lifecycle.Retain]: at an instant ([At]), never ([Forever]), or when anybody calls anything ([OnCall]). It may start
// a peer again before it is called (Decision.Wake), choose who goes under a cap ([Victims]), and have failed peers
// tried again ([Retrying]). One that implements [Foreseeing] is told the future, as a bound on all others.
//
// # What is measured
//
// [Result] holds sums over the run without its warm-up. A call is cold if it asked for a start, and delayed if it waited for
// one, its own or another's; what it waited is in Added, with zero for those that did not wait, and is summed over its
// conversation in PerConversation. A process exists from its dial to its exit, and exits when it is told to stop. A failed
// peer is unavailable until it ages, which T decides as well: its calls are refused, which is counted apart. Times and counts
// are exact; quantiles are right to half a hundredth, from a fixed number of buckets. What began before the warm-up's end
// is not counted where it has one beginning, as calls and conversations have; what lasts is counted from there on. A
// conversation that the end of the run cuts, and a caller who waits there, count as far as they have come.
//
// A gap is the time from the end of a peer's last use to its next call. Result.Clairvoyant is what whoever knows all gaps
// beforehand would have paid for them, at the price of a cold start that Config.BreakEven sets.
//
// # Order within one instant
//
// What ends comes before what begins, and a call before the machine's deadlines: a peer that is called at the end of
// its window stays.
//
// # Common random numbers
//
// A stream of calls is drawn from the seed and its own number, the class of a peer from the seed and its name, its n-th
// connect and the outages of its server from the same and n. Cells of a sweep that share a seed therefore meet the same
// callers and servers, and [Difference] compares them run by run.
//
// # Promises
//
//   - Equal configurations give equal results, to the byte, however many workers there are.
//   - Memory is bounded by tenants and peers, whatever the number of calls, and a call allocates nothing.
//   - The machine's own audit passes at the end of every run, and every Config.AuditEvery steps.
//
// # Not promised
//
// Servers do not slow each other down, and a host has memory for all that is kept: what a start costs others is not in
// these numbers. A process that is told to stop is gone at once. An outage is one of a peer, not of a host. A conversation
// belongs to a stream of traffic, or to a tenant where one stream carries all. Foresight knows the calls of tenants that
// have called a peer before, as if nothing on the way were late.
package idle
