package sim

import (
	"strings"
	"testing"
)

// servedOptions is a small world in which much is served.
func servedOptions(seed uint64) Options {
	o := Hunt(seed)
	o.Mix.Serve, o.Mix.Restart, o.Mix.Die = 700, 300, 100
	return o
}

// A registry in the world leaves a run as certain as it was: twice the same, and from its tape again.
func TestServedIsDeterministic(t *testing.T) {
	for seed := uint64(1); seed <= 6; seed++ {
		o := servedOptions(seed)
		if err := Guard(o); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		o.Record = true
		res := mustRun(t, o)
		if res.Violation != nil {
			t.Fatal(res.Violation)
		}
		if res.Actions[OpCall] == 0 || res.Reached[sServeDieWithClaims] == 0 || !strings.HasPrefix(res.Tape.String(), servedMagic) {
			t.Errorf("seed %d: %d calls, %d deaths with claims and entries; the test is empty", seed, res.Actions[OpCall], res.Reached[sServeDieWithClaims])
		}
		tape, err := Decode("x", strings.NewReader(res.Tape.String()))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Replay(tape, Options{})
		if err != nil || again.Hash != res.Hash {
			t.Errorf("seed %d: its tape gave %016x, %v, and the run %016x", seed, again.Hash, err, res.Hash)
		}
	}
}

// What is drawn of a world is the same whether or not there is a registry beside it, for as long as
// nobody dies of that.
func TestServedDrawsForItself(t *testing.T) {
	with, without := servedOptions(3), servedOptions(3)
	with.Record, without.Record = true, true
	without.Mix.Serve = 0
	a, b := mustRun(t, with).Tape.Entries, mustRun(t, without).Tape.Entries
	for i, k := 0, 0; k < len(b); i, k = i+1, k+1 {
		for a[i].Op.serves() {
			if a[i].Serve >= DieInPlan {
				return
			}
			i++
		}
		if a[i].String() != b[k].String() {
			t.Fatalf("entry %d is %v, and %v without a registry", k, &a[i], &b[k])
		}
	}
}

// Whoever was resolved before it died is not called, and not taken for its successor (OL-45, OL-50).
func TestServedTape(t *testing.T) {
	const entries = `begin
0s t1 born
0s t2 born
0s t1 declare m1 s1
1s t1 register k1 secret
1s t1 ready k1
1s t2 register k1
2s t2 resolve k1
2s t2 call k1
2s t2 call k1 as t1
3s t1 die
3s t2 register k1
3s t2 call k1 as t1
4s t1 ready k1
4s t1 unregister k1
4s t2 ready k1
5s t2 resolve k1
5s t2 call k1 dies-in-body
end
`
	tape, err := Decode("served.tape", strings.NewReader(withVersion("4", entries)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Replay(tape, Options{})
	if err != nil || res.Violation != nil {
		t.Fatal(err, res.Violation)
	}
	for _, s := range []situation{sServeDuplicate, sServeDenied, sServeDieWithClaims, sServeTakeover, sServeCallAfterDeath,
		sServeCallAfterTakeover, sServeLateReady, sServeLateStop, sServeDieInBody} {
		if res.Reached[s] != 1 {
			t.Errorf("%s was come to %d times, not once", situations[s].ID, res.Reached[s])
		}
	}
	if res.Actions[OpDie] != 2 {
		t.Errorf("%d died, not one by itself and one in its body", res.Actions[OpDie])
	}
}
