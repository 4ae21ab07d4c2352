package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// spawnFailed is how every spawn error begins.
const spawnFailed = "failed to spawn MCP server"

// command is a Config made ready to run.
type command struct {
	name string   // as configured
	path string   // what is executed
	argv []string // name and arguments
	env  []string
	dir  string // working directory, empty for the daemon's own
	tag  string // in env, or ""
}

// prepare checks a Config and finds its executable.
func prepare(cfg transport.Config, env []string, dir string) (command, error) {
	c := command{name: cfg.Command, argv: append([]string{cfg.Command}, cfg.Args...), env: env, dir: dir}
	if err := c.checkStrings(); err != nil {
		return c, err
	}
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return c, spawnError(c.name, "working directory "+dir+" is not a directory", "create it, or configure another one", err)
	}
	path, err := find(cfg.Command, lookupEnv(env, "PATH"))
	c.path = path
	return c, err
}

// checkStrings refuses what no system call can carry. It never prints an env value.
func (c *command) checkStrings() error {
	if c.name == "" {
		return spawnError(c.name, "the command is empty", "set command, or url for an HTTP server", nil)
	}
	for i, arg := range c.argv {
		if strings.ContainsRune(arg, 0) {
			return spawnError(strings.ReplaceAll(c.name, "\x00", "\\0"), fmt.Sprintf("argument %d holds a NUL byte", i), "remove it", nil)
		}
	}
	for _, entry := range c.env {
		name, _, _ := strings.Cut(entry, "=")
		if name == "" || strings.ContainsRune(entry, 0) {
			return spawnError(c.name, fmt.Sprintf("env %q has an empty name or holds a NUL byte", name), "correct env", nil)
		}
	}
	return nil
}

// find looks the command up in the PATH of the child. A name with a slash is taken as it
// is. Relative directories of PATH are passed over, as Go's own lookup does: what runs
// must not depend on where the daemon was started.
func find(name, path string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, executable(name, name)
	}
	var denied error
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		err := executable(name, file)
		if err == nil {
			return file, nil
		}
		if denied == nil && !errors.Is(err, fs.ErrNotExist) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", spawnError(name, "not found in PATH", pathHint, fs.ErrNotExist)
}

const pathHint = "peers see the PATH of the daemon or of their own env: install the command there, or configure an absolute path"

// executable says why a file cannot be run, as far as that shows without running it.
func executable(name, file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return spawnError(name, file+" does not exist", pathHint, err)
	case err != nil:
		return spawnError(name, reason(err), "check the permissions of the directories above "+file, err)
	case info.IsDir():
		return spawnError(name, file+" is a directory", "configure the program inside it", fs.ErrPermission)
	case info.Mode()&0o111 == 0:
		return spawnError(name, file+" is not executable", "chmod +x "+file, fs.ErrPermission)
	}
	return nil
}

// spawnFailure explains what the kernel said to an executable that looked fine.
func spawnFailure(c command, err error) error {
	hint := "run the command by hand as the user of the daemon"
	switch {
	case errors.Is(err, syscall.ENOENT):
		hint = "the file exists, so its interpreter does not: look at its first line (#!)"
	case errors.Is(err, syscall.ENOEXEC):
		hint = "the file is no program for this machine, or a script without a first line (#!)"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		hint = "the user of the daemon may not run it, or its filesystem is mounted noexec"
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		hint = "the system is out of processes or memory: lower the number of live peers, or raise ulimit -u"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "the daemon is out of file descriptors (three per peer): raise ulimit -n, or lower the number of live peers"
	case errors.Is(err, syscall.E2BIG):
		hint = "arguments and env together are too long"
	}
	return spawnError(c.name, reason(err), hint, err)
}

// reason is the innermost text of a system error, without paths repeated by wrappers.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return err.Error()
}

// spawnError names the command and says why it did not start (SPEC PR-7).
func spawnError(name, why, hint string, cause error) error {
	return &callerr.Error{
		Kind:     callerr.Transport,
		Phase:    callerr.PhaseSpawn,
		Definite: true,
		Msg:      fmt.Sprintf("%s: %q: %s", spawnFailed, name, why),
		Hint:     hint,
		Err:      cause,
	}
}
