package stdio

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/regfile"
)

// TagVar is the variable by which the processes of a recorded peer know each other. It is in
// their environment when Options.Records is set. Its value is random and means nothing.
const TagVar = "MAYFLY_PEER"

const (
	recordVersion = 1
	beginning     = `{"version":1,"tag":"` // of a record's first line
	recordSuffix  = ".json"
	// maxRecord bounds a record file that is read.
	maxRecord = 4 << 10
	// badSuffix is added to the name of a file that is no record, maxBad how many of one name
	// are kept apart.
	badSuffix = ".bad"
	maxBad    = 1000
)

// record says of one peer what a later daemon must know to end it. It holds no
// configuration: neither arguments nor environment. On disk it is one line that is written
// before the peer is started, and a second one that adds who it is.
type record struct {
	Version int    `json:"version,omitempty"`
	Tag     string `json:"tag,omitempty"`
	System  system `json:"system,omitzero"`
	Daemon  ident  `json:"daemon,omitzero"`
	// Leader is the direct child, Session the session that its group belongs to. Both are
	// absent when the daemon died before it could tell.
	Leader  *ident `json:"leader,omitempty"`
	Session int    `json:"session,omitempty"`
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
	if err := e.write(e.rec, os.O_CREATE|os.O_EXCL); err != nil {
		e.remove()
		return nil, err
	}
	return e, nil
}

// started adds who the peer is.
func (e *entry) started(leader ident, session int) error {
	if e == nil {
		return nil
	}
	return e.write(record{Leader: &leader, Session: session}, 0)
}

// write appends a line. A daemon that is killed at this moment leaves the line or a part of
// it, which is not read: the line before it still names the peer by its tag. To replace the
// file by a complete one instead costs file systems a flush.
func (e *entry) write(rec record, flags int) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(e.path, os.O_WRONLY|os.O_APPEND|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
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

// What is wrong with the content of a record.
var (
	// errCut is a record without a whole line: its daemon was killed in the first one, or the
	// end of the file was lost since.
	errCut = errors.New("a record without a whole line")
	// errGarbage is a record that no daemon of this version has written.
	errGarbage = errors.New("not a record of this version")
)

// readRecord reads one record. Of a content that tells nothing the name still tells whose
// the record is and by which tag its peer is known, so those two are returned along with
// errCut or errGarbage, as far as the name has them.
func readRecord(path string) (record, error) {
	data, err := regfile.Read(path, maxRecord)
	switch {
	case errors.Is(err, regfile.ErrIrregular), errors.Is(err, regfile.ErrTooLong):
		return named(path), errGarbage
	case err != nil:
		return named(path), err
	}
	var rec record
	lines := 0
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // its writer was killed
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			return named(path), errGarbage
		}
		lines++
	}
	if begun := data[:min(len(data), len(beginning))]; lines == 0 && strings.HasPrefix(beginning, string(begun)) {
		return named(path), errCut
	}
	if !rec.ok() {
		return named(path), errGarbage
	}
	return rec, nil
}

// named is what the name of a record tells of it: its daemon and the tag of its peer. A name
// that no daemon gives tells nothing.
func named(path string) record {
	var rec record
	base, isRecord := strings.CutSuffix(filepath.Base(path), recordSuffix)
	parts := strings.SplitN(base, "-", 3)
	if !isRecord || len(parts) != 3 || parts[2] == "" {
		return rec
	}
	pid, err1 := strconv.Atoi(parts[0])
	start, err2 := strconv.ParseUint(parts[1], 10, 64)
	if err1 != nil || err2 != nil || pid <= 0 {
		return rec
	}
	rec.Daemon, rec.Tag = ident{PID: pid, Start: start}, parts[2]
	return rec
}

// ok refuses what no daemon of this version writes.
func (rec record) ok() bool {
	return rec.Version == recordVersion && rec.Tag != "" && rec.Daemon.PID > 0 && rec.System.Boot != "" &&
		(rec.Leader == nil || rec.Leader.PID > 1)
}

// setAside renames a file that is no record, so that it is there to be looked at and is not
// met again. It takes no name that is in use.
func setAside(path string) error {
	for n := 1; n <= maxBad; n++ {
		to := path + badSuffix
		if n > 1 {
			to = fmt.Sprintf("%s.%d%s", path, n, badSuffix)
		}
		if _, err := os.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return os.Rename(path, to)
		}
	}
	return fmt.Errorf("%d files like %s were set aside before; remove them", maxBad, path)
}

// recordFailure is a peer that is not started since nobody could end it after us.
func recordFailure(name string, err error) error {
	return spawnError(name, "its record cannot be written: "+reason(err),
		"without it nobody could end the peer if the daemon were killed: make room in the directory of records, or make it writable", err)
}
