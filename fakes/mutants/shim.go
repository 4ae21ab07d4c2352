package mutants

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Words with which this executable becomes something else than a daemon.
const (
	shimWord = "@shim"
	pumpWord = "pump"
)

// What a pump does wrong.
const (
	answersCalls = "answers-calls" // with the first notification that comes
	hidesTheEnd  = "hides-the-end" // of the input
	losesPongs   = "loses-pongs"   // the answers to what the server asks
)

// throughShim starts a server behind a pump that does something wrong. The process that the
// daemon starts becomes the server itself; the pump is a child of it, so that nothing else
// about the server is different, and ends with it.
func throughShim(wrong string) defect {
	return configuring(func(c transport.Config) transport.Config {
		exe, err := os.Executable()
		if _, missing := exec.LookPath(c.Command); c.Command == "" || err != nil || missing != nil {
			return c
		}
		c.Args = append([]string{"mutant", shimWord, wrong, c.Command}, c.Args...)
		c.Command = exe
		return c
	})
}

// shim puts the pump between the daemon and a command and becomes the command, or is the pump.
func shim(args []string, stderr io.Writer) int {
	if len(args) == 2 && args[1] == pumpWord {
		return pump(args[0], os.Stdin, os.NewFile(3, "to the server"), os.NewFile(4, "from the server"), os.Stdout)
	}
	if len(args) < 2 {
		fmt.Fprintln(stderr, "mutant: a shim wants a word and a command")
		return exitUsage
	}
	if err := become(args[0], args[1:]); err != nil {
		fmt.Fprintln(stderr, "mutant:", err)
	}
	return exitError
}

func become(wrong string, args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	in, toServer, err := os.Pipe()
	if err != nil {
		return err
	}
	fromServer, out, err := os.Pipe()
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = os.StartProcess(exe, []string{exe, "mutant", shimWord, wrong, pumpWord}, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, null, toServer, fromServer}, Env: os.Environ()})
	if err != nil {
		return err
	}
	for fd, file := range []*os.File{in, out} {
		_ = syscall.Close(fd) // the lowest number that is free is the one that Dup takes
		if got, err := syscall.Dup(int(file.Fd())); err != nil || got != fd {
			return fmt.Errorf("descriptor %d: %d, %w", fd, got, err)
		}
	}
	return syscall.Exec(path, args, os.Environ())
}

// maxLine bounds a line of the pump, far above what observers send.
const maxLine = 64 << 20

// pump copies lines in both directions until the server's output ends.
func pump(wrong string, fromDaemon io.Reader, toServer io.WriteCloser, fromServer io.Reader, toDaemon io.Writer) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) // it ends with the server
	var w waiting
	go func() {
		eachLine(fromDaemon, func(line []byte) []byte {
			switch wrong {
			case answersCalls:
				w.asked(line)
			case losesPongs:
				if isReply(line) {
					return nil
				}
			}
			return line
		}, toServer)
		if wrong != hidesTheEnd {
			_ = toServer.Close()
		}
	}()
	eachLine(fromServer, w.told, toDaemon)
	runtime.KeepAlive(toServer) // or the collector would end what is to have no end
	return exitOK
}

func eachLine(from io.Reader, change func([]byte) []byte, to io.Writer) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		line := change(in.Bytes())
		if line == nil {
			continue
		}
		if _, err := to.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// waiting is the latest call without an answer.
type waiting struct {
	mu sync.Mutex
	id json.RawMessage
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// isReply reports whether a line answers a request.
func isReply(line []byte) bool {
	var m rpc
	return json.Unmarshal(line, &m) == nil && m.ID != nil && m.Method == ""
}

func (w *waiting) asked(line []byte) {
	var m rpc
	if json.Unmarshal(line, &m) == nil && m.Method == "tools/call" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.id = append(json.RawMessage(nil), m.ID...)
	}
}

// told turns a notification into the answer to the call that waits.
func (w *waiting) told(line []byte) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	var m rpc
	if json.Unmarshal(line, &m) != nil || w.id == nil {
		return line
	}
	switch {
	case m.Method != "" && m.ID == nil:
		text, _ := json.Marshal(string(m.Params))
		line = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, w.id, text)
		w.id = nil
	case m.Method == "" && string(m.ID) == string(w.id):
		w.id = nil
	}
	return line
}
