// Package lockfile locks a file for as long as its process lives.
//
//	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
//	err = lockfile.Lock(f) // fails at once if another process has it
//
// The lock goes with the file's Close, or with the process. Where the system has no such locks nothing
// is locked.
package lockfile
