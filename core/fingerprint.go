package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// prints makes fingerprints under one key. A hash that was keyed once is used again, together
// with the room that it takes: keying it costs as much as hashing a configuration.
type prints struct{ spare sync.Pool }

type keyed struct {
	mac   hash.Hash
	room  []byte
	names []string
}

// maxSpareRoom bounds what is kept for the next fingerprint; most take a few hundred bytes.
const maxSpareRoom = 4 << 10

func newPrints(key []byte) *prints {
	return &prints{sync.Pool{New: func() any { return &keyed{mac: hmac.New(sha256.New, key)} }}}
}

// of is the keyed hash of an effective configuration (SPEC ID-1). Every part is
// preceded by its length and every list by its count, so that no two configurations encode
// alike (SPEC ID-4); env is sorted, so that its order is irrelevant (SPEC ID-3). scope keeps
// those apart who do not want to share (SPEC ID-7); it is empty for those who do.
func (p *prints) of(c transport.Config, scope string) (fp lifecycle.Fingerprint) {
	k := p.spare.Get().(*keyed)
	b := appendStrings(k.room[:0], scope, c.Command)
	b = appendStrings(appendCount(b, len(c.Args)), c.Args...)
	env := k.names[:0]
	for name := range c.Env {
		env = append(env, name)
	}
	slices.Sort(env)
	b = appendCount(b, len(env))
	for _, name := range env {
		b = appendStrings(b, name, c.Env[name])
	}
	b = appendStrings(b, c.URL, c.Auth)
	k.mac.Reset()
	k.mac.Write(b)
	k.mac.Sum(fp[:0])
	if clear(b); cap(b) <= maxSpareRoom { // it held secrets
		clear(env)
		k.room, k.names = b, env
		p.spare.Put(k)
	}
	return fp
}

func appendCount(b []byte, n int) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func appendStrings(b []byte, all ...string) []byte {
	for _, s := range all {
		b = append(appendCount(b, len(s)), s...)
	}
	return b
}

// sameConfig compares what the fingerprint covers.
func sameConfig(a, b transport.Config) bool {
	return a.Command == b.Command && a.URL == b.URL && a.Auth == b.Auth &&
		slices.Equal(a.Args, b.Args) && maps.Equal(a.Env, b.Env)
}

// cloneConfig keeps a declaration safe from a caller that goes on editing its maps.
func cloneConfig(c transport.Config) transport.Config {
	c.Args = slices.Clone(c.Args)
	c.Env = maps.Clone(c.Env)
	return c
}

// shortID is what may be printed of a fingerprint (SPEC ID-5).
func shortID(fp lifecycle.Fingerprint) string { return hex.EncodeToString(fp[:8]) }
