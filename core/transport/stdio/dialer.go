package stdio

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/transport/internal/rpc"
)

// Defaults of Options.
const (
	DefaultMaxFrame   = 16 << 20
	DefaultStderrTail = 8 << 10
	DefaultProtocol   = "2025-11-25"
)

// Options configures a Dialer. The zero value is ready to use.
type Options struct {
	// Environ returns the daemon's environment, of which peers get the allowed part.
	// Nil means os.Environ. It is asked once per Dial.
	Environ func() []string
	// Dir is the working directory of the peers. Empty means the daemon's own.
	Dir string
	// Records is the directory where the live peers are recorded, so that the next daemon can
	// end those that outlive this one: see Reap. It is made when needed, and belongs to one
	// PID namespace at a time. Empty means that nothing is recorded. With it, every peer gets
	// the variable TagVar.
	Records string
	// MaxFrame bounds one line of a peer's stdout and one argument object, in bytes.
	// Zero means 16 MiB. A longer line ends the session.
	MaxFrame int
	// StderrTail is how many of the last bytes of stderr a failure quotes. Zero means
	// 8 KiB.
	StderrTail int
	// ClientName and ClientVersion are what peers are told. Empty means "mayfly" and
	// "devel".
	ClientName    string
	ClientVersion string
	// Protocol is the MCP version offered in initialize. Empty means 2025-11-25: newer
	// ones have no initialize, and servers that ignore unknown methods hang on them.
	Protocol string
}

// Dialer starts peers as child processes. It may be used concurrently.
type Dialer struct {
	opts    Options
	groups  *scanner
	dropped atomic.Int64 // bytes of stderr
}

// StderrDropped counts the bytes that all peers so far have written to stderr and of which
// nothing is kept. It never falls, and a host that shows it shows a peer that floods its log.
func (d *Dialer) StderrDropped() int64 { return d.dropped.Load() }

// New returns a Dialer. It panics on a negative bound, which is a bug of the caller.
func New(opts Options) *Dialer {
	if opts.MaxFrame < 0 || opts.StderrTail < 0 {
		panic(fmt.Sprintf("CA-8: bounds must not be negative: MaxFrame %d, StderrTail %d", opts.MaxFrame, opts.StderrTail))
	}
	if opts.Environ == nil {
		opts.Environ = os.Environ
	}
	opts.MaxFrame = cmp.Or(opts.MaxFrame, DefaultMaxFrame)
	opts.StderrTail = cmp.Or(opts.StderrTail, DefaultStderrTail)
	opts.ClientName = cmp.Or(opts.ClientName, "mayfly")
	opts.ClientVersion = cmp.Or(opts.ClientVersion, "devel")
	opts.Protocol = cmp.Or(opts.Protocol, DefaultProtocol)
	return &Dialer{opts: opts, groups: newScanner(opts.Records != "")}
}

// Dial implements [transport.Dialer]. The command is looked up in the PATH that the child
// will see. When ctx ends before Dial returns, the process that was started is killed and
// waited for.
func (d *Dialer) Dial(ctx context.Context, cfg transport.Config) (transport.Session, error) {
	if ctx.Err() != nil {
		return nil, cancelled(ctx)
	}
	secrets := transport.SecretsOf(cfg)
	s, err := d.start(cfg, secrets)
	if err != nil {
		if e, ok := err.(*callerr.Error); ok {
			e.Msg = secrets.Mask(e.Msg)
		}
		return nil, err
	}
	if ctx.Err() != nil {
		s.Stop(transport.StageKill)
		<-s.Done()
		return nil, cancelled(ctx)
	}
	return s, nil
}

// start starts the process and the goroutines of its session.
func (d *Dialer) start(cfg transport.Config, secrets transport.Secrets) (*session, error) {
	cmd, err := prepare(cfg, Environ(d.opts.Environ(), cfg.Env), d.opts.Dir)
	if err != nil {
		return nil, err
	}
	book, err := newEntry(d.opts.Records)
	if err != nil {
		return nil, recordFailure(cmd.name, err)
	}
	if cmd.tag = book.tag(); cmd.tag != "" {
		cmd.env = append(cmd.env, TagVar+"="+cmd.tag)
	}
	s, err := d.spawn(cmd, book, secrets)
	if err != nil {
		book.remove()
		return nil, err
	}
	s.run()
	return s, nil
}

// spawn starts the process and completes its record. When it fails nothing is left.
func (d *Dialer) spawn(cmd command, book *entry, secrets transport.Secrets) (*session, error) {
	pipes, err := openPipes()
	if err != nil {
		return nil, spawnFailure(cmd, err)
	}
	proc, err := startProcess(cmd, pipes.child)
	pipes.closeChild()
	if err != nil {
		pipes.closeOurs()
		return nil, err
	}
	s := d.session(proc, pipes, secrets)
	s.book = book
	if err := proc.record(book); err != nil {
		s.run()
		s.Stop(transport.StageKill)
		<-s.Done()
		return nil, recordFailure(cmd.name, err)
	}
	return s, nil
}

// record completes the record of a process.
func (p *process) record(book *entry) error {
	if book == nil {
		return nil
	}
	leader, session, err := p.identify()
	if err != nil {
		return err
	}
	return book.started(leader, session)
}

// session builds the session of a running process.
func (d *Dialer) session(proc *process, p *pipes, secrets transport.Secrets) *session {
	s := &session{
		Signals: rpc.NewSignals(),
		proc:    proc,
		groups:  d.groups,
		out:     p.stdout,
		errs:    p.stderr,
		tail:    newTail(d.opts.StderrTail, &d.dropped),
		secrets: secrets,
		maxLine: d.opts.MaxFrame,
		nudge:   make(chan struct{}, 1),
		down:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	s.in = &writer{file: p.stdin, frames: make(chan frame), shut: make(chan struct{}), fail: s.writeFailed}
	s.link = newLink(s.in, s.down)
	s.in.done = s.link.closed
	s.client = rpc.New(s.link, rpc.Options{
		Name:     d.opts.ClientName,
		Version:  d.opts.ClientVersion,
		Protocol: d.opts.Protocol,
		MaxFrame: d.opts.MaxFrame,
		Secrets:  secrets,
		Fault:    s.fault,
		Signals:  s.Signals,
		Lost:     func(error) {}, // the reader of the pipe knows first
	})
	return s
}

// cancelled is the error of a Dial whose context ended.
func cancelled(ctx context.Context) error {
	cause := context.Cause(ctx)
	return &callerr.Error{
		Kind:     callerr.Transport,
		Phase:    callerr.PhaseSpawn,
		Definite: true,
		Msg:      fmt.Sprintf("%s: abandoned: %v", spawnFailed, cause),
		Err:      cause,
	}
}

// pipes are the three pipes of a child. All six ends are closed on exec, so no other
// child inherits them (SPEC PR-5).
type pipes struct {
	child  [3]*os.File
	stdin  *os.File
	stdout *drain
	stderr *drain
	ours   []*os.File
}

// openPipes opens them, or leaves nothing open.
func openPipes() (*pipes, error) {
	p := &pipes{}
	for i := range p.child {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeChild()
			p.closeOurs()
			return nil, err
		}
		if i == 0 {
			p.child[i], p.stdin = r, w
			p.ours = append(p.ours, w)
			continue
		}
		p.child[i] = w
		p.ours = append(p.ours, r)
		d, err := newDrain(r)
		if err != nil {
			p.closeChild()
			p.closeOurs()
			return nil, err
		}
		if i == 1 {
			p.stdout = d
		} else {
			p.stderr = d
		}
	}
	return p, nil
}

// closeChild closes our copies of the child's ends.
func (p *pipes) closeChild() { closeAll(p.child[:]) }

// closeOurs closes our ends.
func (p *pipes) closeOurs() { closeAll(p.ours) }

// closeAll closes what was opened.
func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
