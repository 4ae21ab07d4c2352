//go:build unix

package stdio

import "syscall"

// descriptorLimit returns the soft and the hard limit of open files.
func descriptorLimit() (soft, hard uint64, err error) {
	var lim syscall.Rlimit
	err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim)
	return uint64(lim.Cur), uint64(lim.Max), err
}

// raiseDescriptorLimit sets the soft limit.
func raiseDescriptorLimit(soft uint64) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	lim.Cur = rlimit(soft, lim.Cur)
	return syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim)
}

// rlimit is v in the type that the system counts limits in.
func rlimit[T int64 | uint64](v uint64, _ T) T { return T(min(v, 1<<62)) }
