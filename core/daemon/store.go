package daemon

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
)

// The store is one bbolt file with one bucket. Every agent is a record under its id: a
// checksum over id and value, then the value. The digest record holds the version, the
// number of agents and the exclusive or of their checksums, so that a record that is lost
// is missed, and not only one that was changed. bbolt writes a change to new pages and then
// swings one of its two roots, which is why a crash leaves the old state or the new one.

// storeVersion is the format that this daemon writes, and the only one that it reads.
const storeVersion = 2

const (
	storeBucket = "mayfly"
	digestKey   = "digest" // sorts behind every ULID, and is none
)

// lockPatience bounds the wait for bbolt's own lock, which nobody should hold: the home's
// lock was taken first.
const lockPatience = 5 * time.Second

// checksum covers a record's key and value.
type checksum = [sha256.Size]byte

func checksumOf(key, value []byte) checksum {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(key)))
	h.Write(n[:])
	h.Write(key)
	h.Write(value)
	return checksum(h.Sum(nil))
}

// digest sums all records up.
type digest struct {
	count uint64
	sum   checksum
}

// toggle adds a record's checksum, or takes it out again.
func (d *digest) toggle(c checksum) { subtle.XORBytes(d.sum[:], d.sum[:], c[:]) }

// with is the digest after a record was replaced; either may be nil.
func (d digest) with(old, now []byte) digest {
	if old != nil {
		d.toggle(checksum(old[:sha256.Size]))
		d.count--
	}
	if now != nil {
		d.toggle(checksum(now[:sha256.Size]))
		d.count++
	}
	return d
}

func (d digest) encode() []byte {
	out := binary.BigEndian.AppendUint64(nil, storeVersion)
	out = binary.BigEndian.AppendUint64(out, d.count)
	out = append(out, d.sum[:]...)
	own := checksumOf([]byte(digestKey), out)
	return append(own[:], out...)
}

func decodeDigest(data []byte) (d digest, err error) {
	const size = sha256.Size + 8 + 8 + sha256.Size
	if len(data) != size || checksumOf([]byte(digestKey), data[sha256.Size:]) != checksum(data[:sha256.Size]) {
		return d, errors.New("the record that sums the others up fails its checksum")
	}
	data = data[sha256.Size:]
	if v := binary.BigEndian.Uint64(data); v != storeVersion {
		return d, fmt.Errorf("its version is %d and this daemon reads version %d", v, storeVersion)
	}
	d.count = binary.BigEndian.Uint64(data[8:])
	copy(d.sum[:], data[16:])
	return d, nil
}

// encodeRecord is a record as it is stored.
func encodeRecord(r *record) []byte {
	value := []byte("{\"name\":" + string(encodeString(r.name)) + ",\"config\":" + string(r.config))
	if r.token != (tokenSum{}) {
		value = append(value, ",\"token_sha256\":\""+r.token.String()+"\""...)
	}
	value = append(value, '}')
	sum := checksumOf([]byte(r.id), value)
	return append(sum[:], value...)
}

// store keeps the agents. It is used by one edit at a time.
type store struct {
	path   string
	db     *bolt.DB
	disk   disk
	digest digest
	// undo is the change that was refused and is in the file all the same: it is taken back
	// before the next edit.
	undo *change
}

// change replaces one record by another, as they are stored; nil is none.
type change struct {
	id       string
	old, now []byte
}

// disk are the steps of the store that a test lets fail.
type disk struct {
	files  files
	open   func(path string, flag int, mode os.FileMode) (*os.File, error)
	commit func(tx *bolt.Tx) error
	noSync bool // for properties, which would be tests of the disk otherwise
}

func realDisk() disk {
	return disk{files: realFiles(), open: os.OpenFile, commit: (*bolt.Tx).Commit}
}

func (k disk) bolt(path string) (*bolt.DB, error) {
	return bolt.Open(path, 0o600, &bolt.Options{Timeout: lockPatience, OpenFile: k.open, NoSync: k.noSync, NoStatistics: true})
}

// openStore reads the agents. A file that is not there is made, from a store.json if there
// is one. One that cannot be understood is never replaced, and bbolt, which trusts its file,
// is not let near it.
func openStore(h home, k disk) (*store, []*record, error) {
	for _, path := range []string{h.store, h.backup(), h.legacy} {
		if err := clearTemporary(path); err != nil {
			return nil, nil, fmt.Errorf("cannot clear up beside the store: %w", err)
		}
	}
	if err := h.found(k); err != nil {
		return nil, nil, err
	}
	records, sum, err := readStore(h.store)
	if _, unreadable := errors.AsType[*fs.PathError](err); unreadable {
		return nil, nil, fmt.Errorf("cannot read the store: %w", err)
	}
	if err != nil {
		return nil, nil, h.corrupt(err)
	}
	db, err := k.bolt(h.store)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the store %s: %w", h.store, err)
	}
	return &store{path: h.store, db: db, disk: k, digest: sum}, records, nil
}

// put stores a record, new or changed; old is the one that it replaces, or nil.
func (s *store) put(old, now *record) error {
	c := change{id: now.id, now: encodeRecord(now)}
	if old != nil {
		c.old = encodeRecord(old)
	}
	return s.save(c)
}

// remove deletes a record.
func (s *store) remove(old *record) error {
	return s.save(change{id: old.id, old: encodeRecord(old)})
}

// save makes one change in one transaction. When it fails, file and memory agree on the old
// state, and the error says so where even that could not be achieved.
func (s *store) save(c change) error {
	if err := s.heal(); err != nil {
		return err
	}
	err := s.write(c)
	if err == nil {
		s.digest = s.digest.with(c.old, c.now)
		return nil
	}
	failed := fmt.Errorf("cannot store the change, nothing was changed: %w; is the disk full or read-only?", err)
	if !s.holds(c) {
		return failed
	}
	s.digest = s.digest.with(c.old, c.now)
	s.undo = &change{id: c.id, old: c.now, now: c.old}
	if undo := s.heal(); undo != nil {
		return fmt.Errorf("cannot store the change safely: %w; %w", err, undo)
	}
	return failed
}

// heal takes back what was refused and stored.
func (s *store) heal() error {
	if s.undo == nil {
		return nil
	}
	if err := s.write(*s.undo); err != nil && !s.holds(*s.undo) {
		return fmt.Errorf("a refused change may be there after a crash, or not, since it could not be taken back "+
			"from the store %s: %w", s.path, err)
	}
	s.digest = s.digest.with(s.undo.old, s.undo.now)
	s.undo = nil
	return nil
}

// write performs one change.
func (s *store) write(c change) error {
	tx, err := s.db.Begin(true)
	if err != nil {
		return err
	}
	if err := c.apply(tx, s.digest.with(c.old, c.now)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return s.disk.end(tx)
}

// end commits. bbolt does not roll back after every commit that failed, and whoever comes
// next would wait for ever; a transaction that has ended does not mind.
func (k disk) end(tx *bolt.Tx) error {
	err := k.commit(tx)
	if err != nil {
		_ = tx.Rollback()
	}
	return err
}

func (c change) apply(tx *bolt.Tx, sum digest) error {
	b := tx.Bucket([]byte(storeBucket))
	var err error
	if c.now == nil {
		err = b.Delete([]byte(c.id))
	} else {
		err = b.Put([]byte(c.id), c.now)
	}
	return errors.Join(err, b.Put([]byte(digestKey), sum.encode()))
}

// holds reports whether a change is in the file, whatever its commit said.
func (s *store) holds(c change) bool {
	found := false
	_ = s.db.View(func(tx *bolt.Tx) error { // a store that cannot be read holds nothing new
		found = bytes.Equal(tx.Bucket([]byte(storeBucket)).Get([]byte(c.id)), c.now)
		return nil
	})
	return found
}

// ready reports whether the store can be read.
func (s *store) ready() error {
	return s.db.View(func(tx *bolt.Tx) error {
		_, err := decodeDigest(tx.Bucket([]byte(storeBucket)).Get([]byte(digestKey)))
		return err
	})
}

// close gives the file back. A change that was refused is taken back first.
func (s *store) close() error { return errors.Join(s.heal(), s.db.Close()) }
