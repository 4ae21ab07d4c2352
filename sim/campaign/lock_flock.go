//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package campaign

import (
	"os"
	"syscall"
)

// lockFile takes an exclusive lock, which ends with its process, or fails at once when
// somebody has it.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
