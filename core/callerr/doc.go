// Package callerr types the ways in which a call to a peer can fail.
//
// RFC 0204 observed that one flattened error string made a healthy peer look dead every
// time a model passed a bad argument. The remedy is one typed error: [Rejected] leaves a
// peer alone, [Transport] fails it, [Cancelled] and [Refused] say nothing about it.
//
// The package is a leaf: standard library only. It promises that Kind and Definite are
// set by whoever saw the wire, and that the text carries no secret. It does not classify
// anything itself; transports do.
package callerr
