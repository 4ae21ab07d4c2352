package conformance

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/conformance/adapter"
	"github.com/mayfly-mcp/mayfly/fakes/llm"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// Target is what gets certified. Exactly one of Argv and Address says where it is, or Driver.
type Target struct {
	// Name says in reports what was certified.
	Name string
	// Argv is a command that runs a daemon in a home directory. Placeholders such as "{home}" are
	// filled in; see Placeholders.
	Argv []string
	// Env is the daemon's whole environment; nil means that of this process.
	Env []string
	// Vars are KEY=VALUE entries added to Env, with placeholders.
	Vars []string
	// Socket is where the daemon listens, below its home.
	Socket string
	// MCPPort is the file, below its home, in which the daemon says at which port of 127.0.0.1 it
	// serves MCP. Empty means that it does not.
	MCPPort string
	// Config is where the configuration goes, below its home. Empty means config.toml.
	Config string
	// Template is the configuration, with placeholders. Empty means DefaultTemplate.
	Template string
	// Stop is the signal that asks a daemon to end in order. Zero means SIGTERM.
	Stop syscall.Signal
	// Network and Address are those of a daemon that runs already: unix or tcp.
	Network, Address string
	// Model is the host:port at which the model endpoint of the run is to listen, since a daemon
	// that runs already has been told where it is. Empty means a free port, and that such a daemon
	// cannot be made to call tools.
	Model string
	// Adapter says that Argv is a program that speaks the adapter protocol.
	Adapter bool
	// Driver makes a daemon of this process, as a test of it may want: one for each check.
	Driver func() adapter.Driver
	// Peer is the executable that becomes an observer peer when its first argument is "peer".
	Peer string

	dialect *Dialect        // what the preflight found out
	can     []Capability    // of an adapter, by its own word
	model   *llm.Server     // the run's, when there is one for all checks
	guard   *observer.Guard // the run's
	bound   time.Duration   // for a first answer, and for taking a check's agents back; zero means the constants
	settle  time.Duration   // how long an expectation, or that a declaration comes into force, is waited for; likewise
}

// DefaultSocket is where a daemon listens, below its home.
var DefaultSocket = filepath.Join("run", "crabtalk.sock")

// DefaultMCPPort is the file in which a daemon says where it serves MCP, below its home.
var DefaultMCPPort = filepath.Join("run", "mcp.port")

// Embedded is the reference daemon: the given mayfly executable as "mayfly serve".
func Embedded(exe string) Target {
	return Target{
		Name:     "embedded",
		Argv:     []string{exe, "serve", "-until-eof", "-home", "{home}", "-tcp", "127.0.0.1:0", "-mcp", "127.0.0.1:0"},
		Socket:   DefaultSocket,
		MCPPort:  DefaultMCPPort,
		Template: embeddedTemplate,
		Peer:     exe,
	}
}

// ParseTarget reads what -target says. peer is the executable of the observer peers.
func ParseTarget(spec, peer string) (Target, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	if spec == "embedded" {
		return Embedded(peer), nil
	}
	t := Target{Name: spec, Socket: DefaultSocket, MCPPort: DefaultMCPPort, Template: DefaultTemplate, Peer: peer}
	if rest == "" {
		return t, fmt.Errorf("the target %q says nothing; use embedded, exec:COMMAND, unix:PATH, tcp:HOST:PORT or adapter:PROGRAM", spec)
	}
	switch kind {
	case "exec", "adapter":
		words, err := splitWords(rest)
		if err != nil {
			return t, fmt.Errorf("the command of the target: %w", err)
		}
		t.Adapter = kind == "adapter"
		return t.command(kind, words)
	case "unix":
		t.Network, t.Address, t.Name = "unix", rest, "unix:"+filepath.Base(rest)
		return t, nil
	case "tcp":
		if _, _, err := net.SplitHostPort(rest); err != nil {
			return t, fmt.Errorf("the target %q is no tcp:HOST:PORT: %w", spec, err)
		}
		t.Network, t.Address = "tcp", rest
		return t, nil
	}
	return t, fmt.Errorf("there is no kind of target %q; use embedded, exec:COMMAND, unix:PATH, tcp:HOST:PORT or adapter:PROGRAM", kind)
}

// command takes leading KEY=VALUE words as variables, as a shell does.
func (t Target) command(kind string, words []string) (Target, error) {
	for len(words) > 0 && isAssignment(words[0]) {
		t.Vars, words = append(t.Vars, words[0]), words[1:]
	}
	if len(words) == 0 {
		return t, fmt.Errorf("the target has variables and no command")
	}
	if strings.ContainsRune(words[0], filepath.Separator) { // checks run elsewhere
		abs, err := filepath.Abs(words[0])
		if err != nil {
			return t, err
		}
		words[0] = abs
	}
	t.Argv, t.Name = words, kind+":"+filepath.Base(words[0])
	return t, t.checkPlaceholders()
}

func isAssignment(word string) bool {
	key, _, found := strings.Cut(word, "=")
	return found && key != "" && !strings.ContainsAny(key, `/{}-. `)
}

// owned reports whether the runner starts the daemon, and so may end it.
func (t Target) owned() bool { return t.Network == "" }

// driven reports whether a driver stands between the checks and the daemon.
func (t Target) driven() bool { return t.Adapter || t.Driver != nil }

func (t Target) environ() []string {
	env := t.Env
	if env == nil {
		env = os.Environ()
	}
	return env[:len(env):len(env)]
}

// splitWords splits a command line at spaces. Quotes and backslashes are as in a shell; nothing
// is expanded.
func splitWords(s string) (words []string, err error) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("%q ends within quotes or after a backslash", s)
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
