//go:build !race

package idle

// agreeGaps is how many gaps each check is played for by default.
const agreeGaps = 60_000
