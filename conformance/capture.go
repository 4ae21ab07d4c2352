package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	// CaptureSchema is the version of a capture's lines. It changes with any of them, since a
	// judge that overlooks a field may judge wrongly.
	CaptureSchema = 2
	// CaptureFile is the name of a capture in a report directory.
	CaptureFile = "capture.jsonl"
)

// Kinds of lines.
const (
	recordRun     = "run"
	recordAttempt = "attempt"
	recordEnd     = "end"
)

// Bounds of what a capture keeps of one attempt. What is beyond is counted, not kept.
const (
	maxSeen    = 4096 // observations
	maxMoments = 1500 // moments of the runner, of the daemons and of the peers, each
	maxLines   = 200  // lines of log
	maxText    = 4096 // bytes of one text
)

// Capture is everything that a run saw, one JSON value a line: the run, then every attempt at
// every check, then the end. The verdicts are a function of it and of nothing else. It holds
// no secret and no path of the machine.
type Capture struct {
	run      runRecord
	attempts []attemptRecord
	end      endRecord

	digest string // of the file, when it was read or written
	size   int64
}

// runRecord is the first line.
type runRecord struct {
	Record    string      `json:"record"` // "run"
	Schema    int         `json:"schema"`
	Suite     string      `json:"suite"`
	Catalogue string      `json:"catalogue"` // CatalogueHash
	Target    TargetInfo  `json:"target"`
	Dialect   *Dialect    `json:"dialect,omitempty"` // how it wants to be spoken to
	Started   time.Time   `json:"started"`
	Partial   bool        `json:"partial,omitempty"`
	Profile   Profile     `json:"profile,omitempty"` // that was asked for, if it is not the whole catalogue
	Rerun     string      `json:"rerun,omitempty"`
	Checks    []checkInfo `json:"checks"` // in the order of the report, without the audit
}

// TargetInfo says what was certified.
type TargetInfo struct {
	Name string `json:"name"`
	// Program is the base name of the executable that was run, and Digest the SHA-256 of its
	// bytes. For a script it is the interpreter's, for a running daemon there is none.
	Program string `json:"program,omitempty"`
	Digest  string `json:"digest,omitempty"`
}

// checkInfo is what a judge must know of a check.
type checkInfo struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Clauses []string `json:"clauses"`
	Level   Level    `json:"level"`
	Timed   bool     `json:"timed,omitempty"` // its margins are times
}

func (c Check) info() checkInfo { return checkInfo{c.ID, c.Title, c.Clauses, c.Level(), c.timed} }

func infos(checks []Check) (out []checkInfo) {
	for _, c := range checks {
		out = append(out, c.info())
	}
	return out
}

// attemptRecord is one attempt at a check. Times are nanoseconds since the run began.
type attemptRecord struct {
	Record     string        `json:"record"` // "attempt"
	Check      string        `json:"check"`
	Try        int           `json:"try"` // from 1
	From       int64         `json:"from"`
	To         int64         `json:"to"`
	Overshoot  int64         `json:"overshoot"` // worst delay of the control meanwhile, in nanoseconds
	DurationMS int64         `json:"duration_ms"`
	Ending     ending        `json:"ending"`
	Seen       []observation `json:"seen,omitempty"`
	Life       []moment      `json:"life,omitempty"`
	Dropped    int           `json:"dropped,omitempty"` // observations and moments that found no room
	Log        []string      `json:"log,omitempty"`     // end of the daemons' stderr
}

// endRecord is the last line: without it a capture is cut off.
type endRecord struct {
	Record     string      `json:"record"` // "end"
	Attempts   int         `json:"attempts"`
	DurationMS int64       `json:"duration_ms"`
	Noise      Noise       `json:"noise"`
	Audit      auditRecord `json:"audit"`
}

// auditRecord is what the daemons of a run left behind.
type auditRecord struct {
	Daemons int      `json:"daemons"`
	Servers int      `json:"servers"`
	Bad     int      `json:"bad"`               // daemons that ended badly or left something
	Faults  []string `json:"faults,omitempty"`  // what the first of them did
	Lacking string   `json:"lacking,omitempty"` // what the target lacks for an audit
}

// moment is something that happened, on the lane of whom it happened to. To is later than At
// for what takes time.
type moment struct {
	At   int64  `json:"at"`
	To   int64  `json:"to,omitempty"`
	Lane string `json:"lane"`
	What string `json:"what"`
}

// Lanes. A peer's is its server's name.
const (
	laneRunner = "runner"
	laneDaemon = "daemon"
)

func hashJSON(v any) string {
	sum := sha256.Sum256([]byte(mustJSON(v)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Target says what was certified.
func (c *Capture) Target() TargetInfo { return c.run.Target }

// Catalogue is the CatalogueHash of the suite that made the capture.
func (c *Capture) Catalogue() string { return c.run.Catalogue }

// Digest is the SHA-256 of the capture's file, and Size its length.
func (c *Capture) Digest() string { return c.digest }

// Size is the length of the capture's file in bytes.
func (c *Capture) Size() int64 { return c.size }

// encode makes the file of a capture and takes its digest.
func (c *Capture) encode() ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	lines := []any{c.run}
	for _, a := range c.attempts {
		lines = append(lines, a)
	}
	for _, l := range append(lines, c.end) {
		if err := enc.Encode(l); err != nil {
			return nil, fmt.Errorf("cannot write the capture: %w", err)
		}
	}
	c.sealed([]byte(b.String()))
	return []byte(b.String()), nil
}

func (c *Capture) sealed(file []byte) {
	sum := sha256.Sum256(file)
	c.digest, c.size = "sha256:"+hex.EncodeToString(sum[:]), int64(len(file))
}

// mask makes every text of an attempt fit to be published. Valid UTF-8 of a bounded length
// comes back from a file as it was written.
func (a *attemptRecord) mask(say func(string) string) {
	clip := func(s *string) { *s = clipped(say(*s)) }
	clip(&a.Ending.Text)
	clip(&a.Ending.Ended)
	for i := range a.Seen {
		o := &a.Seen[i]
		clip(&o.What)
		clip(&o.Expected)
		clip(&o.Observed)
		clip(&o.Says)
	}
	for i := range a.Life {
		clip(&a.Life[i].What)
		clip(&a.Life[i].Lane)
	}
	a.Log = slices.Clone(a.Log[max(0, len(a.Log)-maxLines):])
	for i := range a.Log {
		clip(&a.Log[i])
	}
}

// clipped makes a text of a bounded length that is valid UTF-8 and steers no terminal.
func clipped(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
