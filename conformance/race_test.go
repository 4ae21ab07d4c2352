//go:build race

package conformance

// Under the race detector every daemon and peer is instrumented as well and takes many times
// as long, so only every fourth mutant is tried then; the plain run has them all.
const mutantStep = 4
