package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// found makes the store where there is none: beside its place, and moved there when it is
// whole, so that a crash leaves none. A store.json is taken over once, and kept under
// another name.
func (h home) found(k disk) error {
	_, err := os.Stat(h.store)
	if err == nil {
		return h.again(k)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot look at the store: %w", err)
	}
	if _, err := os.Stat(h.backup()); err == nil {
		// A home that had a store has lost it. To begin anew would be a silent reset, and the
		// next copy would take the place of the last good one.
		return fmt.Errorf("the store %s is not there, but its copy %s is: run mayfly serve -restore with it, "+
			"or move it away to start without agents", h.store, h.backup())
	}
	var records []*record
	data, err := readRegular(h.legacy, maxStoreFile)
	switch {
	case err == nil:
		if records, err = parseStore(data); err != nil {
			return fmt.Errorf("the store %s is corrupt: %w; it was left as it is: restore it from a copy, "+
				"or move it away to start without agents", h.legacy, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("cannot read the store: %w", err)
	}
	if err := h.build(k, records); err != nil {
		return fmt.Errorf("cannot make the store %s: %w; is the disk full or read-only?", h.store, err)
	}
	return h.retire(k)
}

// again looks for a store.json beside a store. It is what a takeover that was cut off left,
// or somebody put it there, which only they can sort out.
func (h home) again(k disk) error {
	data, err := readRegular(h.legacy, maxStoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the store: %w", err)
	}
	theirs, err := parseStore(data)
	if err != nil {
		return fmt.Errorf("%s is beside the store %s and cannot be read: %w; move one of them away", h.legacy, h.store, err)
	}
	ours, _, err := readStore(h.store)
	if err != nil {
		return nil // which is reported by whoever opens it
	}
	if !sameRecords(ours, theirs) {
		return fmt.Errorf("both %s and %s are there and hold other agents; move one of them away", h.store, h.legacy)
	}
	return h.retire(k)
}

func sameRecords(a, b []*record) bool {
	index := map[string]string{}
	for _, r := range a {
		index[r.id] = r.name + string(r.config)
	}
	for _, r := range b {
		if index[r.id] != r.name+string(r.config) {
			return false
		}
	}
	return len(a) == len(b)
}

// retire puts a store.json that was taken over out of the way. The store is there by then:
// a crash in between repeats this step alone.
func (h home) retire(k disk) error {
	err := k.files.rename(h.legacy, h.legacy+".imported")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = k.files.syncDir(h.dir)
	}
	if err != nil {
		return fmt.Errorf("the agents of %s are in %s now, but the file cannot be put aside: %w", h.legacy, h.store, err)
	}
	return nil
}

// build writes a new store.
func (h home) build(k disk, records []*record) error {
	path, err := k.files.beside(h.store)
	if err != nil {
		return err
	}
	if err := fill(k, path, records); err != nil {
		_ = os.Remove(path) // the error that led here says more
		return err
	}
	return k.files.place(path, h.store)
}

// fill writes records to a new store in one transaction.
func fill(k disk, path string, records []*record) error {
	db, err := k.bolt(path)
	if err != nil {
		return err
	}
	tx, err := db.Begin(true)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if err := fillIn(tx, records); err != nil {
		return errors.Join(err, tx.Rollback(), db.Close())
	}
	return errors.Join(k.end(tx), db.Close())
}

func fillIn(tx *bolt.Tx, records []*record) error {
	b, err := tx.CreateBucket([]byte(storeBucket))
	if err != nil {
		return err
	}
	var sum digest
	for _, r := range records {
		value := encodeRecord(r)
		sum = sum.with(nil, value)
		if err := b.Put([]byte(r.id), value); err != nil {
			return err
		}
	}
	return b.Put([]byte(digestKey), sum.encode())
}

// backup is the copy that is made at every start, after the store was found whole, and at
// every clean end.
func (h home) backup() string { return h.store + ".bak" }

// corrupt is the error of a store that cannot be understood, with the way back.
func (h home) corrupt(why error) error {
	back := "restore it from a copy with mayfly serve -restore FILE, or move it away to start without agents"
	if info, err := os.Stat(h.backup()); err == nil {
		back = fmt.Sprintf("mayfly serve -home %s -restore %s brings back what was stored at %s",
			h.dir, h.backup(), info.ModTime().UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("the store %s is corrupt: %w; it was left as it is: %s", h.store, why, back)
}

// rootsSize is how much of two stores is compared: both roots, which hold the number of the
// last change.
const rootsSize = 1 << 16

// keep makes the backup, unless it is the same already.
func (h home) keep(k disk) error {
	if sameStart(h.store, h.backup(), rootsSize) {
		return nil
	}
	return k.files.copy(h.store, h.backup())
}

// sameStart compares the beginnings of two files. What cannot be read is not the same.
func sameStart(a, b string, n int64) bool {
	read := func(path string) []byte {
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, n))
		if err != nil {
			return nil
		}
		return data
	}
	first := read(a)
	return len(first) > 0 && bytes.Equal(first, read(b))
}

// Restored says what Restore did.
type Restored struct {
	Agents int    // that the store holds now
	From   string // where they came from
	Kept   string // where the store that was there is now; empty if there was none
}

// Restore makes a copy of a store, or a store.json of an earlier version, the store of a
// home on which no daemon runs. The copy is checked first. The store that was there is kept
// beside it under another name. Whenever it is cut off, the store is the old one or the new one.
func Restore(dir, from string, now time.Time) (Restored, error) {
	return restore(realDisk(), dir, from, now)
}

func restore(k disk, dir, from string, now time.Time) (done Restored, err error) {
	h := layout(dir)
	done.From = from
	if err := h.prepare(); err != nil {
		return done, err
	}
	lock, err := h.acquire()
	if err != nil {
		return done, err
	}
	defer lock.Close()
	records, err := readCopy(from)
	if err != nil {
		return done, fmt.Errorf("the copy %s cannot be used: %w; nothing was changed", from, err)
	}
	done.Kept, err = h.exchange(k, records, h.store+".replaced-"+now.UTC().Format("20060102T150405.000"))
	if err != nil {
		return done, fmt.Errorf("cannot restore the store: %w; nothing was changed", err)
	}
	done.Agents = len(records)
	if err := k.files.syncDir(h.dir); err != nil {
		return done, fmt.Errorf("the store is restored, and a crash of the machine may undo it: %w", err)
	}
	return done, nil
}

// exchange puts a new store in the place of the one that is there, if there is one, which gets
// another name first. Its own name passes to the new one in one step: at no moment is there no
// store.
func (h home) exchange(k disk, records []*record, as string) (kept string, err error) {
	path, err := k.files.beside(h.store)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil { // the error says more than those of the tidying up
			_ = os.Remove(path)
			if kept != "" {
				_ = os.Remove(kept)
			}
			kept = ""
		}
	}()
	if err := fill(k, path, records); err != nil {
		return "", err
	}
	switch err := k.files.keep(h.store, as); {
	case err == nil:
		kept = as
	case errors.Is(err, fs.ErrNotExist): // there is none
	case errors.Is(err, fs.ErrExist): // somebody else's
		return "", fmt.Errorf("cannot put the present store aside: %w", err)
	default:
		return as, fmt.Errorf("cannot put the present store aside: %w", err)
	}
	return kept, k.files.rename(path, h.store)
}

// readCopy reads a store of either format.
func readCopy(path string) ([]*record, error) {
	if filepath.Ext(path) != ".json" && filepath.Ext(path) != ".imported" {
		records, _, err := readStore(path)
		return records, err
	}
	data, err := readRegular(path, maxStoreFile)
	if err != nil {
		return nil, err
	}
	return parseStore(data)
}
