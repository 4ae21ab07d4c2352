package sim

import "testing"

// reachSeeds are enough for every situation, with some to spare.
const reachSeeds = 500

func TestEverySituation(t *testing.T) {
	_, broken, err := Batch(1, reachSeeds, Hunt)
	if broken != nil {
		t.Fatal(broken.Violation)
	}
	if err != nil {
		t.Error(err)
	}
}
