package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
)

const (
	// groupPollFloor and groupPollCeiling bound how often the process group is looked at
	// after its leader has exited while others live on. No descriptor tells when a group
	// is empty. This is an observation: nothing is decided when the interval passes.
	groupPollFloor   = 2 * time.Millisecond
	groupPollCeiling = 100 * time.Millisecond
	// emptyScans is how many passes over /proc must find the group empty. During one pass
	// a process can fork a child behind the reader and die ahead of it.
	emptyScans = 2
)

var _ interface {
	transport.Session
	transport.Reporter
	transport.Meter
} = (*session)(nil)

// exitStatus is how a direct child ended.
type exitStatus struct {
	text string // in the words of package os
	zero bool   // it exited with status 0
}

// session is one process tree.
type session struct {
	*rpc.Signals
	book    *entry
	proc    *process
	groups  *scanner
	client  *rpc.Client
	in      *writer
	out     *drain
	errs    *drain
	tail    *tail
	secrets transport.Secrets
	maxLine int

	link    *link         // what the SDK reads and writes
	nudge   chan struct{} // capacity 1: the group may have shrunk
	down    chan struct{}
	done    chan struct{}
	readers sync.WaitGroup
	stray   atomic.Int64

	mu     sync.Mutex
	stage  transport.Stage // highest rung performed
	why    string          // what ended the session, once down
	exit   string          // how the leader ended, once it has
	clean  bool            // it ended by itself with status 0
	isDown bool
}

// run starts the goroutines of a session. They end before Done closes.
func (s *session) run() {
	s.readers.Go(s.readStdout)
	s.readers.Go(func() { s.tail.keep(s.errs); s.poke() })
	s.readers.Go(s.in.run)
	go s.watch()
}

// Initialize implements [transport.Session].
func (s *session) Initialize(ctx context.Context) ([]transport.Tool, error) {
	tools, err := s.client.Initialize(ctx)
	if err != nil {
		s.becomeDown(s.secrets.Mask(rpc.Reason(err))) // whoever sees Down first is to know why
	}
	return tools, err
}

// Call implements [transport.Session].
func (s *session) Call(ctx context.Context, tool string, args json.RawMessage) (*transport.Result, error) {
	return s.client.Call(ctx, tool, args)
}

// List implements [transport.Session].
func (s *session) List(ctx context.Context) ([]transport.Tool, error) { return s.client.List(ctx) }

// Down implements [transport.Session].
func (s *session) Down() <-chan struct{} { return s.down }

// Done implements [transport.Session].
func (s *session) Done() <-chan struct{} { return s.done }

// Dropped counts what the peer sent that nobody had a use for: stray lines on stdout,
// notifications, replies that no call waits for.
func (s *session) Dropped() int64 { return s.stray.Load() + s.client.Dropped() }

// StderrDropped counts the bytes of stderr that were read and not kept.
func (s *session) StderrDropped() int64 {
	_, dropped := s.tail.text(s.secrets)
	return dropped
}

// Usage implements [transport.Meter]: for the whole tree, as far as it is known.
func (s *session) Usage() (transport.Usage, error) { return s.groups.usage(s.proc) }

// Clean implements [transport.Reporter]. What a peer does after the first rung it does not do
// by itself.
func (s *session) Clean() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean
}

// Err implements [transport.Session]. It is nil while the session is up. What becomes
// known after the session went down, such as the exit status, is added.
func (s *session) Err() error {
	s.mu.Lock()
	why, exit, isDown := s.why, s.exit, s.isDown
	s.mu.Unlock()
	if !isDown {
		return nil
	}
	if exit != "" {
		why += ": " + exit
	}
	return errors.New(why + s.tail.quote(s.secrets))
}

// fault says why a call cannot be served: the session is down, or its input is closed.
func (s *session) fault() error {
	if err := s.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stage > 0 {
		return errStdinClosed
	}
	return nil
}

// Stop implements [transport.Session].
func (s *session) Stop(stage transport.Stage) {
	s.mu.Lock()
	before := s.stage
	s.stage = max(before, stage)
	s.mu.Unlock()
	if stage > before {
		s.proc.collect()
	}
	s.in.close()
	switch {
	case stage >= transport.StageKill:
		s.proc.signal(syscall.SIGKILL)
	case stage == transport.StageTerminate && before < transport.StageTerminate:
		s.proc.signal(syscall.SIGTERM) // once: many servers take a second one as "at once"
	}
	s.proc.signalStrays(max(before, stage))
	s.poke()
}

// becomeDown ends the session for callers. The first reason counts.
func (s *session) becomeDown(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return
	}
	s.isDown, s.why = true, why
	close(s.down)
}

// watch follows the process from its start until nothing of it is left.
func (s *session) watch() {
	exit := s.proc.awaitExit()
	s.mu.Lock()
	s.exit, s.clean = exit.text, exit.zero && s.stage == 0
	s.mu.Unlock()
	s.out.childDied()
	s.errs.childDied()
	<-s.out.dry // a reply that was written before the death is still an answer
	<-s.errs.dry
	if s.out.eof.Load() {
		s.becomeDown(closedStdout)
	} else {
		s.becomeDown("MCP server exited")
	}
	s.awaitGroup()
	s.proc.reap()
	s.in.close()
	_ = s.out.file.Close()
	_ = s.errs.file.Close()
	s.link.end()
	s.readers.Wait()
	s.book.remove()
	close(s.done)
}

// closedStdout is the beginning of the text for a session that ended with its output.
const closedStdout = "MCP server closed stdout"

// awaitGroup returns when no live process of the tree is left: of the group, of what was seen
// to leave it, and of what descends from that. What turns up late is brought to the rung
// that the others have reached.
func (s *session) awaitGroup() {
	wait := groupPollFloor
	for empty := 0; empty < emptyScans; {
		live, err := s.groups.remains(s.proc)
		if err == nil && !live {
			empty++
			continue
		}
		empty = 0
		s.proc.signalStrays(s.reached())
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = min(2*wait, groupPollCeiling)
		case <-s.nudge:
			timer.Stop()
			wait = groupPollFloor
		}
	}
}

// reached is the highest rung performed.
func (s *session) reached() transport.Stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage
}

// poke makes awaitGroup look again soon.
func (s *session) poke() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// readStdout reads the output to its end. After a breakdown it goes on reading without
// looking, since a full pipe would keep the peer from ending.
func (s *session) readStdout() {
	in := newLines(s.out, s.maxLine)
	for {
		line, err := in.next()
		if err == nil {
			s.accept(line)
			continue
		}
		if errors.Is(err, errFrameTooLong) {
			s.becomeDown(fmt.Sprintf("MCP server sent a frame of more than %d bytes", s.maxLine))
			_, _ = io.Copy(io.Discard, in.in)
		}
		s.stdoutEnded()
		return
	}
}

// accept hands a message to the session.
func (s *session) accept(line []byte) {
	msg := decode(line)
	if msg != nil {
		s.Hear()
	}
	if msg == nil || !s.link.deliver(msg, s.down) {
		s.stray.Add(1)
	}
}

// stdoutEnded judges the end of the output. When the process is dying, its exit status is
// moments away and belongs into the reason: watch will see it. Else the session ends here,
// although the process lives on.
func (s *session) stdoutEnded() {
	if !s.proc.exiting() {
		s.becomeDown(closedStdout)
	}
	s.out.finish()
	s.poke()
}

// writeFailed turns an error of stdin into what the caller is told.
func (s *session) writeFailed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errStdinClosed
	}
	why := fmt.Errorf("write to MCP stdin: %w", errno(err))
	if s.proc.exiting() {
		<-s.down // the exit explains more than a broken pipe does
		return why
	}
	s.becomeDown(why.Error())
	return why
}

// errno unwraps a system error, whose wrappers name internal pipes.
func errno(err error) error {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
