//go:build race

package idle

// agreeGaps is small under the race detector, which looks at the workers and not at the numbers.
const agreeGaps = minAgreeGaps
