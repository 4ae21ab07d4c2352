package conformance

import "slices"

// kill is a check that must fail a mutant, and what its evidence must say, so that it does
// not fail for another reason. A bar stands between alternatives.
type kill struct{ check, says string }

// expectation says what a mutant is failed by: by each of the kills, and by no other MUST.
// What is in may is run and free to fail: it follows from the defect in some orders alone, or
// is there so that a daemon comes to an orderly end.
type expectation struct {
	mutant string
	kills  []kill
	may    []string
}

// expectations are the kill matrix. The defects themselves are in fakes/mutants, which
// nothing here imports: a black box stays one.
var expectations = slices.Concat(daemonExpectations, ownerExpectations)

// daemonExpectations are the part of it about peers and the daemon itself.
var daemonExpectations = []expectation{
	{"connects-at-registration", []kill{{"registration-starts-nothing", "want 0"}, {"first-call-spawns", "expect spawns S = 0"},
		{"claim-move-last-out", "expect status a m1 = disconnected"}, {"one-of-two-owners-leaves", "expect events"}, {"rotation-spares-co-owner", "expect spawns S = 1"}}, nil},
	{"no-dedup", []kill{{"many-callers-one-spawn", "expect spawns S = 1"}, {"different-tokens-never-share", "expect spawns S = 5"},
		{"rotation-spares-co-owner", "expect spawns S = 1"}, {"joins-connected", "expect status b m2 = connected"},
		{"one-of-two-owners-leaves", "expect events b"}, {"owners-own-names", "expect events b"},
		{"64-callers-one-spawn", "was spawned"}, {"death-in-connect", "expect spawns S = 1|waiting"}}, nil},
	{"dedup-across-credentials", []kill{{"credentials-apart", "another agent's credential|processes"}, {"different-tokens-never-share", "expect credential = t2"},
		{"token-rotation", "expect credential = t2"}, {"rotation-spares-co-owner", "expect credential = t2"}}, nil},
	{"leaks-on-claim-move", []kill{{"claim-move-last-out", "expect running S = 0"}, {"token-rotation", "expect running S token=t1 = 0"}}, nil},
	{"leaks-on-unregister-during-connect", []kill{{"unregister-during-connect", "expect running S = 0"}, {"remove-during-connect", "expect running S = 0"}}, nil},
	{"delete-leaves-process", []kill{{"one-of-two-owners-leaves", "expect running S = 0"}, {"whole-tree-ends", "processes of the server are left"}}, nil},
	{"upsert-is-lazy", []kill{{"upsert-answers", "was answered MCP_STATUS_DISCONNECTED"}, {"upsert-says-what-failed", "expect status a m1 = failed"},
		{"token-rotation", "expect result = ok"},
		{"rotation-spares-co-owner", "expect result = ok"}}, nil},
	{"reconnect-answers-early", []kill{{"reconnect-revives-failed", "expect result ="}, {"reconnect-of-a-hung-peer", "expect result = ok"},
		{"reconnect-keeps-its-config", "expect result = ok"}}, nil},
	{"reconnect-with-a-namesakes-config", []kill{{"reconnect-keeps-its-config", "expect credential = t2"}}, nil},

	{"loses-events", []kill{{"owners-own-names", "expect events"}, {"moves-are-told", "expect events"},
		{"one-of-two-owners-leaves", "expect events"}, {"rename-keeps-processes", "expect events"}}, []string{"rotation-spares-co-owner"}},
	{"events-to-one-owner", []kill{{"owners-own-names", "expect events b"}}, nil},
	{"silent-move", []kill{{"moves-are-told", "expect events a = m1:disconnected"}}, nil},
	{"no-failed-events", []kill{{"death-with-reason", "waiting for an event"}, {"transport-failure-keeps-tools", "expect events a"},
		{"call-timeout-ages", "expect events a"}}, nil},
	{"failure-clears-tools", []kill{{"transport-failure-keeps-tools", "expect tools a m1 = 2"}, {"call-timeout-ages", "expect tools a m1 = 2"}}, nil},

	{"double-spawn-under-concurrency", []kill{{"64-callers-one-spawn", "was spawned"}, {"many-callers-one-spawn", "expect spawns S = 1"},
		{"death-in-connect", "expect spawns S = 1"}, {"slow-connect-is-shared-wait", "expect spawns"}}, nil},
	{"spawns-twice", []kill{{"64-callers-one-spawn", "was spawned 2 times"}, {"first-call-spawns", "expect spawns S = 1"},
		{"registration-starts-nothing", "was spawned 2 times"}, {"claim-move-last-out", "expect spawns S = 1"},
		{"failed-stays-failed", "expect spawns S = 1"}, {"listing-brings-up-all", "expect spawns S = 1"}, {"many-callers-one-spawn", "expect spawns S = 1"},
		{"one-of-two-owners-leaves", "expect spawns S = 1"}, {"rename-keeps-processes", "expect spawns S = 1"}, {"rotation-spares-co-owner", "expect spawns S = 1"},
		{"slow-connect-is-shared-wait", "expect spawns"}, {"death-in-connect", "expect spawns S = 1"}, {"late-answer-after-timeout", "expect spawns S = 1"},
		{"connect-timeout", "expect spawns S = 1|expect result c1"}, {"connect-timeout-measured", "still alive"}}, nil},
	{"connects-one-by-one", []kill{{"connects-side-by-side", "connects wait for each other"},
		{"64-callers-one-spawn", "timed out|waiting|in vain"}, {"listing-brings-up-all", "waiting|in vain"}, {"many-callers-one-spawn", "waiting|in vain"},
		{"connect-timeout", "expect|in vain"}}, []string{"death-in-connect"}}, // which does not mind when the one before has timed out
	{"stuck-connecting-after-cancel", []kill{{"cancel-during-connect", "expect status a m1 = connected"}}, nil},
	{"blind-to-death", []kill{{"death-with-reason", "waiting for an event"}, {"death-noticed-without-traffic", "expect status a m1 = failed"}}, nil},

	{"reaper-at-0.95-t", []kill{{measured, "before T"}}, nil},
	{"tick-0.30-t", []kill{{measured, "late"}}, nil},
	{"reaps-in-flight", []kill{{"in-flight-outlives-t", "expect running S = 1|expect status a m1 = connected"}}, nil},
	{"never-reaps-failed", []kill{{"failed-ages-under-steady-calls", "expect status a m1 = disconnected"}, {"call-timeout-ages", "expect running S = 0"},
		{"steady-refusals-age", "it had not aged"}}, nil},
	{"failed-retried-at-once", []kill{{"failed-stays-failed", "expect status a m1 = failed|expect result = refused"},
		{"connect-timeout-measured", "is listed as"}, {"connect-timeout", "expect status a m1 = failed"}, {"death-in-connect", "expect status a m1 = failed"},
		{"late-answer-after-timeout", "expect status a m1 = failed"}}, nil},
	{"steady-calls-postpone-ageing", []kill{{"steady-refusals-age", "it had not aged"}}, nil},
	{"half-times", []kill{{"eviction-measured", "before T"}, {"connect-timeout-measured", "before its timeout"},
		{"call-timeout-measured", "before its timeout"}}, nil},
	{"double-times", []kill{{"eviction-measured", "late"}, {"connect-timeout-measured", "its timeout is"},
		{"call-timeout-measured", "its timeout is"}}, nil},

	{"rejection-is-failure", []kill{{"rejections-leave-state", "was shown as"}, {"error-texts", `want an error that begins with "mcp tool error: "`},
		{"rejected-leaves-state", "expect"}, {"error-replies-leave-state", "was shown as"}, {"error-reply-leaves-state", "expect"}}, nil},
	{"calls-twice", []kill{{"64-callers-one-spawn", "128 calls arrived"},
		{"many-callers-one-spawn", "expect calls S = 12"}}, nil},
	{"one-call-at-a-time", []kill{{"peer-stops-reading", "a sibling had to wait|was answered"}}, nil},
	{"dies-of-a-lost-call", []kill{{"cut-answer", "ended by itself"}, {"error-texts", "ended by itself"},
		{"huge-answer", "ended by itself"}, {"call-timeout-ages", "ended by itself"}, {"transport-failure-keeps-tools", "ended by itself"}}, nil},
	{"never-cancels", []kill{{"late-reply", "was not told"}}, nil},
	{"answers-of-others", []kill{{"notification-first", "was answered"}, {"double-reply", "was answered"}}, nil},
	{"late-answer-to-the-next", []kill{{"late-reply", "was not told|was answered"}}, nil},
	{"notification-is-a-reply", []kill{{"notification-first", "was answered"}}, nil},
	{"hides-lost-calls", []kill{{"error-texts", `want an error that begins with "mcp call failed: "`}, {"cut-answer", `was answered "fine"`},
		{"peer-stops-reading", `was answered "fine"`},
		{"call-timeout-ages", "expect result = transport"}, {"transport-failure-keeps-tools", "expect result = transport"}}, nil},

	{"direct-child-only", []kill{{"whole-tree-ends", "processes of the server are left"}}, nil},
	{"never-kills", []kill{{"whole-tree-ends", "processes of the server are left"}}, nil},
	{"deserts-servers", []kill{{"whole-tree-ends", "processes of the server are left"}, {"claim-move-last-out", "expect running S = 0"},
		{auditID, "outlived its daemon"},
		{"one-of-two-owners-leaves", "expect running S = 0"}, {"rename-keeps-processes", "expect running S = 0"}, {"token-rotation", "expect running S token=t1 = 0"}}, nil},
	{"shell-in-between", []kill{{"own-process-group", "that it does not lead"}}, nil},
	{"inherits-descriptors", []kill{{"no-inherited-descriptors", "inherited 1 descriptors, the first is 7"}}, nil},
	{"mute-to-pings", []kill{{"server-ping", "waiting for a matching report"}}, nil},
	{"hides-its-end", []kill{{"kill-9-leaves-no-server", "are still alive"}}, nil},

	{"full-environment", []kill{{"minimal-environment", "of the daemon reached a server"}}, nil},
	{"overlay-backfill", []kill{{"overlay-by-name", "reached a server that did not ask for it"}}, nil},
	{"one-credential-for-all", []kill{{"credentials-apart", "another agent's credential"}, {"token-rotation", "expect credential = t2"},
		{"different-tokens-never-share", "expect credential = t2"}, {"rotation-spares-co-owner", "expect credential = t2"}}, nil},
	{"logs-configurations", []kill{{"no-secret-shown", "a secret is shown"}}, nil},
	{"secret-in-error", []kill{{"no-secret-shown", "a secret is shown"}}, nil},
	{"shows-env", []kill{{"no-secret-shown", "a secret is shown"}}, nil},

	{"jams", []kill{{"silent-client-delays-nobody", "unread on another connection"}}, nil},
	{"crashes-on-a-bad-frame", []kill{{"frame-undecodable", "ended by itself"}, {"frame-invalid-utf8", "ended by itself"}}, nil},
	{"answers-a-bad-frame", []kill{{"frame-undecodable", "it was answered"}}, nil},
	{"code-500-for-all", []kill{{"frame-empty", "want an error 400"}, {"frame-retired-variant", "want an error 410"}, {"unknown-ids", "want 404"}}, nil},
	{"mute-errors", []kill{{"wrong-types", "does not name"}}, nil},
	{"vague-errors", []kill{{"spawn-error-names-command", `the error is "failed"`}}, nil},
	{"keeps-half-a-refused-request", []kill{{"duplicate-mcps", "the listings changed"}}, nil},
	{"accepts-duplicates", []kill{{"duplicate-mcps", "was accepted"}}, nil},

	{"no-kill-at-exit", []kill{{"sigterm-ends-everything", "outlived the daemon"}}, nil},
	{"forgets-agents", []kill{{"kill-9-keeps-the-acknowledged", "after the restart the daemon knows"}}, nil},
	{"steals-homes", []kill{{"second-daemon-refused", "keeps running|cannot reach the daemon"}}, nil},
	{"starts-anywhere", []kill{{"unusable-home", "keeps running"}}, nil},
	{"exits-with-1", []kill{{"sigterm-ends-everything", "exit status 1"}, {auditID, "exit status 1"}}, []string{"own-process-group"}},
	{"forgets-reasons", []kill{{"reason-outlives-failure", "it is listed with"}}, nil},
	{"serves-the-dead", []kill{{"dead-agents-are-refused", "an upsert of an agent that was deleted: it was accepted"}}, nil},
	{"tells-the-dead", []kill{{"dead-agents-hear-nothing", "was told to an agent that had been deleted"}}, nil},
	{"keeps-its-socket", []kill{{"sigterm-ends-everything", "socket file"}}, nil},
	{"removes-by-name", []kill{{"dead-agents-spare-successors", "it was accepted"}}, nil},
}
