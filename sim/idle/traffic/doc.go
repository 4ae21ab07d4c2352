// Package traffic says who calls what, and when: the callers that the idle bench puts before
// the lifecycle machine.
package traffic
