// Package profile is a measured MCP server: how long it took to connect, how much memory its
// processes held, how it stopped, and how often it failed. It is a file format and what can be
// drawn from it; package measure of the command makes the measurement.
//
//	p, err := profile.Decode(file)
//	took, ok := p.Connect(rng.Float64()) // one connect, drawn from the measured ones
//	mib, ok := p.RSS()                   // resident memory of the whole tree of processes
//
// # The file
//
// One JSON object. Times are milliseconds, memory is MiB, and a number that is not known is
// left out.
//
//	format, version   "mayfly-idle-profile" and 1
//	class             the name under which reports show the server
//	measured          when the measurement ended
//	server            command (secrets are masked) or url, and the names of the env variables and
//	                  headers that it was given, never their values
//	machine           os, arch, cores, procs (of them usable), memory_mib, the load average
//	                  before and after, and by how much a control timer overshot meanwhile
//	settings          what was asked for: starts, warm calls per start and which, timeout, settle
//	first             the first start, apart: caches were cold, as they are once
//	starts            the others, one object each:
//	  ok              the tool list came within the timeout
//	  connect_ms      from the spawn to the tool list, or to the failure
//	  spawn_ms        of it, until the process existed; not for a URL
//	  heard_ms        of it, until the first message of the server
//	  tools           length of the tool list
//	  warm_ms         the warm calls, in order; warm_failure, if one failed
//	  rss_mib         resident memory of all processes of the tree, each page counted once
//	                  for every process that maps it, after the settle time
//	  pss_mib         the same with shared pages divided among those that map them
//	  processes       how many there were
//	  stop_ms         from the first rung of the stop ladder until nothing was left
//	  stop_rung       the rung that ended it: close, terminate, kill; "self" had ended before
//	  stall_ms        the worst overshoot of the control timer during the connect
//	  phase, failure  of a start that is not ok
//	summary, warnings for readers: Decode does not look at them, since they follow from the rest
//
// # Promises
//
// Decode refuses what it does not know: other versions, unknown fields, samples that are
// negative, not finite or absurd, and profiles from which nothing can be drawn, and names the
// field. Encode gives the same bytes for the same profile. Quantiles are samples, never
// something in between; their intervals hold for every continuous distribution of independent
// starts. A Profile that is not changed may be used concurrently.
//
// # What is not promised
//
// That a server will go on as it was measured: caches, other load and another machine change
// it. That starts are independent: they followed each other at once. A distribution beyond the
// slowest sample: Connect never draws more than was seen.
package profile
