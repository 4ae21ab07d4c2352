package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runPeer is what the test binary does as a peer. mode is a list of words:
//
//	ignore-eof, ignore-term   outlive the first rungs of the stop ladder
//	stray                     print junk around every message
//	pages                     answer tools/list in three pages
//	die-on-init               exit 7 on initialize, with a word on stderr
//	leak-on-init              the same, printing LEAK from the environment
//	tell-signals              name every SIGTERM and SIGWINCH on stderr
//	chatter                   talk before initialize and exit 4
//	mute, flood-on-init       do not answer initialize; ask for pongs and read none
//	no-tools                  offer no tools
//	launcher, shell           start "shell" and "ignore-eof,ignore-term" below, and wait
//	lone-launcher             the same, but close the own pipes
func runPeer(mode string) int {
	if helper, ok := helpers[mode]; ok {
		return helper()
	}
	words := strings.Split(mode, ",")
	has := func(word string) bool { return slices.Contains(words, word) }
	if has("ignore-term") {
		signal.Ignore(syscall.SIGTERM)
	}
	if has("tell-signals") {
		tellSignals()
	}
	if has("chatter") { // says what a server may say only later, and leaves
		for range 100 {
			fmt.Println(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		return 4
	}
	if has("launcher") {
		return launch("shell")
	}
	if has("shell") {
		return launchShell()
	}
	p := &peer{has: has, in: bufio.NewReaderSize(os.Stdin, 1<<16), out: os.Stdout, held: map[string]json.RawMessage{}}
	p.serve()
	if has("ignore-eof") {
		forever()
	}
	return 0
}

// forever never returns. The runtime of a program that blocks in all its goroutines ends it,
// unless cgo or a wait for signals keeps it from knowing.
func forever() {
	for range neverSent() {
	}
}

// neverSent receives a signal that nobody sends.
func neverSent() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	return c
}

// tellSignals reports signals, which it otherwise ignores. SIGWINCH serves as a fence: of
// two pending signals the lower number is delivered first.
func tellSignals() {
	got := make(chan os.Signal, 16)
	signal.Notify(got, syscall.SIGTERM, syscall.SIGWINCH)
	go func() {
		for sig := range got {
			fmt.Fprintln(os.Stderr, sig)
		}
	}()
}

// launch runs this binary again, below itself, and waits for it.
func launch(mode string) int {
	exe, _ := os.Executable()
	return run(exec.Command(exe), mode)
}

// launchShell puts a shell between itself and the server.
func launchShell() int {
	exe, _ := os.Executable()
	return run(exec.Command("sh", "-c", `"$0"; exit $?`, exe), "ignore-eof,ignore-term")
}

// run runs a command with our descriptors.
func run(cmd *exec.Cmd, mode string) int {
	cmd.Env = append(os.Environ(), peerVar+"="+mode)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(syscall.SIGTERM)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "launcher:", err)
		return 1
	}
	return 0
}

// peer is a hand-written MCP server that can misbehave.
type peer struct {
	has    func(string) bool
	in     *bufio.Reader
	out    io.Writer
	mu     sync.Mutex
	held   map[string]json.RawMessage // ids of calls to "hold", by name
	gone   []string                   // ids of cancelled requests
	pinged string                     // id of the call that waits for our ping to be answered
}

// request is anything that a client sends.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Cursor    string          `json:"cursor"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// serve answers until the end of input.
func (p *peer) serve() {
	for {
		line, err := p.in.ReadBytes('\n')
		if err != nil {
			return
		}
		var req request
		if json.Unmarshal(line, &req) != nil {
			continue
		}
		if p.has("stray") {
			p.raw("starting up {", "", "null", "[]", `{"foo":1}`, `"text"`, "42", `[{"jsonrpc":"2.0","id":1,"result":{}}]`,
				`{"jsonrpc":"2.0","id":1.5,"result":{"content":[{"type":"text","text":"wrong"}]}}`,
				`{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":99999,"result":{}}`,
				`{"jsonrpc":"1.0","id":2,"result":{}}`, "\x00\xff\xfe", `{"jsonrpc":"2.0","method":"notifications/message","params":{}}`)
		}
		p.handle(req)
	}
}

// handle answers one message.
func (p *peer) handle(req request) {
	switch req.Method {
	case "initialize":
		p.initialize(req)
	case "tools/list":
		p.list(req)
	case "tools/call":
		p.call(req)
	case "notifications/cancelled":
		p.gone = append(p.gone, string(req.Params.RequestID))
	case "":
		if string(req.ID) == `"from-peer"` && req.Result != nil {
			p.text(json.RawMessage(p.pinged), "pong")
		}
	}
}

func (p *peer) initialize(req request) {
	switch {
	case p.has("die-on-init"):
		fmt.Fprintln(os.Stderr, "first line\ncannot open database")
		os.Exit(7)
	case p.has("leak-on-init"):
		fmt.Fprintf(os.Stderr, "token %s refused\n", os.Getenv("LEAK"))
		os.Exit(7)
	case p.has("error-on-init"):
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32099,"message":"no licence for %s"}}`, req.ID, os.Getenv("LEAK")))
		return
	case p.has("version-on-init"):
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"p","version":"1"}}}`, req.ID))
		return
	case p.has("mute"):
		return
	case p.has("flood-on-init"):
		for i := range 200 { // the pong repeats the id, so a dozen of them fill the pipe
			p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d%s","method":"ping"}`, i, strings.Repeat("-", 4096)))
		}
		forever()
	}
	caps := `{"tools":{}}`
	if p.has("no-tools") {
		caps = `{"prompts":{}}`
	}
	p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"p","version":"1"}}}`, req.ID, caps))
}

func (p *peer) list(req request) {
	tool := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"description":"d","inputSchema":{"type":"object","x-big":12345678901234567890}}`, name)
	}
	body := `{"tools":[` + tool("echo") + `]}`
	switch {
	case p.has("no-tools"):
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, req.ID))
		return
	case p.has("bad-list"):
		body = `{"tools":"none"}`
	case p.has("pages") && req.Params.Cursor == "":
		body = `{"tools":[` + tool("one") + `],"nextCursor":"2"}`
	case p.has("pages") && req.Params.Cursor == "2":
		body = `{"tools":[` + tool("two") + `],"nextCursor":"3"}`
	case p.has("pages"):
		body = `{"tools":[` + tool("three") + `]}`
	}
	p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, body))
}

// contents is a result with every kind of content, an unknown one, and a number that no
// float64 holds.
const contents = `{"content":[{"type":"text","text":"a\u003cb"},{"type":"image","data":"aGk=","mimeType":"image/png"},` +
	`{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"file:///x","text":"t"}},` +
	`{"type":"resource_link","uri":"file:///y","name":"y"},{"type":"hologram","depth":3}],` +
	`"structuredContent":{"n":12345678901234567890},"_meta":{"k":[1,2]}}`

// arguments of all tools.
type arguments struct {
	N    int    `json:"n"`
	Name string `json:"name"`
	Text string `json:"text"`
}

func (p *peer) call(req request) {
	var args arguments
	_ = json.Unmarshal(req.Params.Arguments, &args)
	switch req.Params.Name {
	case "echo":
		p.text(req.ID, args.Text)
	case "args":
		p.text(req.ID, string(req.Params.Arguments))
	case "pid":
		p.text(req.ID, fmt.Sprint(os.Getpid()))
	case "env":
		env := os.Environ()
		slices.Sort(env)
		p.text(req.ID, strings.Join(env, "\n"))
	case "fds":
		p.text(req.ID, descriptors())
	case "big":
		p.raw(`{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", args.N) + `"}]}}`)
	case "contents":
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, contents))
	case "code":
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, req.ID, args.N))
	case "tool-error":
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":%q}]}}`, req.ID, args.Text))
	case "raw-reply":
		p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, req.ID, args.Text))
	case "hold":
		p.held[args.Name] = req.ID
	case "release":
		p.text(p.held[args.Name], args.Name)
		p.text(req.ID, "released")
	case "cancelled":
		p.text(req.ID, strings.Join(p.gone, ","))
	default:
		p.talk(req, args)
	}
}

// talk is the tools that say more than one answer.
func (p *peer) talk(req request, args arguments) {
	switch req.Params.Name {
	case "double":
		p.text(req.ID, "first")
		p.text(req.ID, "second")
	case "ping-me":
		p.pinged = string(req.ID)
		p.raw(`{"jsonrpc":"2.0","id":"from-peer","method":"ping"}`)
	case "noisy":
		for range 100 {
			p.raw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		}
		p.text(req.ID, "done")
	case "pings":
		for i := range args.N {
			p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 1000+i))
		}
		p.text(req.ID, "done")
	case "stderr":
		fmt.Fprint(os.Stderr, strings.Repeat("e", args.N)+"\n")
		p.text(req.ID, "done")
	default:
		p.misbehave(req, args)
	}
}

// misbehave is the tools that break the session.
func (p *peer) misbehave(req request, args arguments) {
	switch req.Params.Name {
	case "stop-reading":
		p.text(req.ID, "bye")
		forever()
	case "die":
		fmt.Fprintln(os.Stderr, args.Text)
		os.Exit(args.N)
	case "answer-and-die":
		p.text(req.ID, "last words")
		os.Exit(0)
	case "spawn-holder-and-die":
		spawnHolder()
		fmt.Fprintln(os.Stderr, "leaving a child behind")
		os.Exit(5)
	case "desert":
		pgid, _ := syscall.Getpgid(os.Getppid())
		p.text(req.ID, fmt.Sprint(syscall.Setpgid(0, pgid)))
	case "close-stdout":
		_ = os.Stdout.Close()
		forever()
	case "spawn-escapee":
		p.text(req.ID, fmt.Sprint(spawnEscapee("ignore-eof,ignore-term,deaf")))
	case "spawn-orphan":
		p.text(req.ID, fmt.Sprint(spawnEscapee("forker")))
	case "changed":
		for range args.N {
			p.raw(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		p.text(req.ID, "done")
	case "burn":
		burn(time.Duration(args.N) * time.Millisecond)
		p.text(req.ID, "burnt")
	case "hold-memory":
		memory = bytes.Repeat([]byte("x"), args.N)
		p.text(req.ID, "held")
	case "close-stdin":
		_ = os.Stdin.Close()
		p.text(req.ID, "deaf")
		forever()
	}
}

// memory is what a peer was told to hold.
var memory []byte

// burn computes until this process has taken more processor time by d, by its own account.
func burn(d time.Duration) {
	taken := func() time.Duration {
		var use syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &use)
		return time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	for from, n := taken(), 0; taken() < from+d; {
		for range 100_000 {
			n++
		}
	}
}

// spawnEscapee starts a process in a session of its own, with none of our pipes, and returns
// what it prints, its pid by default.
func spawnEscapee(mode string) string {
	exe, _ := os.Executable()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), peerVar+"="+mode)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if mode == "forker" { // it leaves, and its child is an orphan
		out, _ := cmd.Output()
		return strings.TrimSpace(string(out))
	}
	if err := cmd.Start(); err != nil {
		return err.Error()
	}
	return fmt.Sprint(cmd.Process.Pid)
}

// spawnHolder leaves a grandchild that holds all pipes.
func spawnHolder() {
	exe, _ := os.Executable()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), peerVar+"=ignore-eof,ignore-term,deaf")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// descriptors lists what this process has open, as "fd target" lines.
func descriptors() string {
	var out []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil {
			out = append(out, e.Name()+" "+target)
		}
	}
	return strings.Join(out, "\n")
}

// text answers a call with a text.
func (p *peer) text(id json.RawMessage, text string) {
	quoted, _ := json.Marshal(text)
	p.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, quoted))
}

// raw prints lines.
func (p *peer) raw(lines ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range lines {
		_, _ = io.WriteString(p.out, line+"\n")
	}
}
