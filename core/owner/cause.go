package owner

import (
	"errors"
	"fmt"
)

// Causes of death, for errors.Is. An owner whose context or parent ended has their cause.
var (
	// ErrClosed: Close was called.
	ErrClosed = errors.New("owner was closed")
	// ErrReturned: the function under Run returned, with the error that is wrapped beside
	// it, if any, or its goroutine exited.
	ErrReturned = errors.New("owner's function has ended")
)

var (
	errGoexit  = fmt.Errorf("%w by exiting its goroutine", ErrReturned)
	errNoOwner = errors.New("there is no owner; make one with New")
)

func returned(err error) error {
	if err == nil {
		return ErrReturned
	}
	return fmt.Errorf("%w: %w", ErrReturned, err)
}

// PanicError is the cause of death when the function under Run panicked.
type PanicError struct {
	Value any // what it panicked with
}

// Error names the type of the value and not the value, which may hold anything, secrets too.
func (e *PanicError) Error() string {
	return fmt.Sprintf("owner's function panicked with a %T", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
