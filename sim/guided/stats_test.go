package guided

import (
	"fmt"
	"math"
	"slices"
)

// describe puts a sample in words: how many searches found the bug, the median, and the mean with the
// interval that holds it with 95 of a hundred. Searches that found nothing count with the bound.
func describe(xs []uint64) string {
	sorted := slices.Sorted(slices.Values(xs))
	found := 0
	for _, x := range xs {
		found += one(x < stepsBound, 1)
	}
	n := float64(len(xs))
	mean, square := float64(sum(xs))/n, 0.0
	for _, x := range xs {
		square += (float64(x) - mean) * (float64(x) - mean)
	}
	half := 1.96 * math.Sqrt(square/(n-1)/n)
	median := (sorted[len(xs)/2] + sorted[(len(xs)-1)/2]) / 2
	return fmt.Sprintf("%d of %d | %d k | %.0f k ± %.0f k", found, len(xs), median/1000, mean/1000, half/1000)
}
