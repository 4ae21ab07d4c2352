package idle

import (
	"context"
	"errors"
)

// Cell is one configuration of a sweep; its Seed is replaced by each of the sweep's seeds.
type Cell struct {
	Name   string
	Config Config
}

// Run plays one configuration.
func Run(c Config) (Result, error) {
	return Result{}, errors.New("not built yet")
}

// Sweep plays every cell under every seed on so many workers, and returns the cells in their order.
// progress, if set, is called from one goroutine at a time with the number of runs that have ended. A context that ends
// stops the runs under way.
func Sweep(ctx context.Context, cells []Cell, seeds []uint64, workers int, progress func(done, of int)) ([]Summary, error) {
	return nil, errors.New("not built yet")
}
