package sim

// The situations, in the order of reports.
const (
	sDispatchFirst situation = iota
	sDispatchJoinsConnect
	sDispatchInStop
	sDispatchAfterEviction
	sDispatchInReclaim
	sDispatchAtExpiry
	sDispatchBeforeTick
	sDispatchFailed
	sDispatchAtAgeing
	sDispatchFailedBeforeTick
	sDispatchFailedBusy
	sDispatchAged
	sDispatchAgedInStop
	sDispatchQueued
	sDispatchInReconnect
	sDispatchBeside
	sDispatchStuck
	sDispatchClaimless
	sDispatchGhost
	sDispatchDraining
	sEnsureFailed
	sEnsureJoinsConnect
	sEnsureInStop
	sReconnectInStop
	sReconnectInConnect
	sReconnectWaited
	sReconnectBusy
	sReconnectFailed
	sReconnectJoins
	sReconnectQueued
	sReconnectShared
	sReconnectGhost
	sJoinConnecting
	sJoinConnectingAgain
	sJoinConnected
	sJoinFailed
	sJoinQueued
	sJoinOrphan
	sJoinOrphanOwn
	sMoveInConnect
	sMoveInCall
	sMoveInStop
	sMoveWaiting
	sMoveWaitingToFailed
	sMoveSharedBusy
	sMoveQueued
	sRedeclareSame
	sRedeclarePolicy
	sReleaseInConnect
	sReleaseInCall
	sReleaseSharedInCall
	sReleaseQueued
	sReleaseWaiting
	sReleaseInStop
	sDieAbandoned
	sDieInConnect
	sDieBusyShared
	sDieBusyFailed
	sDieQueueHead
	sDieWaitingStop
	sRebornAtOnce
	sCancelLastInStop
	sCancelLastInConnect
	sCancelOneOfMany
	sCancelLastQueued
	sCancelCall
	sCancelLastOverdue
	sDrainInConnect
	sDrainInStop
	sDrainInCall
	sDrainQueued
	sDrainFailed
	sConfigureIdle
	sConfigureLower
	sConfigureRaise
	sRestartDrainInCall
	sRestartKillInConnect
	sRestartKillInStop
	sReloadBusy
	sDownMany
	sExpireConnected
	sExpireQueued
	sConnectOlder
	sConnectInStop
	sConnectAfterExit
	sConnectTwice
	sConnectAtDeadline
	sConnectUnwanted
	sConnectMany
	sConnectFailsMany
	sExitInConnect
	sExitIdle
	sExitClean
	sExitBusy
	sExitFailed
	sExitWaited
	sExitReconnect
	sExitOlder
	sExitAtRung
	sExitStuck
	sExitMakesRoom
	sBrokenBusy
	sDoneLate
	sDoneAtTimeout
	sDoneFailed
	sDoneOverdue
	sDoneDraining
	sTransportBeside
	sRelistShared
	sRelistBusy
	sEvict
	sEvictTwo
	sEvictAndAge
	sEvictProtected
	sAgeRunning
	sConnectTimeout
	sCallTimeoutBeside
	sQueueTimeout
	sQueueFull
	sWaitersFull
	sRungTerminate
	sRungKill
	sDrainCut
	sReclaim
	sReclaimNewborn
	sServeTakeover
	sServeTakeoverFull
	sServeDeadFrees
	sServeFull
	sServeDuplicate
	sServeDuplicateOwn
	sServeDuplicateFull
	sServeRegisterDead
	sServeReadyDead
	sServeLateReady
	sServeReadyGone
	sServeLateStop
	sServeStopTwice
	sServeResolveHidden
	sServeResolveDead
	sServeDenied
	sServeCallAfterDeath
	sServeCallAfterTakeover
	sServeCallAfterStop
	sServeCallInDrain
	sServeDieInPlan
	sServeDieInBody
	sServeDieBothKinds
	sServeDieWithClaims

	nSituations = int(sServeDieWithClaims) + 1
)

var situations = [nSituations]Situation{
	sDispatchFirst:            {"dispatch-first", "DI-1", "a call to a peer of which nothing ever ran"},
	sDispatchJoinsConnect:     {"dispatch-joins-connect", "DI-2", "a call while its peer connects"},
	sDispatchInStop:           {"dispatch-in-stop", "RE-8", "a call while the last incarnation of its peer stops"},
	sDispatchAfterEviction:    {"dispatch-after-eviction", "RE-8", "a call within a nanosecond after the eviction of its peer"},
	sDispatchInReclaim:        {"dispatch-in-reclaim", "PR-6", "a call in the very instant in which its peer is stopped to make room"},
	sDispatchAtExpiry:         {"dispatch-at-expiry", "RE-1", "a call in the very instant in which its peer was unused for T"},
	sDispatchBeforeTick:       {"dispatch-before-tick", "RE-1", "a call to a peer that was unused for more than T and waits for the tick"},
	sDispatchFailed:           {"dispatch-failed", "DI-12", "a call to a peer whose failure is young"},
	sDispatchAtAgeing:         {"dispatch-at-ageing", "RE-4", "a call in the very instant in which the failure of its peer ages"},
	sDispatchFailedBeforeTick: {"dispatch-failed-before-tick", "RE-5", "a call to a peer whose failure has aged and waits for the tick"},
	sDispatchFailedBusy:       {"dispatch-failed-busy", "RE-11", "a call to a failed peer on which calls are in flight"},
	sDispatchAged:             {"dispatch-aged", "DI-6", "a call to a peer whose failure has aged"},
	sDispatchAgedInStop:       {"dispatch-aged-in-stop", "RE-8", "a call to a peer whose failure has aged while its process still stops"},
	sDispatchQueued:           {"dispatch-queued", "PR-6", "a call to a peer whose attempt waits for room"},
	sDispatchInReconnect:      {"dispatch-in-reconnect", "RC-5", "a call while a reconnect waits for the old incarnation to end"},
	sDispatchBeside:           {"dispatch-beside", "CA-9", "a call to a shared peer on which another is in flight"},
	sDispatchStuck:            {"dispatch-stuck", "ST-9", "a call to a peer whose last incarnation has outlived SIGKILL"},
	sDispatchClaimless:        {"dispatch-claimless", "DI-12", "a call under a name that is not claimed"},
	sDispatchGhost:            {"dispatch-ghost", "PC-7", "a call by an owner that is dead"},
	sDispatchDraining:         {"dispatch-draining", "SH-1", "a call in a drain"},
	sEnsureFailed:             {"ensure-failed", "CF-1", "an eager connect of a failed peer"},
	sEnsureJoinsConnect:       {"ensure-joins-connect", "DI-2", "an eager connect while its peer connects"},
	sEnsureInStop:             {"ensure-in-stop", "RE-8", "an eager connect while the last incarnation stops"},
	sReconnectInStop:          {"reconnect-in-stop", "RC-3", "a reconnect while the last incarnation stops"},
	sReconnectInConnect:       {"reconnect-in-connect", "RC-3", "a reconnect while its peer connects"},
	sReconnectWaited:          {"reconnect-waited", "RC-5", "a reconnect while others wait for the attempt that it ends"},
	sReconnectBusy:            {"reconnect-busy", "RC-6", "a reconnect with calls in flight"},
	sReconnectFailed:          {"reconnect-failed", "RC-3", "a reconnect of a failed peer"},
	sReconnectJoins:           {"reconnect-joins", "RC-5", "a reconnect while another one is under way"},
	sReconnectQueued:          {"reconnect-queued", "RC-5", "a reconnect while the attempt waits for room"},
	sReconnectShared:          {"reconnect-shared", "RC-1", "a reconnect of a connected peer with several claims"},
	sReconnectGhost:           {"reconnect-ghost", "PC-7", "a reconnect by an owner that is dead"},
	sJoinConnecting:           {"join-connecting", "CL-7", "an owner joins a peer that connects"},
	sJoinConnectingAgain:      {"join-connecting-again", "CL-7", "a second owner joins during one connect"},
	sJoinConnected:            {"join-connected", "CL-7", "an owner joins a connected peer"},
	sJoinFailed:               {"join-failed", "CL-7", "an owner joins a failed peer"},
	sJoinQueued:               {"join-queued", "CL-7", "an owner joins a peer whose attempt waits for room"},
	sJoinOrphan:               {"join-orphan", "PC-6", "an owner joins what has lost its last claim and still stops"},
	sJoinOrphanOwn:            {"join-orphan-own", "PC-6", "an owner comes back to its own credential whose process still stops"},
	sMoveInConnect:            {"move-in-connect", "CL-8", "the last claim moves away during a connect"},
	sMoveInCall:               {"move-in-call", "CL-4", "a claim moves while its own call is in flight"},
	sMoveInStop:               {"move-in-stop", "CL-4", "a claim moves away from a peer that stops"},
	sMoveWaiting:              {"move-waiting", "CL-5", "a claim moves with callers who wait"},
	sMoveWaitingToFailed:      {"move-waiting-to-failed", "DI-12", "a claim moves with callers who wait to a peer that has failed"},
	sMoveSharedBusy:           {"move-shared-busy", "PC-2", "a claim moves away from a shared peer with calls in flight"},
	sMoveQueued:               {"move-queued", "CL-5", "a token rotates while the attempt under the old one waits for room"},
	sRedeclareSame:            {"redeclare-same", "CL-6", "a claim is declared again as it is"},
	sRedeclarePolicy:          {"redeclare-policy", "RE-10", "a claim of an unused connected peer gets other wishes"},
	sReleaseInConnect:         {"release-in-connect", "CL-8", "the last claim is released during a connect"},
	sReleaseInCall:            {"release-in-call", "CL-3", "the last claim is released with a call in flight"},
	sReleaseSharedInCall:      {"release-shared-in-call", "PC-2", "a claim of several is released with its own call in flight"},
	sReleaseQueued:            {"release-queued", "PR-6", "a claim is released whose attempt waits for room"},
	sReleaseWaiting:           {"release-waiting", "DI-9", "a claim is released with callers who wait beside others"},
	sReleaseInStop:            {"release-in-stop", "CL-3", "a claim is released while the peer stops and its callers wait"},
	sDieAbandoned:             {"die-abandoned", "PC-5", "an owner dies while a connect that was abandoned still ends"},
	sDieInConnect:             {"die-in-connect", "PC-5", "the last owner dies during a connect"},
	sDieBusyShared:            {"die-busy-shared", "PC-2", "one owner of several dies with its call in flight"},
	sDieBusyFailed:            {"die-busy-failed", "CL-13", "an owner dies with its call in flight on a failed peer"},
	sDieQueueHead:             {"die-queue-head", "PR-6", "the last owner of the attempt dies that is the next to find room"},
	sDieWaitingStop:           {"die-waiting-stop", "CL-13", "an owner dies while its caller waits for a stop"},
	sRebornAtOnce:             {"reborn-at-once", "OL-52", "an owner is reborn in the instant of its death"},
	sCancelLastInStop:         {"cancel-last-in-stop", "DI-9", "the last who waits gives up during a stop"},
	sCancelLastInConnect:      {"cancel-last-in-connect", "DI-9", "the last who waits gives up during a connect"},
	sCancelOneOfMany:          {"cancel-one-of-many", "DI-9", "one of several who wait gives up"},
	sCancelLastQueued:         {"cancel-last-queued", "DI-9", "the last who waits gives up while the attempt waits for room"},
	sCancelCall:               {"cancel-call", "CA-4", "a caller gives up a call in flight"},
	sCancelLastOverdue:        {"cancel-last-overdue", "RE-11", "a caller gives up the last call that kept a failed peer from ageing"},
	sDrainInConnect:           {"drain-in-connect", "SH-1", "a drain during a connect"},
	sDrainInStop:              {"drain-in-stop", "SH-1", "a drain during a stop"},
	sDrainInCall:              {"drain-in-call", "SH-1", "a drain with calls in flight"},
	sDrainQueued:              {"drain-queued", "SH-1", "a drain while attempts wait for room"},
	sDrainFailed:              {"drain-failed", "SH-1", "a drain while the process of a failed peer still runs"},
	sConfigureIdle:            {"configure-idle", "CF-6", "T becomes shorter than a peer has been unused"},
	sConfigureLower:           {"configure-lower", "CF-6", "the bound of live incarnations falls below their number"},
	sConfigureRaise:           {"configure-raise", "CF-6", "the bound of live incarnations rises while attempts wait"},
	sRestartDrainInCall:       {"restart-drain-in-call", "SH-1", "a daemon restarts with calls in flight"},
	sRestartKillInConnect:     {"restart-kill-in-connect", "PR-4", "a daemon is killed while a peer connects"},
	sRestartKillInStop:        {"restart-kill-in-stop", "PR-4", "a daemon is killed while a peer stops"},
	sReloadBusy:               {"reload-busy", "CF-6", "a reload finds calls in flight"},
	sDownMany:                 {"down-many", "CA-6", "a server goes down as a whole with several of its processes"},
	sExpireConnected:          {"expire-connected", "CA-11", "a token ends while its peer is connected"},
	sExpireQueued:             {"expire-queued", "CA-11", "a token ends while the attempt under it waits for room"},
	sConnectOlder:             {"connect-older", "ST-2", "a connect of an older generation is reported while a newer one is connected"},
	sConnectInStop:            {"connect-in-stop", "CL-8", "a connect is reported after it was abandoned"},
	sConnectAfterExit:         {"connect-after-exit", "ST-2", "a connect is reported after the exit of its process"},
	sConnectTwice:             {"connect-twice", "ST-2", "a connect is reported twice"},
	sConnectAtDeadline:        {"connect-at-deadline", "DI-4", "a connect is reported in the very instant of its deadline"},
	sConnectUnwanted:          {"connect-unwanted", "DI-9", "a connect succeeds and nobody waits any more"},
	sConnectMany:              {"connect-many", "DI-2", "a connect succeeds for several who wait"},
	sConnectFailsMany:         {"connect-fails-many", "DI-2", "a connect fails for several who wait"},
	sExitInConnect:            {"exit-in-connect", "CA-6", "a process exits before it connected"},
	sExitIdle:                 {"exit-idle", "CA-6", "a process crashes that nobody uses"},
	sExitClean:                {"exit-clean", "CA-6", "a process that nobody uses exits and says that all is well"},
	sExitBusy:                 {"exit-busy", "CA-7", "a process crashes with calls in flight"},
	sExitFailed:               {"exit-failed", "RE-4", "the process of a failed peer exits before its failure has aged"},
	sExitWaited:               {"exit-waited", "RE-8", "a stop ends that callers wait for"},
	sExitReconnect:            {"exit-reconnect", "RC-1", "a stop ends that a reconnect waits for"},
	sExitOlder:                {"exit-older", "ST-2", "the exit of an older generation is reported again"},
	sExitAtRung:               {"exit-at-rung", "PR-2", "a process exits in the very instant in which its grace is over"},
	sExitStuck:                {"exit-stuck", "ST-9", "a process ends that has outlived SIGKILL"},
	sExitMakesRoom:            {"exit-makes-room", "PR-6", "a process ends while attempts wait for room"},
	sBrokenBusy:               {"broken-busy", "CA-2", "a session is lost with calls in flight"},
	sDoneLate:                 {"done-late", "CA-4", "the answer of a call that has ended already"},
	sDoneAtTimeout:            {"done-at-timeout", "CA-8", "an answer in the very instant of its timeout"},
	sDoneFailed:               {"done-failed", "CA-2", "an answer from a peer that has failed meanwhile"},
	sDoneOverdue:              {"done-overdue", "RE-11", "the last call ends that kept a failed peer from ageing"},
	sDoneDraining:             {"done-draining", "SH-1", "the last call of a peer ends in a drain"},
	sTransportBeside:          {"transport-beside", "CA-2", "a call fails in transport while others are in flight"},
	sRelistShared:             {"relist-shared", "CA-10", "the tools of a peer with several claims change"},
	sRelistBusy:               {"relist-busy", "CA-10", "the tools of a peer change during a call"},
	sEvict:                    {"evict", "RE-3", "a tick evicts a peer"},
	sEvictTwo:                 {"evict-two", "RE-9", "a tick evicts several peers"},
	sEvictAndAge:              {"evict-and-age", "RE-9", "a tick evicts one peer and ages the failure of another"},
	sEvictProtected:           {"evict-protected", "RE-10", "a peer is evicted when its least uptime is over, long after T"},
	sAgeRunning:               {"age-running", "RE-4", "a failure ages while its process still runs"},
	sConnectTimeout:           {"connect-timeout", "DI-4", "an attempt times out that callers wait for"},
	sCallTimeoutBeside:        {"call-timeout-beside", "CA-2", "a call times out while others are in flight"},
	sQueueTimeout:             {"queue-timeout", "PR-6", "an attempt found no room in time"},
	sQueueFull:                {"queue-full", "PR-6", "an attempt is refused because too many wait for room"},
	sWaitersFull:              {"waiters-full", "DI-9", "a caller is refused because too many wait for its peer"},
	sRungTerminate:            {"rung-terminate", "PR-2", "a process ignores the end of its input"},
	sRungKill:                 {"rung-kill", "PR-2", "a process ignores SIGTERM"},
	sDrainCut:                 {"drain-cut", "SH-3", "the grace of a drain ends with calls in flight"},
	sReclaim:                  {"reclaim", "PR-6", "a peer that nobody uses is stopped to make room"},
	sReclaimNewborn:           {"reclaim-newborn", "PR-6", "a peer is stopped to make room in the step that connected it"},
	sServeTakeover:            {"serve-takeover", "OL-9", "a key is registered whose last owner died with it"},
	sServeTakeoverFull:        {"serve-takeover-full", "OL-13", "a key is taken over in a table that its last owner's death left one short of full"},
	sServeDeadFrees:           {"serve-dead-frees", "OL-11", "another key is registered in the place that a death freed in a full table"},
	sServeFull:                {"serve-full", "OL-12", "a register finds a table full of the living"},
	sServeDuplicate:           {"serve-duplicate", "OL-7", "a register finds its key held by another tenant who lives"},
	sServeDuplicateOwn:        {"serve-duplicate-own", "OL-8", "a tenant registers a key that it holds"},
	sServeDuplicateFull:       {"serve-duplicate-full", "OL-14", "a duplicate in a full table"},
	sServeRegisterDead:        {"serve-register-dead", "OL-18", "a register by an owner that is dead"},
	sServeReadyDead:           {"serve-ready-dead", "OL-27", "an owner that is dead marks its entry ready"},
	sServeLateReady:           {"serve-late-ready", "OL-27", "the same after somebody else took the key over"},
	sServeReadyGone:           {"serve-ready-gone", "OL-28", "an entry is marked ready that was taken out"},
	sServeLateStop:            {"serve-late-stop", "OL-30", "a late stop by an owner that is dead, after somebody else took the key over"},
	sServeStopTwice:           {"serve-stop-twice", "OL-31", "an entry is taken out that was taken out before, while its owner lives"},
	sServeResolveHidden:       {"serve-resolve-hidden", "OL-26", "a key is resolved that is held and not ready"},
	sServeResolveDead:         {"serve-resolve-dead", "OL-21", "a key is resolved whose owner died with it"},
	sServeDenied:              {"serve-denied", "OL-38", "a call that the plan denies"},
	sServeCallAfterDeath:      {"serve-call-after-death", "OL-45", "a call of an entry whose owner died after it was resolved"},
	sServeCallAfterTakeover:   {"serve-call-after-takeover", "OL-50", "the same after somebody else took the key over"},
	sServeCallAfterStop:       {"serve-call-after-stop", "OL-29", "a call of an entry that was taken out after it was resolved, while its owner lives"},
	sServeCallInDrain:         {"serve-call-in-drain", "PC-9", "a call of an entry in a drain, which ends processes and no owner"},
	sServeDieInPlan:           {"serve-die-in-plan", "OL-45", "an owner dies while its plan decides"},
	sServeDieInBody:           {"serve-die-in-body", "OL-46", "an owner dies while its body runs"},
	sServeDieBothKinds:        {"serve-die-both-kinds", "OL-20", "an owner dies that serves a tool and a resource"},
	sServeDieWithClaims:       {"serve-die-with-claims", "OL-3", "an owner dies that serves an entry and claims a peer"},
}
