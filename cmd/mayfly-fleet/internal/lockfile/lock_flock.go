//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lockfile

import (
	"os"
	"syscall"
)

// Lock takes an exclusive lock, which ends with its process, or fails at once when
// somebody has it.
func Lock(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
