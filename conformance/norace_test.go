//go:build !race

package conformance

const mutantStep = 1
