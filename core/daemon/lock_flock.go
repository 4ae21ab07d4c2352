//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package daemon

import (
	"os"
	"syscall"
)

// lockFile takes an exclusive lock, or fails at once when somebody has it.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
