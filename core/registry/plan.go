package registry

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
)

// Caller is who calls, as far as the transport knows.
type Caller struct {
	Token string // the bearer token that came with the request; "" is none
}

// String hides the token, for logs that print a Caller by accident.
func (c Caller) String() string {
	if c.Token == "" {
		return "caller without a token"
	}
	return "caller with a token"
}

// GoString hides the token from %#v as well.
func (c Caller) GoString() string { return c.String() }

// Plan says who may call an entry. It is made by [Public], [Bearer] or [Secret]; there is no
// default, and an entry without a plan is refused (OL-39).
type Plan interface {
	// admit returns nil for a caller who may call. The error may be shown to callers.
	admit(ctx context.Context, c Caller) error
	// String names the kind of plan, for listings and logs.
	String() string
}

// ErrNoToken and ErrWrongToken are why a Bearer plan denies.
var (
	ErrNoToken    = errors.New("a bearer token is needed")
	ErrWrongToken = errors.New("the bearer token is not accepted")
)

// Public lets everybody call.
func Public() Plan { return public{} }

type public struct{}

func (public) admit(context.Context, Caller) error { return nil }
func (public) String() string                      { return "public" }

// Verifier reports whether a token may call. It is asked on every call, by many goroutines,
// and must mind ctx. Its error is never shown to the caller; one that panics accepts nobody.
type Verifier func(ctx context.Context, token string) error

// Bearer lets those call whose token the verifier accepts. A nil verifier accepts nobody.
func Bearer(v Verifier) Plan { return bearer{v} }

type bearer struct{ verify Verifier }

func (b bearer) String() string { return "bearer" }

func (b bearer) admit(ctx context.Context, c Caller) (err error) {
	if c.Token == "" {
		return ErrNoToken
	}
	defer func() {
		if recover() != nil { // what it panicked with may hold the token
			err = ErrWrongToken
		}
	}()
	if b.verify == nil || b.verify(ctx, c.Token) != nil {
		return ErrWrongToken
	}
	return nil
}

// Secret lets those call whose token has one of these SHA-256 sums. The sums are compared in
// constant time, and the tokens themselves are never kept.
func Secret(sums ...[sha256.Size]byte) Plan { return secret{sums} }

type secret struct{ sums [][sha256.Size]byte }

func (s secret) String() string { return "bearer" }

func (s secret) admit(_ context.Context, c Caller) error {
	if c.Token == "" {
		return ErrNoToken
	}
	sum := sha256.Sum256([]byte(c.Token))
	found := 0
	for i := range s.sums {
		found |= subtle.ConstantTimeCompare(sum[:], s.sums[i][:])
	}
	if found == 0 {
		return ErrWrongToken
	}
	return nil
}
