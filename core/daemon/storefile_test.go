package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	bolt "go.etcd.io/bbolt"
)

// filled makes a home whose store has n agents, after as many edits.
func filled(t *testing.T, n int) home {
	t.Helper()
	h := layout(newHome(t))
	k := realDisk()
	k.noSync = true
	st, _, err := openStore(h, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := st.put(nil, someRecord(t, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.close(); err != nil {
		t.Fatal(err)
	}
	return h
}

func someRecord(t *testing.T, i int) *record {
	t.Helper()
	id := ulid.ULID{15: byte(i), 14: byte(i >> 8)}.String()
	r, err := newRecord(id, fmt.Sprintf("agent-%d", i), object{"description": strings.Repeat("d", 60)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func summary(records []*record) string {
	var out []string
	for _, r := range records {
		out = append(out, r.id+" "+r.name+" "+string(r.config))
	}
	return strings.Join(out, "\n")
}

// TestAFlippedByteIsNoticed flips bytes all over the file, one at a time. What is read then
// is an error or exactly what was stored: never less, and never a panic.
func TestAFlippedByteIsNoticed(t *testing.T) {
	h := filled(t, 26) // enough for pages above pages
	data, err := os.ReadFile(h.store)
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := readStore(h.store)
	if err != nil || len(records) != 26 {
		t.Fatal(len(records), err)
	}
	want := summary(records)
	noticed, harmless := 0, 0
	page := os.Getpagesize()
	for at := 0; at < len(data); at++ {
		if in := at % page; in%5 != 0 || in > 150 && in%211 != 0 {
			continue // the heads of pages closely, their bodies here and there
		}
		for _, flip := range []byte{0xA5} {
			data[at] ^= flip
			w, err := newWalker(data)
			var got []*record
			if err == nil {
				if err = w.walk(); err == nil {
					got, _, err = w.records()
				}
			}
			switch {
			case err != nil:
				noticed++
			case summary(got) == want:
				harmless++ // in what nobody reads
			default:
				t.Fatalf("a flip of %x at %d was not noticed", flip, at)
			}
			data[at] ^= flip
		}
	}
	t.Logf("%d flips in %d bytes: %d noticed, %d in space that is not used, 0 missed", noticed+harmless, len(data), noticed, harmless)
	if noticed == 0 {
		t.Error("no flip was noticed at all")
	}
}

// damages are ways in which a store can be broken, and what the error says of it.
func damages(t *testing.T) map[string]struct {
	do   func(path string)
	want string
} {
	edit := func(path string, f func(*bolt.Tx) error) { editFile(t, path, f) }
	patch := func(path string, f func(data []byte) []byte) { patchFile(t, path, f) }
	type damage = struct {
		do   func(path string)
		want string
	}
	return map[string]damage{
		"a lost record": {func(path string) {
			edit(path, func(tx *bolt.Tx) error {
				return tx.Bucket([]byte(storeBucket)).Delete([]byte(someRecord(t, 3).id))
			})
		}, "it holds 19 agents, which are not those that were stored"},
		"a lost digest": {func(path string) {
			edit(path, func(tx *bolt.Tx) error { return tx.Bucket([]byte(storeBucket)).Delete([]byte(digestKey)) })
		}, "which are not those that were stored"},
		"an older record": {func(path string) {
			edit(path, func(tx *bolt.Tx) error {
				old, err := newRecord(someRecord(t, 3).id, "agent-3", object{})
				return errors.Join(err, tx.Bucket([]byte(storeBucket)).Put([]byte(old.id), encodeRecord(old)))
			})
		}, "it holds 20 agents, which are not those that were stored"},
		"another record's value": {func(path string) {
			edit(path, func(tx *bolt.Tx) error {
				b := tx.Bucket([]byte(storeBucket))
				return b.Put([]byte(someRecord(t, 3).id), b.Get([]byte(someRecord(t, 4).id)))
			})
		}, "agent " + someRecord(t, 3).id + ": the record fails its checksum"},
		"a later version": {func(path string) {
			edit(path, func(tx *bolt.Tx) error {
				b := tx.Bucket([]byte(storeBucket))
				data := bytes.Clone(b.Get([]byte(digestKey)))
				data[32+7]++
				sum := checksumOf([]byte(digestKey), data[32:])
				return b.Put([]byte(digestKey), append(sum[:], data[32:]...))
			})
		}, "its version is 3 and this daemon reads version 2"},
		"something else's store": {func(path string) {
			edit(path, func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("other")); return err })
		}, "it is a store of something else"},
		"a torn end": {func(path string) {
			patch(path, func(data []byte) []byte { return data[:2*4096+100] })
		}, "it ends too early"},
		"an empty file": {func(path string) { patch(path, func([]byte) []byte { return nil }) }, "its first root: the file is too short"},
		"a text file":   {func(path string) { patch(path, func([]byte) []byte { return bytes.Repeat([]byte("x"), 9000) }) }, "it is no root of a store"},
		"a lost free page": {func(path string) {
			patch(path, func(data []byte) []byte {
				w, err := newWalker(data)
				if err != nil {
					t.Fatal(err)
				}
				data[w.freelist*w.pageSize+10]--
				return data
			})
		}, "1 pages are neither used nor free"},
		"a lost first root": {func(path string) {
			patch(path, func(data []byte) []byte { data[40]++; return data })
		}, "its first root: it fails its checksum"},
		"a lost second root": {func(path string) {
			patch(path, func(data []byte) []byte { data[os.Getpagesize()+40]++; return data })
		}, "its second root: it fails its checksum"},
	}
}

// editFile changes a store behind its back.
func editFile(t *testing.T, path string, f func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err == nil {
		err = errors.Join(db.Update(f), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// patchFile changes its bytes.
func patchFile(t *testing.T, path string, f func(data []byte) []byte) {
	t.Helper()
	if err := os.WriteFile(path, f([]byte(read(t, path))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestACorruptStoreStopsTheStart: a clear error that names the file and the way back, which
// works; the file is left as it is.
func TestACorruptStoreStopsTheStart(t *testing.T) {
	for name, damage := range damages(t) {
		t.Run(name, func(t *testing.T) {
			h := filled(t, 20)
			if err := h.keep(realDisk()); err != nil {
				t.Fatal(err)
			}
			damage.do(h.store)
			broken, err := os.ReadFile(h.store)
			if err != nil {
				t.Fatal(err)
			}
			cannotOpen(t, plain(h.dir), "the store "+h.store+" is corrupt: ", damage.want,
				"mayfly serve -home "+h.dir+" -restore "+h.backup()+" brings back what was stored at ")
			if now, err := os.ReadFile(h.store); err != nil || !bytes.Equal(now, broken) {
				t.Errorf("the corrupt store was changed: %v", err)
			}
			done, err := Restore(h.dir, h.backup(), time.Now())
			if err != nil || done.Agents != 20 {
				t.Fatalf("%+v %v", done, err)
			}
			if kept, err := os.ReadFile(done.Kept); err != nil || !bytes.Equal(kept, broken) {
				t.Errorf("the corrupt store was not kept: %v", err)
			}
			r := start(t, setup{home: h.dir})
			if n := len(r.stored()); n != 20 {
				t.Errorf("%d agents after the restore", n)
			}
		})
	}
}

func TestBackups(t *testing.T) {
	home := newHome(t)
	r := start(t, setup{home: home})
	r.agent("a", `{}`)
	count := func() int {
		records, _, err := readStore(r.d.home.backup())
		if err != nil {
			t.Fatal(err)
		}
		return len(records)
	}
	if n := count(); n != 0 {
		t.Errorf("the backup of the start holds %d agents", n)
	}
	r.stop()
	if n := count(); n != 1 {
		t.Errorf("the backup of the end holds %d agents", n)
	}
	if info, err := os.Stat(r.d.home.backup()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := os.Remove(r.d.home.backup()); err != nil {
		t.Fatal(err)
	}
	k := realDisk()
	k.files.sync = func(*os.File) error { return errDisk }
	r = start(t, setup{home: home, disk: &k}) // a backup that fails is no reason not to start
	if !strings.Contains(r.log.String(), "the store has no backup") {
		t.Error("a missing backup is not said")
	}
}

func TestRestoreRefusals(t *testing.T) {
	r := start(t, setup{})
	if _, err := Restore(r.home, "x", time.Now()); err == nil || !strings.Contains(err.Error(), "another daemon") {
		t.Errorf("a restore under a running daemon: %v", err)
	}
	h := filled(t, 3)
	bad := filepath.Join(h.dir, "bad.db")
	put(t, bad, "no store")
	for _, from := range []string{bad, filepath.Join(h.dir, "none.db"), filepath.Join(h.dir, "none.json")} {
		if _, err := Restore(h.dir, from, time.Now()); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("%s: %v", from, err)
		}
	}
	if records, _, err := readStore(h.store); err != nil || len(records) != 3 {
		t.Errorf("%d %v", len(records), err)
	}
}

// TestAStoreJSONIsTakenOverOnce, also when the takeover is cut off in the middle.
func TestAStoreJSONIsTakenOverOnce(t *testing.T) {
	home := newHome(t)
	h := layout(home)
	old := `{"version":1,"agents":[{"id":"` + unknownID + `","name":"a","config":{"description":"d"}}]}`
	put(t, h.legacy, old)
	k := realDisk()
	k.files.rename = func(from, to string) error {
		if from == h.legacy {
			return errDisk
		}
		return os.Rename(from, to)
	}
	if _, err := open(context.Background(), plain(home), k); !errors.Is(err, errDisk) {
		t.Fatalf("%v", err)
	}
	k.commit = func(*bolt.Tx) error { return errDisk }
	if err := os.Remove(h.store); err != nil {
		t.Fatal(err)
	}
	if _, err := open(context.Background(), plain(home), k); !errors.Is(err, errDisk) {
		t.Fatalf("%v", err)
	}
	if _, err := os.Stat(h.store); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a store is there: %v", err)
	}
	for range 2 {
		r := start(t, setup{home: home})
		if got, err := r.c.GetAgent(r.ctx, "a"); err != nil || got.Id != unknownID || got.Description != "d" {
			t.Errorf("%v %v", got, err)
		}
		r.stop()
	}
	kept, err := os.ReadFile(h.legacy + ".imported")
	if _, gone := os.Stat(h.legacy); err != nil || string(kept) != old || !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("%s %v %v", kept, err, gone)
	}
	left, err := filepath.Glob(filepath.Join(home, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files stay: %v %v", left, err)
	}
	put(t, h.legacy, strings.Replace(old, `"a"`, `"b"`, 1))
	cannotOpen(t, plain(home), "both "+h.store+" and "+h.legacy+" are there and hold other agents")
	if err := os.Remove(h.legacy); err != nil {
		t.Fatal(err)
	}
	done, err := Restore(home, h.legacy+".imported", time.Now())
	if err != nil || done.Agents != 1 {
		t.Errorf("%+v %v", done, err)
	}
}

func TestTheKeyOfTheFingerprintsStays(t *testing.T) {
	home := newHome(t)
	var ids []string
	for range 2 {
		r := start(t, setup{home: home})
		if len(ids) == 0 {
			r.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`)
		}
		a, err := r.c.GetAgent(r.ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.mcp(a.Id, "m").Peer)
		r.stop()
	}
	other := start(t, setup{})
	ids = append(ids, other.mcp(other.agent("a", `{"mcps":[{"name":"m","command":"S"}]}`), "m").Peer)
	if ids[0] == "" || ids[0] != ids[1] || ids[0] == ids[2] {
		t.Errorf("ids %q: the first two are one home's, the third another one's", ids)
	}
	h := layout(home)
	if info, err := os.Stat(h.key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	put(t, h.key, "short")
	cannotOpen(t, plain(home), h.key, "has 5 bytes, not 32; remove it")
	if diff := cmp.Diff("short", read(t, h.key)); diff != "" {
		t.Error(diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// BenchmarkOpenStore is what a start pays for the check of every page.
func BenchmarkOpenStore(b *testing.B) {
	h := layout(b.TempDir())
	k := realDisk()
	k.noSync = true
	var records []*record
	for i := range 10_000 {
		id := ulid.ULID{15: byte(i), 14: byte(i >> 8)}.String()
		r, err := newRecord(id, fmt.Sprintf("agent-%d", i), object{"description": strings.Repeat("d", 1000)})
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, r)
	}
	if err := h.build(k, records); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, _, err := readStore(h.store); err != nil || len(got) != len(records) {
			b.Fatal(len(got), err)
		}
	}
}

// A home that has lost its store is not begun anew, and its last copy is left as it is.
func TestALostStoreIsNotReplaced(t *testing.T) {
	home := newHome(t)
	d, err := Open(Config{Home: home, TCPAddr: TCPOff})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := layout(home)
	before, err := os.ReadFile(h.backup())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(h.store); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Home: home, TCPAddr: TCPOff}); err == nil || !strings.Contains(err.Error(), "-restore") {
		t.Errorf("a home without its store opens with %v", err)
	}
	if after, err := os.ReadFile(h.backup()); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the copy was touched: %v", err)
	}
	if _, err := Restore(home, h.backup(), time.Now()); err != nil {
		t.Errorf("the way back: %v", err)
	}
}
