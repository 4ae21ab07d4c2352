package stdio

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TagVar is the variable by which the processes of a recorded peer know each other. It is in
// their environment when Options.Records is set. Its value is random and means nothing.
const TagVar = "MAYFLY_PEER"

const (
	recordVersion = 1
	recordSuffix  = ".json"
	draftSuffix   = ".tmp"
	// maxRecord bounds a record file that is read.
	maxRecord = 4 << 10
)

// record says of one peer what a later daemon must know to end it. It holds no
// configuration: neither arguments nor environment.
type record struct {
	Version int    `json:"version"`
	Tag     string `json:"tag"`
	System  system `json:"system"`
	Daemon  ident  `json:"daemon"`
	// Leader is the direct child. It is absent in a record that was written before the
	// child was started, and stays so when the daemon dies at that moment.
	Leader *ident `json:"leader,omitempty"`
	// Session is the session that the group belongs to.
	Session int `json:"session,omitempty"`
}

// system is where pids mean something.
type system struct {
	Boot      string `json:"boot"`      // id of the boot
	Namespace string `json:"namespace"` // of pids
}

// entry is the record of one peer on disk. A nil entry records nothing.
//
// Nothing is synced. What a record is for, processes that outlive their daemon, does not
// outlive the kernel, and the page cache lives as long as that. After a power failure no
// record is needed, so none is waited for.
type entry struct {
	path string
	rec  record
}

// newEntry records that a peer is about to be started.
func newEntry(dir string) (*entry, error) {
	if dir == "" {
		return nil, nil
	}
	here, self, err := whereAndWho()
	if err != nil {
		return nil, err
	}
	e := &entry{rec: record{Version: recordVersion, Tag: rand.Text(), System: here, Daemon: self}}
	e.path = filepath.Join(dir, fmt.Sprintf("%d-%d-%s%s", self.PID, self.Start, e.rec.Tag, recordSuffix))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return e, e.write()
}

// started adds who the peer is.
func (e *entry) started(leader ident, session int) error {
	if e == nil {
		return nil
	}
	e.rec.Leader, e.rec.Session = &leader, session
	return e.write()
}

// write replaces the file as a whole: whoever reads sees the old record or the new one.
func (e *entry) write() error {
	data, err := json.Marshal(e.rec)
	if err != nil {
		return err
	}
	draft := strings.TrimSuffix(e.path, recordSuffix) + draftSuffix
	if err := os.WriteFile(draft, append(data, '\n'), 0o600); err != nil {
		_ = os.Remove(draft)
		return err
	}
	return os.Rename(draft, e.path)
}

// remove forgets the peer, of which nothing is left. A file that cannot be removed is
// removed by the next Reap, which will find nothing behind it.
func (e *entry) remove() {
	if e != nil {
		_ = os.Remove(e.path)
	}
}

// tag is the tag of the peer, "" when it is not recorded.
func (e *entry) tag() string {
	if e == nil {
		return ""
	}
	return e.rec.Tag
}

// readRecord reads one record.
func readRecord(path string) (record, error) {
	var rec record
	info, err := os.Stat(path)
	if err != nil {
		return rec, err
	}
	if info.Size() > maxRecord {
		return rec, fmt.Errorf("%d bytes are no record", info.Size())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, err
	}
	if rec.Version != recordVersion || rec.Tag == "" || rec.Daemon.PID <= 0 || rec.System.Boot == "" {
		return rec, errors.New("not a record of this version")
	}
	if rec.Leader != nil && rec.Leader.PID <= 1 {
		return rec, fmt.Errorf("%d is no pid of a peer", rec.Leader.PID)
	}
	return rec, nil
}

// recordFailure is a peer that is not started since nobody could end it after us.
func recordFailure(name string, err error) error {
	return spawnError(name, "its record cannot be written: "+reason(err),
		"without it nobody could end the peer if the daemon were killed: make room in the directory of records, or make it writable", err)
}
