package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// detections are small tapes and everything that they come to, one or two for each function that
// detects: a near miss stands beside its hit. T is 20 s, a call may take 60 s, a rung 2 s.
var detections = []struct {
	name  string
	room  int // MaxLive
	lines string
	want  string
}{
	{"a call joins a connect", 0, `
0s t1 born
0s t1 declare m1 s1
1s dial s1 connects 2s tools=1 obeys=close stop=10ms
1s t1 dispatch m1 answered 1s
2s t1 dispatch m1 answered 1s`, "dispatch-first=1 dispatch-joins-connect=1 connect-many=1 evict=1"},
	{"a call comes when the connect is over", 0, `
0s t1 born
0s t1 declare m1 s1
1s dial s1 connects 2s tools=1 obeys=close stop=10ms
1s t1 dispatch m1 answered 1s
3.5s t1 dispatch m1 answered 1s`, "dispatch-first=1 evict=1"},
	{"a call in the instant of T", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 4s
25s t1 dispatch m1 answered 1s`, "dispatch-first=1 dispatch-at-expiry=1 evict=1"},
	{"a call just after the eviction", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=terminate stop=10ms
0s t1 dispatch m1 answered 4s
25.000000001s t1 dispatch m1 answered 1s`, "dispatch-first=1 dispatch-in-stop=1 dispatch-after-eviction=1 exit-waited=1 evict=2 rung-terminate=1"},
	{"a call and a reconnect of a failed peer", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 fails 1s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 1s
2s t1 dispatch m1 answered 1s
3s t1 ensure m1
4s t1 reconnect m1`, "dispatch-first=1 dispatch-failed=1 ensure-failed=1 reconnect-failed=1 evict=1"},
	{"a reconnect with a call in flight, and one beside it", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=terminate stop=10ms
0s t1 dispatch m1 answered 20s
2s t1 reconnect m1
3s t1 reconnect m1`, "dispatch-first=1 reconnect-busy=1 reconnect-joins=1 connect-many=1 exit-waited=1 exit-reconnect=1 evict=1 rung-terminate=1"},
	{"two owners join one connect", 0, `
0s t1 born
0s t2 born
0s t3 born
0s t1 declare m1 s1
0s dial s1 connects 5s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 1s
1s t2 declare m1 s1
2s t3 declare m1 s1
6s t3 declare m2 s1`, "dispatch-first=1 join-connecting=2 join-connecting-again=1 join-connected=1 evict=1"},
	{"a claim moves with its call, then with its callers", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 9s
2s t1 declare m1 s2
3s dial s2 connects 5s tools=1 obeys=close stop=10ms
3s t1 dispatch m1 answered 1s
4s t1 declare m1 s3`, "dispatch-first=2 move-in-connect=1 move-in-call=1 move-waiting=1 evict=1"},
	{"the same again, and with other wishes", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 ensure m1
1s t1 declare m1 s1
2s t1 declare m1 s1 pinned
3s t1 declare m1 s1 pinned`, "redeclare-same=2 redeclare-policy=1"},
	{"releases of the last claim and of one of two, in calls", 0, `
0s t1 born
0s t2 born
0s t1 declare m1 s1
0s t2 declare m1 s1
0s t1 dispatch m1 answered 9s
0s t2 dispatch m1 answered 9s
2s t1 release m1
3s t2 release m1`, "dispatch-first=1 dispatch-joins-connect=1 release-in-call=1 release-shared-in-call=1 connect-many=1"},
	{"deaths in calls, in a connect and after it was abandoned", 0, `
0s t1 born
0s t2 born
0s t3 born
0s t1 declare m1 s1
0s t2 declare m1 s1
0s t3 declare m1 s2
0s dial s1 connects 1s tools=1 obeys=close stop=10ms
0s dial s2 connects 9s tools=1 obeys=terminate stop=10ms
0s t1 dispatch m1 answered 9s
0s t3 dispatch m1 answered 9s
2s t1 die
2s t3 reconnect m1
3s t3 die
3s t3 born
4s t1 born`, "dispatch-first=2 reconnect-in-connect=1 reconnect-waited=1 die-abandoned=1 die-busy-shared=1 die-waiting-stop=1 reborn-at-once=1 evict=1 rung-terminate=1"},
	{"callers give up", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 3s tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 9s
0s t1 dispatch m1 answered 9s
1s t1 cancel m1
2s t1 cancel m1
4s t1 dispatch m1 answered 9s
5s t1 cancel m1`, "dispatch-first=1 dispatch-joins-connect=1 cancel-last-in-connect=1 cancel-one-of-many=1 cancel-call=1 connect-unwanted=1 evict=1"},
	{"a drain in a connect, in a call and in a stop", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s2
0s t1 declare m3 s3
0s dial s1 connects 1s tools=1 obeys=close stop=10ms
0s dial s2 connects 9s tools=1 obeys=close stop=10ms
0s dial s3 connects 1s tools=1 obeys=terminate stop=10ms
0s t1 dispatch m1 answered 4s
0s t1 dispatch m2 answered 9s
0s t1 dispatch m3 answered 1s
2s t1 release m3
3s drain
3s t1 dispatch m1 answered 1s`, "dispatch-first=3 dispatch-draining=1 release-in-call=1 drain-in-connect=1 drain-in-stop=1 drain-in-call=1 done-draining=1 rung-terminate=1"},
	{"reconfigurations", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s2
0s t1 ensure m1
0s t1 ensure m2
5s configure idle-timeout=10s max-live=2
11s configure idle-timeout=5s max-live=1
12s configure idle-timeout=30s max-live=2`, "configure-idle=1 configure-lower=1 evict=1 evict-two=1"},
	{"room is scarce", 1, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s2
0s t1 dispatch m1 answered 1s
5s t1 dispatch m2 answered 1s
5s t1 dispatch m1 answered 1s
6s t1 dispatch m1 answered 1s`, "dispatch-first=2 dispatch-in-stop=1 dispatch-in-reclaim=1 dispatch-queued=1 connect-many=1 exit-waited=1 exit-makes-room=2 evict=1 reclaim=2"},
	{"a crash in a call, a crash alone, a clean exit", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s2
0s t1 declare m3 s3
0s dial s1 connects 1s tools=1 obeys=close stop=10ms lives=2s
0s dial s2 connects 1s tools=1 obeys=close stop=10ms lives=2s
0s dial s3 connects 1s tools=1 obeys=close stop=10ms lives=2s clean
0s t1 dispatch m1 answered 9s
0s t1 ensure m2
0s t1 ensure m3`, "dispatch-first=1 exit-idle=1 exit-clean=1 exit-busy=1"},
	{"completions twice, late and of an older generation", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=close stop=10ms late twice
0s dial s1 connects 200ms tools=1 obeys=close stop=10ms
0s t1 dispatch m1 answered 2s late
0.5s t1 reconnect m1
1s t1 cancel m1
9s t1 dispatch m1 answered 1s`, "dispatch-first=1 reconnect-in-connect=1 reconnect-waited=1 cancel-call=1 connect-older=2 connect-many=1 exit-waited=1 exit-reconnect=1 exit-older=1 done-late=1 evict=1"},
	{"an answer in the instant of its timeout", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 answered 1m0s
1m30s t1 dispatch m1 never 1s`, "dispatch-first=1 done-at-timeout=1 evict=1 age-running=1"},
	{"a call is lost beside another, and the last one lets a failure age", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 dispatch m1 transport 1s
0s t1 dispatch m1 answered 40s`, "dispatch-first=1 dispatch-joins-connect=1 connect-many=1 done-failed=1 done-overdue=1 transport-beside=1 age-running=1"},
	{"an eviction and an ageing in one tick", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s2
0s dial s1 connects 1s tools=1 obeys=close stop=10ms
0s dial s2 fails 1s tools=1 obeys=close stop=10ms
0s t1 ensure m1
0s t1 ensure m2`, "evict=1 evict-and-age=1"},
	{"the rungs of a stop", 0, `
0s t1 born
0s t1 declare m1 s1
0s dial s1 connects 1s tools=1 obeys=kill stop=5s
0s t1 dispatch m1 answered 1s
3s t1 release m1`, "dispatch-first=1 exit-at-rung=1 rung-terminate=1 rung-kill=1"},
	{"a daemon is killed, a server goes down, a token ends", 0, `
0s t1 born
0s t1 declare m1 s1
0s t1 declare m2 s1/t1.0
0s t1 declare m3 s2
0s dial s2 connects 9s tools=1 obeys=close stop=10ms
0s t1 ensure m1
0s t1 ensure m2
0s t1 ensure m3
1s expire t1.0
2s down s1 1s
3s restart kill 1s`, "restart-kill-in-connect=1 down-many=1 expire-connected=1 exit-idle=2"},
}

// reached lists what a tape comes to, without the recovery at its end.
func reached(t *testing.T, room int, lines string) string {
	t.Helper()
	tape := quietTape()
	tape.Entries, tape.Config.MaxLive, tape.For, tape.Tenants = nil, room, 2*time.Minute, 3
	text := strings.Replace(tape.String(), "begin\n", "begin"+lines+"\n", 1)
	tape, err := Decode("x.tape", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Replay(tape, Options{hasty: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Violation != nil {
		t.Fatal(res.Violation)
	}
	var out []string
	for i, n := range res.Reached {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s=%d", situations[i].ID, n))
		}
	}
	return strings.Join(out, " ")
}

// TestDetection holds every detector to exactly what it is for: whatever else a tape comes to
// must be listed too.
func TestDetection(t *testing.T) {
	for _, c := range detections {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, reached(t, c.room, c.lines)); d != "" {
				t.Error(d)
			}
		})
	}
}
