package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
	"github.com/mayfly-mcp/mayfly/fakes"
)

var errDisk = errors.New("no space left on the test's device")

// failing are the real steps, of which the named ones fail while their switch is on.
type failing struct {
	files
	write, sync, rename, syncDir atomic.Bool
	dirs                         atomic.Int32 // how many directory syncs fail; -1 is all
}

func breakable() *failing {
	f := &failing{files: realFiles()}
	real := f.files
	f.files.write = func(file *os.File, data []byte) error {
		if f.write.Load() {
			_, _ = file.Write(data[:len(data)/2]) // a full disk takes a part
			return errDisk
		}
		return real.write(file, data)
	}
	f.files.sync = func(file *os.File) error {
		if f.sync.Load() {
			return errDisk
		}
		return real.sync(file)
	}
	f.files.rename = func(from, to string) error {
		if f.rename.Load() {
			return errDisk
		}
		return real.rename(from, to)
	}
	f.files.syncDir = func(dir string) error {
		if f.syncDir.Load() || f.dirs.Add(-1) >= 0 {
			return errDisk
		}
		return real.syncDir(dir)
	}
	return f
}

// stored reads what a restart would read.
func (r *rig) stored() map[string]string {
	r.t.Helper()
	_, records, err := openStore(r.d.home.store, realFiles())
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
	r := start(t, setup{files: &f.files})
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
	for _, step := range []struct {
		name string
		fail *atomic.Bool
	}{{"write", &f.write}, {"sync", &f.sync}, {"rename", &f.rename}, {"directory", &atomic.Bool{}}} {
		step.fail.Store(true)
		for _, edit := range edits {
			if step.name == "directory" {
				f.dirs.Store(1) // the first sync alone fails, so that the old file can be put back
			}
			refused(t, step.name+" "+edit.name, edit.do(), 500, "cannot store the change, nothing was changed")
			f.dirs.Store(0)
			if diff := cmp.Diff(before, r.stored()); diff != "" {
				t.Errorf("%s at %s changed the store: %s", edit.name, step.name, diff)
			}
			if diff := cmp.Diff(picture, r.picture()); diff != "" {
				t.Errorf("%s at %s changed memory: %s", edit.name, step.name, diff)
			}
		}
		step.fail.Store(false)
	}
	if c := srv.Counts(); c.Spawns != 1 || c.Live != 1 {
		t.Errorf("refused edits touched a peer: %+v", c)
	}
	if left, err := filepath.Glob(filepath.Join(r.home, ".store*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files stay: %v %v", left, err)
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

func TestAStoreInDoubtSaysSoAndHeals(t *testing.T) {
	f := breakable()
	r := start(t, setup{files: &f.files})
	a := r.agent("a", `{}`)
	f.syncDir.Store(true)
	_, err := r.c.UpdateAgent(r.ctx, a, `{"description":"doubtful"}`)
	refused(t, "update", err, 500, "after a crash it may be there or not")
	if got, err := r.c.GetAgent(r.ctx, "a"); err != nil || got.Description != "" {
		t.Errorf("%v %v", got, err)
	}
	f.syncDir.Store(false)
	r.agent("b", `{}`)
	if diff := cmp.Diff(r.remembered(), r.stored()); diff != "" {
		t.Error(diff)
	}
}

func TestTheFirstEditInDoubtIsUndone(t *testing.T) {
	f := breakable()
	r := start(t, setup{files: &f.files})
	f.dirs.Store(1)
	_, err := r.c.CreateAgent(r.ctx, "a", `{}`)
	refused(t, "create", err, 500, "nothing was changed")
	if _, err := os.Stat(r.d.home.store); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store is there: %v", err)
	}
}

func TestRestartDeclaresAndStartsNothing(t *testing.T) {
	home := newHome(t)
	r := start(t, setup{home: home})
	id := r.agent("a", `{"description":"d","mcps":[{"name":"m","command":"S","env":{"TOKEN":"t"}}]}`)
	before := r.remembered()
	r.stop()
	put(t, filepath.Join(home, ".store.json-crashed"), "half a sto")

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
	if _, err := os.Stat(filepath.Join(home, ".store.json-crashed")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a crashed edit's file stays: %v", err)
	}
	info, err := os.Stat(r.d.home.store)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the store's mode: %v %v", info.Mode(), err)
	}
}

func TestACorruptStoreStopsTheStart(t *testing.T) {
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
		path := layout(home).store
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
