package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
)

var errDisk = errors.New("no space left on the test's device")

// What a disk does with a change.
const (
	works   int32 = iota
	refuses       // a full disk: nothing is written
	lies          // it is written, and an error is reported all the same
)

// failing is a real disk that does not always do what it should.
type failing struct {
	disk
	fail atomic.Int32
	once atomic.Bool // lies once and works then
}

func breakable() *failing {
	f := &failing{disk: realDisk()}
	f.commit = func(tx *bolt.Tx) error {
		switch f.fail.Load() {
		case refuses:
			return errors.Join(errDisk, tx.Rollback())
		case lies:
			if f.once.Load() {
				f.fail.Store(works)
			} else {
				f.fail.Store(refuses)
			}
			return errors.Join(errDisk, tx.Commit())
		}
		return tx.Commit()
	}
	return f
}

// stored reads what a restart would read.
func (r *rig) stored() map[string]string {
	r.t.Helper()
	records, _, err := readStore(r.d.home.store)
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]string{}
	for _, rec := range records {
		out[rec.name] = string(rec.config)
	}
	return out
}

func (r *rig) remembered() map[string]string {
	out := map[string]string{}
	for _, rec := range r.d.agents.records() {
		out[rec.name] = string(rec.config)
	}
	return out
}

func TestARefusedWriteChangesNothing(t *testing.T) {
	f := breakable()
	r := start(t, setup{disk: &f.disk})
	srv := r.dialer.Server("S")
	a := r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
	gone := r.agent("b", `{}`)
	if _, err := r.c.ReconnectMcp(r.ctx, a, "m"); err != nil {
		t.Fatal(err)
	}
	before, picture := r.stored(), r.picture()
	edits := []struct { // in an order in which all of them succeed when the disk does
		name string
		do   func() error
	}{
		{"update", func() error { _, err := r.c.UpdateAgent(r.ctx, a, `{"mcps":[]}`); return err }},
		{"rename", func() error { _, err := r.c.RenameAgent(r.ctx, a, "c"); return err }},
		{"upsert", func() error {
			_, err := r.c.UpsertMcp(r.ctx, a, `{"name":"m","command":"S","args":["x"]}`)
			return err
		}},
		{"delete mcp", func() error { return r.c.DeleteMcp(r.ctx, a, "m") }},
		{"create", func() error {
			_, err := r.c.CreateAgent(r.ctx, "new", `{"mcps":[{"name":"m","command":"S"}]}`)
			return err
		}},
		{"delete", func() error { return r.c.DeleteAgent(r.ctx, gone) }},
	}
	for _, how := range []int32{refuses, lies} {
		f.once.Store(true)
		for _, edit := range edits {
			f.fail.Store(how)
			refused(t, edit.name, edit.do(), 500, "cannot store the change, nothing was changed")
			f.fail.Store(works)
			if diff := cmp.Diff(before, r.stored()); diff != "" {
				t.Errorf("%s at %d changed the store: %s", edit.name, how, diff)
			}
			if diff := cmp.Diff(picture, r.picture()); diff != "" {
				t.Errorf("%s at %d changed memory: %s", edit.name, how, diff)
			}
		}
	}
	if c := srv.Counts(); c.Spawns != 1 || c.Live != 1 {
		t.Errorf("refused edits touched a peer: %+v", c)
	}
	for _, edit := range edits { // the disk has room again
		if err := edit.do(); err != nil {
			t.Errorf("%s afterwards: %v", edit.name, err)
		}
	}
	if diff := cmp.Diff(r.remembered(), r.stored()); diff != "" {
		t.Error(diff)
	}
}

// TestAStoreInDoubtSaysSoAndHeals: a change was written, reported as failed, and cannot be
// taken back. The error says so, and the next edit takes it back first.
func TestAStoreInDoubtSaysSoAndHeals(t *testing.T) {
	f := breakable()
	r := start(t, setup{disk: &f.disk})
	a := r.agent("a", `{}`)
	f.fail.Store(lies)
	_, err := r.c.UpdateAgent(r.ctx, a, `{"description":"doubtful"}`)
	refused(t, "update", err, 500, "may be there after a crash, or not")
	_, err = r.c.CreateAgent(r.ctx, "b", `{}`)
	refused(t, "create while the disk is still full", err, 500, "may be there after a crash, or not")
	if got, err := r.c.GetAgent(r.ctx, "a"); err != nil || got.Description != "" {
		t.Errorf("%v %v", got, err)
	}
	f.fail.Store(works)
	r.agent("b", `{}`)
	if diff := cmp.Diff(r.remembered(), r.stored()); diff != "" {
		t.Error(diff)
	}
}

// TestAReadOnlyDisk lets the writes themselves fail, in bbolt, by a file that is open for
// reading alone.
func TestAReadOnlyDisk(t *testing.T) {
	home := newHome(t)
	r := start(t, setup{home: home})
	r.agent("a", `{}`)
	r.stop()
	k := realDisk()
	k.open = func(path string, _ int, mode os.FileMode) (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY, mode)
	}
	r = start(t, setup{home: home, disk: &k})
	before := r.stored()
	for range 3 {
		_, err := r.c.CreateAgent(r.ctx, "b", `{}`)
		refused(t, "create", err, 500, "cannot store the change, nothing was changed")
	}
	if diff := cmp.Diff(before, r.stored()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(r.remembered(), r.stored()); diff != "" {
		t.Error(diff)
	}
	r.stop()
	r = start(t, setup{home: home})
	r.agent("b", `{}`)
}

func TestRestartDeclaresAndStartsNothing(t *testing.T) {
	home := newHome(t)
	r := start(t, setup{home: home})
	id := r.agent("a", `{"description":"d","mcps":[{"name":"m","command":"S","env":{"TOKEN":"t"}}]}`)
	before := r.remembered()
	r.stop()
	put(t, filepath.Join(home, ".store.db-crashed"), "half a sto")

	r = start(t, setup{home: home})
	srv := r.dialer.Server("S")
	if diff := cmp.Diff(before, r.remembered()); diff != "" {
		t.Error(diff)
	}
	if row := r.mcp(id, "m"); row.Status != pb.McpStatus_MCP_STATUS_DISCONNECTED || srv.Counts().Dials != 0 {
		t.Errorf("%v after %d dials (SPEC CF-3)", row, srv.Counts().Dials)
	}
	if row, err := r.c.ReconnectMcp(r.ctx, id, "m"); err != nil || row.Status != pb.McpStatus_MCP_STATUS_CONNECTED {
		t.Errorf("%v %v", row, err)
	}
	if _, err := os.Stat(filepath.Join(home, ".store.db-crashed")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a crashed edit's file stays: %v", err)
	}
	info, err := os.Stat(r.d.home.store)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the store's mode: %v %v", info.Mode(), err)
	}
}

func TestACorruptStoreJSONStopsTheStart(t *testing.T) {
	ok := `{"version":1,"agents":[{"id":"` + unknownID + `","name":"a","config":{}}]}`
	for content, want := range map[string]string{
		"":                                     "it is not JSON from byte",
		"{":                                    "it is not JSON from byte",
		"nonsense":                             "it is not JSON from byte",
		ok[:len(ok)-9]:                         "it is not JSON from byte",
		ok + "x":                               "is not JSON",
		`{"version":2,"agents":[]}`:            "its version is 2",
		`{}`:                                   "its version is 0",
		`{"version":"1"}`:                      "key version must be a int",
		strings.Replace(ok, `"a"`, `"a."`, 1):  "must not contain",
		strings.Replace(ok, unknownID, "x", 1): "invalid agent id",
		strings.Replace(ok, `{}`, `{"mcps":7}`, 1):                                   "key mcps must be a list",
		strings.Replace(ok, `{}`, `null`, 1):                                         "must be an object",
		strings.Replace(ok, `"name"`, `"nome"`, 1):                                   "unknown field",
		`{"version":1,"agents":[` + ok[23:len(ok)-2] + `,` + ok[23:len(ok)-2] + `]}`: "appears twice",
	} {
		home := newHome(t)
		path := layout(home).legacy
		put(t, path, content)
		_, err := Open(Config{Home: home, TCPAddr: TCPOff, Dialer: fakes.NewDialer(fakes.Config{})})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", content, err, want)
		}
		if got, readErr := os.ReadFile(path); readErr != nil || string(got) != content {
			t.Errorf("the corrupt store was changed: %q %v", got, readErr)
		}
		if _, err := os.Stat(layout(home).socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a socket was left behind: %v", err)
		}
	}
}
