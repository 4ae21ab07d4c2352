package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// consumerWord makes a peer's executable a consumer: "peer consumer".
const consumerWord = "consumer"

// What such a process says on its standard output, a line each.
const (
	consumerServes = "serves"
	consumerCalled = "called"
)

// What the body of its tool does.
const (
	consumerHangs  = "hangs"  // until the process ends
	consumerPanics = "panics" // which ends the process
)

// RunConsumer serves one public tool through the daemon that listens on a unix socket, until in
// ends. args are the socket, the name of the tool, and what its body does: hangs or panics. The
// checks kill such a process, which no goroutine of their own can be.
func RunConsumer(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 || args[2] != consumerHangs && args[2] != consumerPanics {
		return fmt.Errorf("a consumer wants a socket, the name of a tool, and %s or %s", consumerHangs, consumerPanics)
	}
	c, err := wire.Attach(ctx, "unix", args[0], "process")
	if err != nil {
		return err
	}
	defer c.Close()
	entry, err := c.Register(ctx, tool(args[1], open()), func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		fmt.Fprintln(out, consumerCalled)
		if args[2] == consumerPanics {
			panic("as asked")
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	if err == nil {
		err = c.Ready(ctx, entry)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, consumerServes)
	_, err = io.Copy(io.Discard, in)
	return err
}

// runIfConsumer is the part of RunIfPeer for that process.
func runIfConsumer() {
	if len(os.Args) < 3 || os.Args[1] != "peer" || os.Args[2] != consumerWord {
		return
	}
	if err := RunConsumer(context.Background(), os.Args[3:], os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// consumerProcess is a consumer in a process of its own.
type consumerProcess struct {
	cmd *exec.Cmd
	out *bufio.Reader
}

// process starts one, and returns when it serves.
func (s *stage) process(tool, does string) (*consumerProcess, error) {
	cmd := exec.Command(s.target.Peer, "peer", consumerWord, s.daemon.address, tool, does)
	cmd.Env = append(s.target.environ(), observer.HomeVar+"="+s.dir)
	in, err := cmd.StdinPipe() // which only this process holds: it ends with the runner
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, cannotRun(cmd.Path, err)
	}
	c := &consumerProcess{cmd: cmd, out: bufio.NewReader(out)}
	s.later(func() {
		_ = in.Close()
		c.kill()
	})
	if err := c.says(consumerServes); err != nil {
		return nil, failf("a consumer in a process of its own could not serve its tool: %v", err)
	}
	return c, nil
}

// says waits for a line.
func (c *consumerProcess) says(word string) error {
	line, err := c.out.ReadString('\n')
	if got := strings.TrimSpace(line); got != word {
		return fmt.Errorf("a consumer's process says %q, want %q (%v)", got, word, err)
	}
	return nil
}

// kill ends the process at once, as the kernel does. It may be called again.
func (c *consumerProcess) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
	_ = c.cmd.Wait()         // it was killed, or waited for before
}

// ended waits for the end of the process, which is under way.
func (c *consumerProcess) ended() error {
	if _, err := io.Copy(io.Discard, c.out); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	_ = c.cmd.Wait() // it did not end well
	return nil
}
