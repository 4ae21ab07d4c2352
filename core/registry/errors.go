package registry

import (
	"errors"
	"fmt"
)

// DuplicateError refuses a key that a live owner holds (OL-7).
type DuplicateError struct {
	Kind, Key string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s %q is registered by an owner that is alive", e.Kind, e.Key)
}

// FullError refuses an entry because live ones fill the table (OL-12).
type FullError struct {
	Kind string
	Max  int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("no room for another %s: %d are registered by owners that are alive, and that is the maximum", e.Kind, e.Max)
}

// UnavailableError says that a key cannot be called now: nobody registered it, it is not
// ready, or its owner is gone. Callers cannot tell these apart (OL-48).
type UnavailableError struct {
	Kind, Key string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s %.256q is not available", e.Kind, e.Key) // a key that nobody registered has any length
}

// DeniedError says that the entry's plan does not let the caller call. It wraps ErrNoToken or
// ErrWrongToken.
type DeniedError struct {
	Kind, Key string
	Reason    error
}

func (e *DeniedError) Error() string { return fmt.Sprintf("%s %q: %v", e.Kind, e.Key, e.Reason) }
func (e *DeniedError) Unwrap() error { return e.Reason }

// DiedError says that the owner died while the body ran (OL-46). It wraps the cause of death.
type DiedError struct {
	Kind, Key string
	Cause     error
}

func (e *DiedError) Error() string {
	return fmt.Sprintf("%s %q ended during the call: %v", e.Kind, e.Key, e.Cause)
}
func (e *DiedError) Unwrap() error { return e.Cause }

// PanicError says that the body panicked. Its text names the type of the value and not the
// value, which may hold anything, secrets too.
type PanicError struct {
	Kind, Key string
	Value     any
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s %q failed: its body panicked with a %T", e.Kind, e.Key, e.Value)
}

var (
	// ErrDeadOwner refuses what a dead owner asks for (OL-18, OL-19). The error that wraps it
	// wraps the cause of death as well.
	ErrDeadOwner = errors.New("the owner is not alive")
	// ErrUnregistered answers Ready on an entry that was taken out.
	ErrUnregistered = errors.New("the entry was unregistered")
	// ErrNoAnswer says that a body exited its goroutine instead of returning.
	ErrNoAnswer = errors.New("the body ended without an answer")
)

func deadOwner(cause error) error { return fmt.Errorf("%w: %w", ErrDeadOwner, cause) }
