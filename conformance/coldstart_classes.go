package conformance

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/llm"
)

// ColdStart says which servers the cold-start check measures besides those of its own.
type ColdStart struct {
	// Prefix is an npm prefix in which the packages of ColdStartPackages are installed, so that no
	// network is measured. Without it the classes of Node.js are not applicable.
	Prefix string
	// Servers are the caller's.
	Servers []Server
}

// Server is a server command of the caller's.
type Server struct {
	Name    string
	Tool    string // called without arguments; empty means that the tools are listed instead
	Command []string
}

// ColdStartPackages are what belongs in the npm prefix.
var ColdStartPackages = []string{
	"@modelcontextprotocol/server-everything@2026.8.31",
	"@modelcontextprotocol/server-filesystem@2026.8.31",
	"@modelcontextprotocol/server-memory@2026.8.31",
}

// maxServers bounds the caller's servers: each takes time from the others.
const maxServers = 4

var serverName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,30}$`)

// ParseServer reads NAME=COMMAND, or NAME:TOOL=COMMAND with the tool that is to be called.
func ParseServer(spec string) (Server, error) {
	name, command, found := strings.Cut(spec, "=")
	name, tool, _ := strings.Cut(name, ":")
	if !found || !serverName.MatchString(name) {
		return Server{}, fmt.Errorf("a server is NAME=COMMAND or NAME:TOOL=COMMAND, with a NAME of small letters, digits, dots and dashes")
	}
	words, err := splitWords(command)
	if err != nil {
		return Server{}, fmt.Errorf("the command of server %s: %w", name, err)
	}
	if len(words) == 0 {
		return Server{}, fmt.Errorf("server %s has no command", name)
	}
	if strings.ContainsRune(words[0], filepath.Separator) { // daemons start elsewhere
		if words[0], err = filepath.Abs(words[0]); err != nil {
			return Server{}, err
		}
	}
	return Server{Name: name, Tool: tool, Command: words}, nil
}

// serverClass is a kind of server whose cold start is measured.
type serverClass struct {
	id, title string
	start     time.Duration // of an observer peer
	command   []string      // of a real server; nil is an observer peer
	call      llm.ToolCall
	peers     int    // how many of it there are: samples cost what a start costs
	absent    string // why there are none
}

// helloText is what an observer peer and the Go server are to answer.
const helloText = "hello"

// Calls of echo: the Go server takes no argument that it does not know.
var (
	echoCall    = llm.Call("echo", map[string]string{"text": helloText})
	messageCall = llm.Call("echo", map[string]string{"message": helloText})
)

// Peers of a class by what one start takes: many of those that start in no time, whose tail can
// be known, and one of those that take seconds.
const (
	manyPeers = 40
	somePeers = 5
	fewPeers  = 3
	onePeer   = 1
)

// classes are all that are measured. peer is the executable of the observer peers.
func (o ColdStart) classes(peer string) []serverClass {
	all := []serverClass{
		{id: "observer-0", title: "an observer peer that starts at once", call: echoCall, peers: manyPeers},
		{id: "observer-0.3s", title: "an observer peer that takes 0.3 s to start", start: 300 * time.Millisecond, call: echoCall, peers: somePeers},
		{id: "observer-3s", title: "an observer peer that takes 3 s to start", start: 3 * time.Second, call: echoCall, peers: onePeer},
		{id: "go-sdk", title: "a server made with the Go SDK", command: []string{peer, "peer", goServerWord}, call: echoCall, peers: manyPeers},
	}
	all = append(all, o.node()...)
	for _, s := range o.Servers {
		all = append(all, serverClass{id: "yours-" + s.Name, title: "a server of yours", command: s.Command, call: llm.Call(s.Tool, nil), peers: fewPeers})
	}
	return all
}

// node are the public servers, each as node runs it, and one as npx does.
func (o ColdStart) node() []serverClass {
	bin := func(name string) string { return filepath.Join(o.Prefix, "node_modules", ".bin", name) }
	there := []string{"sh", "-c", `cd "$0" && exec "$@"`, o.Prefix, "npx", "--offline", "-y", "@modelcontextprotocol/server-everything"}
	all := []serverClass{
		{id: "node-everything", title: "server-everything, run by node", command: []string{"node", bin("mcp-server-everything")}, call: messageCall, peers: fewPeers},
		{id: "node-filesystem", title: "server-filesystem, run by node", command: []string{"node", bin("mcp-server-filesystem"), o.Prefix},
			call: llm.Call("list_allowed_directories", nil), peers: fewPeers},
		{id: "node-memory", title: "server-memory, run by node", command: []string{"node", bin("mcp-server-memory")}, call: llm.Call("read_graph", nil), peers: fewPeers},
		{id: "npx-everything", title: "server-everything, run by npx from what is installed", command: there, call: messageCall, peers: fewPeers},
	}
	for i := range all {
		all[i].absent = o.lacks(all[i], bin)
	}
	return all
}

// lacks says what a class of Node.js needs that is not there.
func (o ColdStart) lacks(c serverClass, bin func(string) string) string {
	program, name, _ := strings.Cut(c.id, "-")
	if missing := Missing([]string{program}); len(missing) > 0 {
		return fmt.Sprintf("%s is not in PATH", program)
	}
	if o.Prefix == "" {
		return "no npm prefix was named that holds it; npm install --prefix DIR " + strings.Join(ColdStartPackages, " ") +
			", then name DIR with -npx-prefix or MAYFLY_NPX_PREFIX"
	}
	if len(Missing([]string{bin("mcp-server-" + name)})) > 0 {
		return "the npm prefix does not hold server-" + name
	}
	return ""
}
