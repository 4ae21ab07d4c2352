package daemon

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
)

// bbolt believes what it finds in its file: on a damaged one it panics, in goroutines of its
// own, where nobody can catch it. So the file is read here first, page by page, and nothing
// in it is believed. The layout is that of bbolt's format version 2, in the machine's own
// byte order.

const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2
	// maxStoreFile bounds the store; a longer file is some other file.
	maxStoreFile = 1 << 34

	pageHeader  = 16
	elementSize = 16
	metaSize    = 64 // with its checksum

	branchPage   = 0x01
	leafPage     = 0x02
	metaPage     = 0x04
	freelistPage = 0x10
	bucketLeaf   = 0x01
)

var native = binary.NativeEndian

// metaOf is one of the two roots of a file.
type metaOf struct {
	pageSize               uint64
	root, freelist, limits uint64 // pages
	txid                   uint64
}

// readRoot reads the root at the beginning of a page.
func readRoot(page []byte) (m metaOf, err error) {
	if len(page) < pageHeader+metaSize {
		return m, errors.New("the file is too short")
	}
	b := page[pageHeader:]
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	switch {
	case native.Uint16(page[8:])&metaPage == 0, native.Uint32(b) != boltMagic:
		return m, errors.New("it is no root of a store")
	case native.Uint32(b[4:]) != boltVersion:
		return m, errors.New("its format is of another version")
	case native.Uint64(b[56:]) != sum.Sum64():
		return m, errors.New("it fails its checksum")
	}
	return metaOf{pageSize: uint64(native.Uint32(b[8:])), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]),
		limits: native.Uint64(b[40:]), txid: native.Uint64(b[48:])}, nil
}

// walker reads the pages of a file, each of them once.
type walker struct {
	data []byte
	metaOf
	seen  map[uint64]bool
	pairs []pair
}

type pair struct{ key, value []byte }

// readStore reads and checks a whole store.
func readStore(path string) ([]*record, digest, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, digest{}, err
	}
	if info.Size() > maxStoreFile {
		return nil, digest{}, fmt.Errorf("it has %d bytes, more than a store may have", info.Size())
	}
	data, err := readRegular(path, maxStoreFile)
	if err != nil {
		return nil, digest{}, err
	}
	w, err := newWalker(data)
	if err != nil {
		return nil, digest{}, err
	}
	if err := w.walk(); err != nil {
		return nil, digest{}, err
	}
	return w.records()
}

// newWalker wants both roots whole. The older one alone would do, and a change that was
// acknowledged would be lost without a word. No crash makes one invalid: a root is smaller
// than the sector that a disk writes as one.
func newWalker(data []byte) (*walker, error) {
	first, err := readRoot(data)
	if err != nil {
		return nil, fmt.Errorf("its first root: %w", err)
	}
	size := first.pageSize
	if size < 1<<10 || size > 1<<16 || size&(size-1) != 0 || uint64(len(data)) < 2*size {
		return nil, errors.New("its first root: the size of the pages cannot be")
	}
	second, err := readRoot(data[size:])
	if err != nil {
		return nil, fmt.Errorf("its second root: %w", err)
	}
	if second.pageSize != size {
		return nil, errors.New("its roots differ in the size of the pages")
	}
	newest := first
	if cmp.Compare(second.txid, first.txid) > 0 {
		newest = second
	}
	if newest.limits > uint64(len(data))/size {
		return nil, errors.New("it ends too early")
	}
	return &walker{data: data, metaOf: newest, seen: map[uint64]bool{0: true, 1: true}}, nil
}

// page returns a page with those that it runs over into. Each may be visited once.
func (w *walker) page(id uint64, want uint16) ([]byte, error) {
	if id < 2 || id >= w.limits {
		return nil, fmt.Errorf("page %d does not exist", id)
	}
	p := w.data[id*w.pageSize:]
	over := uint64(native.Uint32(p[12:]))
	if native.Uint64(p) != id || native.Uint16(p[8:])&want == 0 || id+over >= w.limits {
		return nil, fmt.Errorf("page %d is not what it should be", id)
	}
	for i := id; i <= id+over; i++ {
		if w.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		w.seen[i] = true
	}
	return p[:(over+1)*w.pageSize], nil
}

// walk reads everything that can be reached, and proves that the rest is free.
func (w *walker) walk() error {
	if err := w.tree(w.root); err != nil {
		return err
	}
	if len(w.pairs) != 1 || string(w.pairs[0].key) != storeBucket {
		return errors.New("it is a store of something else")
	}
	bucket := w.pairs[0].value
	w.pairs = nil
	if len(bucket) < 16 {
		return errors.New("its only bucket is cut off")
	}
	root := native.Uint64(bucket)
	var err error
	if root == 0 {
		err = w.leaves(bucket[16:])
	} else {
		err = w.tree(root)
	}
	if err != nil {
		return err
	}
	return w.free()
}

// tree reads the pages below one. Its depth is bounded, since no page is visited twice.
func (w *walker) tree(id uint64) error {
	p, err := w.page(id, branchPage|leafPage)
	if err != nil {
		return err
	}
	if native.Uint16(p[8:])&leafPage != 0 {
		return w.leaves(p)
	}
	for i := range uint64(native.Uint16(p[10:])) {
		at := pageHeader + i*elementSize
		if at+elementSize > uint64(len(p)) {
			return fmt.Errorf("page %d is cut off", id)
		}
		if err := w.tree(native.Uint64(p[at+8:])); err != nil {
			return err
		}
	}
	return nil
}

// leaves reads the pairs of a leaf page, or of a bucket that lies in one.
func (w *walker) leaves(p []byte) error {
	cut := errors.New("a page with records is cut off")
	if len(p) < pageHeader {
		return cut
	}
	for i := range uint64(native.Uint16(p[10:])) {
		at := pageHeader + i*elementSize
		if at+elementSize > uint64(len(p)) {
			return cut
		}
		e := p[at:]
		from, key, value := at+uint64(native.Uint32(e[4:])), uint64(native.Uint32(e[8:])), uint64(native.Uint32(e[12:]))
		if from+key+value > uint64(len(p)) {
			return cut
		}
		w.pairs = append(w.pairs, pair{p[from : from+key : from+key], p[from+key : from+key+value]})
	}
	return nil
}

// free reads the list of the free pages: a page on it that is in use would be overwritten by
// the next edits, and one that is neither is what a lost part of the tree looks like.
func (w *walker) free() error {
	p, err := w.page(w.freelist, freelistPage)
	if err != nil {
		return err
	}
	n, at := uint64(native.Uint16(p[10:])), uint64(pageHeader)
	if n == 0xFFFF {
		n, at = native.Uint64(p[at:]), at+8
	}
	if n > (uint64(len(p))-at)/8 {
		return errors.New("the list of free pages is cut off")
	}
	for i := range n {
		id := native.Uint64(p[at+8*i:])
		if id >= w.limits || w.seen[id] {
			return fmt.Errorf("page %d is free and used", id)
		}
		w.seen[id] = true
	}
	if uint64(len(w.seen)) != w.limits {
		return fmt.Errorf("%d pages are neither used nor free", w.limits-uint64(len(w.seen)))
	}
	return nil
}

// records checks every record, and that none is missing.
func (w *walker) records() ([]*record, digest, error) {
	var got, want digest
	var out []*record
	found := false
	names := map[string]bool{}
	if !slices.IsSortedFunc(w.pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) }) {
		return nil, got, errors.New("its records are out of order")
	}
	for _, p := range w.pairs {
		var err error
		if string(p.key) == digestKey {
			if want, err = decodeDigest(p.value); err != nil {
				return nil, got, err
			}
			found = true
			continue
		}
		r, err := decodeRecord(p.key, p.value)
		switch {
		case err != nil:
			return nil, got, fmt.Errorf("agent %s: %w", printable(clip(string(p.key), maxQuoted)), err)
		case names[r.name]:
			return nil, got, fmt.Errorf("agent %s: its name '%s' appears twice", r.id, r.name)
		}
		names[r.name] = true
		got = got.with(nil, p.value)
		out = append(out, r)
	}
	if !found || got != want {
		return nil, got, fmt.Errorf("it holds %d agents, which are not those that were stored", got.count)
	}
	return out, got, nil
}

func decodeRecord(key, value []byte) (*record, error) {
	if len(value) < sha256.Size || checksumOf(key, value[sha256.Size:]) != checksum(value[:sha256.Size]) {
		return nil, errors.New("the record fails its checksum")
	}
	item := storedItem{ID: string(key)}
	if err := json.Unmarshal(value[sha256.Size:], &item); err != nil {
		return nil, jsonProblem(err)
	}
	return parseItem(item)
}
