package observer

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// inForce takes the rules that apply to an arrival, counting it against their Times. The
// caller holds p.mu.
func (p *peer) inForce(at Point, tool string) []Rule {
	var out []Rule
	for i, r := range p.behaviour.Rules {
		if r.At != at || r.Tool != "" && r.Tool != tool {
			continue
		}
		p.arrivals[i]++
		if r.Times == 0 || p.arrivals[i] <= r.Times {
			out = append(out, r)
		}
	}
	return out
}

// perform does one rule, and says false for those that are about the answer.
func (p *peer) perform(r Rule, req *request) bool {
	switch r.Do {
	case Exit:
		p.end(r.Code)
		select {} // the process is ending; nothing may be answered meanwhile
	case Crash:
		killSelf()
		select {}
	case Delay:
		req.unsure()
		<-time.After(r.For)
	case Noise:
		p.noise(max(1, r.N))
	case Stderr:
		req.unsure()
		p.flood(r.N)
	case Notify:
		for i := range max(1, r.N) {
			p.notify("notifications/message", map[string]any{"level": "info", "data": fmt.Sprintf("message %d", i+1)})
		}
	case Ping:
		p.mu.Lock()
		p.pings++
		id := fmt.Sprintf(`"server-ping-%d"`, p.pings)
		p.mu.Unlock()
		p.send(message{ID: []byte(id), Method: "ping"})
	case ListChanged:
		p.mu.Lock()
		p.behaviour.Tools = r.Tools
		p.mu.Unlock()
		p.notify("notifications/tools/list_changed", nil)
	case Fork:
		p.fork(r.Child)
	case CloseStdout:
		p.closeStdout()
	case StopReading:
		p.stopReading()
	case Hang, Late, Double, UnknownID, RPCError, IsError, Large, Empty, Garbled, Truncate:
		return false
	}
	return true
}

// noiseLines are what a careless server prints: text, and JSON that is no JSON-RPC.
var noiseLines = []string{"server is ready", "null", "[]", `{"foo":1}`, "\x1b[32mok\x1b[0m", `"text"`, "{", ""}

func (p *peer) noise(n int) {
	p.out.Lock()
	defer p.out.Unlock()
	for i := range n {
		p.put([]byte(noiseLines[i%len(noiseLines)] + "\n"))
	}
}

func (p *peer) flood(n int) {
	line := slices.Repeat([]byte{'e'}, 4096)
	line[len(line)-1] = '\n'
	for n > 0 {
		k, err := p.stderr.Write(line[:min(n, len(line))])
		if err != nil {
			return
		}
		n -= k
	}
}

func (p *peer) closeStdout() {
	p.out.Lock()
	defer p.out.Unlock()
	if c, ok := p.out.Writer.(io.Closer); ok {
		_ = c.Close() // closed already is as good
	}
	p.out.Writer = io.Discard
}

func (p *peer) stopReading() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.stopRead:
	default:
		close(p.stopRead)
	}
}

// fork starts a grandchild: this program again, with our own arguments and two more.
func (p *peer) fork(c Child) {
	self, err := os.Executable()
	before := len(os.Args) - len(p.opt.args)
	if err != nil || before < 1 || !slices.Equal(os.Args[before:], p.opt.args) {
		p.side.report(Report{Kind: Forked, Text: "cannot fork: the peer's arguments are not the tail of the process's"})
		return
	}
	args := append(slices.Clone(os.Args[1:]), "-parent", fmt.Sprint(os.Getpid()))
	if c.IgnoreTerm {
		args = append(args, "-ignore-term")
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = os.Args[0]
	if c.HoldStdio {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	}
	if c.OwnGroup {
		cmd.SysProcAttr = ownGroup()
	}
	if err := cmd.Start(); err != nil {
		p.side.report(Report{Kind: Forked, Text: "cannot fork: " + err.Error()})
		return
	}
	go func() { _ = cmd.Wait() }() // so that it does not stay a zombie; how it ended does not matter
	p.side.report(Report{Kind: Forked, Code: cmd.Process.Pid})
}
