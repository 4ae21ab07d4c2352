package conformance

// beyond names the MUSTs about other parts of the specification that a defect fails as well,
// since what it does is seen wherever one looks: every event that is lost, every process too
// many, or what is a matter of load. Those outside the neighbourhood are run with -scope must and
// full alone.
var beyond = map[string][]string{
	"connects-at-registration": {"64-callers-one-spawn", "connects-side-by-side", "connect-timeout-measured", "upsert-answers", "connect-timeout",
		"death-in-connect", "different-tokens-never-share", "late-answer-after-timeout", "listing-brings-up-all", "many-callers-one-spawn",
		"owners-own-names", "reconnect-revives-failed"},
	"dedup-across-credentials": {"reconnect-keeps-its-config"},
	"reconnect-answers-early":  {"owners-own-names", "reconnected-stays-for-t"},
	"loses-events": {"call-timeout-ages", "death-in-connect", "eviction-window", "failed-ages-under-steady-calls", "listing-brings-up-all",
		"many-callers-one-spawn", "reconnect-of-a-hung-peer", "reconnect-revives-failed", "transport-failure-keeps-tools"},
	"no-failed-events": {"connect-timeout", "death-in-connect", "failed-ages-under-steady-calls", "failed-stays-failed", "late-answer-after-timeout",
		"reconnect-revives-failed", "upsert-says-what-failed"},
	"spawns-twice": {"credentials-apart", "rejections-leave-state", "cut-answer", "upsert-answers", "different-tokens-never-share",
		"failed-ages-under-steady-calls", "owners-own-names", "reconnect-keeps-its-config", "reconnect-of-a-hung-peer", "reconnect-revives-failed",
		"rejected-leaves-state", "transport-failure-keeps-tools", "upsert-says-what-failed", "use-restarts-the-idle-clock",
		"old-call-spares-newcomer"},
	"delete-leaves-process":          {"rename-keeps-processes", "zero-t-never-evicts"},
	"double-spawn-under-concurrency": {"credentials-apart"},
	"failed-retried-at-once": {"cut-answer", "call-timeout-ages", "failed-ages-under-steady-calls", "reconnect-revives-failed",
		"transport-failure-keeps-tools", "upsert-says-what-failed"},
	"half-times":        {"call-timeout-ages", "connect-timeout", "failed-ages-under-steady-calls", "late-answer-after-timeout", "slow-stop-delays-nobody"},
	"answers-of-others": {"64-callers-one-spawn", "connects-side-by-side", "credentials-apart"},
	"hides-lost-calls":  {"reconnect-of-a-hung-peer"},
	"deserts-servers": {"connect-timeout-measured", "call-timeout-ages", "connect-timeout", "eviction-window", "late-answer-after-timeout",
		"reconnect-keeps-its-config", "reconnect-of-a-hung-peer", "reconnect-revives-failed", "use-restarts-the-idle-clock",
		"zero-t-never-evicts"},
}
