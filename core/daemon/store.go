package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// storeVersion is the format that this daemon writes, and the only one that it reads.
const storeVersion = 1

// store keeps the agents in one file, which every change replaces. It is used by one edit
// at a time.
type store struct {
	path  string
	files files
	last  []byte // what the file is known to hold; nil while there is none
}

// storeFile is the file's shape.
type storeFile struct {
	Version int          `json:"version"`
	Agents  []storedItem `json:"agents"`
}

type storedItem struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Config json.RawMessage `json:"config"`
}

// openStore reads the agents. A store that cannot be understood is never replaced by an
// empty one.
func openStore(path string, fsys files) (*store, []*record, error) {
	s := &store{path: path, files: fsys}
	if err := clearTemporary(path); err != nil {
		return nil, nil, fmt.Errorf("cannot clear up beside the store: %w", err)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the store: %w", err)
	}
	records, err := parseStore(data)
	if err != nil {
		return nil, nil, fmt.Errorf("the store %s is corrupt: %w; it was left as it is: restore it from a copy, "+
			"or move it away to start without agents", path, err)
	}
	s.last = data
	return s, records, nil
}

func parseStore(data []byte) ([]*record, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, jsonProblem(err)
	}
	if version.Version != storeVersion {
		return nil, fmt.Errorf("its version is %d and this daemon reads version %d", version.Version, storeVersion)
	}
	var file storeFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, jsonProblem(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is something behind its end")
	}
	return parseItems(file.Agents)
}

func parseItems(items []storedItem) ([]*record, error) {
	ids, names := map[string]bool{}, map[string]bool{}
	var out []*record
	for i, item := range items {
		r, err := parseItem(item)
		if err != nil {
			return nil, fmt.Errorf("agent %d: %w", i+1, err)
		}
		if ids[r.id] || names[r.name] {
			return nil, fmt.Errorf("agent %d: its id or its name '%s' appears twice", i+1, r.name)
		}
		ids[r.id], names[r.name] = true, true
		out = append(out, r)
	}
	return out, nil
}

func parseItem(item storedItem) (*record, error) {
	id, err := parseAgentID(item.ID)
	if err != nil {
		return nil, err
	}
	if err := checkAgentName(item.Name); err != nil {
		return nil, err
	}
	obj, err := parseObject(string(item.Config))
	if err != nil {
		return nil, err
	}
	return newRecord(id, item.Name, obj)
}

// save makes records the content of the file. When it fails, file and memory agree on the
// old content, and the error says so where even that could not be achieved.
func (s *store) save(records []*record) error {
	data := encodeStore(records)
	err := s.files.replace(s.path, data)
	if err == nil {
		s.last = data
		return nil
	}
	failed := fmt.Errorf("cannot store the change, nothing was changed: %w; is the disk full or read-only?", err)
	if _, inDoubt := errors.AsType[*inDoubtError](err); !inDoubt {
		return failed
	}
	if undo := s.undo(); undo != nil {
		return fmt.Errorf("cannot store the change safely: %w; after a crash it may be there or not, "+
			"since the old store could not be put back: %w", err, undo)
	}
	return failed
}

// encodeStore writes one agent a line. The configs are JSON already: to send them through an
// encoder again would cost more than everything else in an edit.
func encodeStore(records []*record) []byte {
	size := 0
	for _, r := range records {
		size += len(r.config) + len(r.name) + len(`,{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","name":"","config":}`) + 8
	}
	var buf bytes.Buffer
	buf.Grow(size + 64)
	fmt.Fprintf(&buf, "{\"version\":%d,\"agents\":[", storeVersion)
	for i, r := range records {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.WriteString("\n{\"id\":\"" + r.id + "\",\"name\":")
		buf.Write(encodeString(r.name))
		buf.WriteString(",\"config\":")
		buf.Write(r.config)
		buf.WriteByte('}')
	}
	buf.WriteString("\n]}\n")
	return buf.Bytes()
}

// undo puts the last known content back.
func (s *store) undo() error {
	if s.last == nil {
		return errors.Join(os.Remove(s.path), s.files.syncDir(filepath.Dir(s.path)))
	}
	return s.files.replace(s.path, s.last)
}
