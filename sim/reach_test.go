package sim

import (
	"os"
	"testing"
)

func TestX(t *testing.T) {
	r, res, err := Batch(1, 2000, func(seed uint64) Options { return Hunt(seed) })
	r.Write(os.Stdout)
	if res != nil {
		t.Log(res.Violation, res.Tape.Schedule, res.Tape.Seed)
	}
	_ = err
}
