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

// prints makes fingerprints under one key. A hash that was keyed once is used again: keying it
// costs as much as hashing a configuration.
type prints struct{ spare sync.Pool }

func newPrints(key []byte) *prints {
	return &prints{sync.Pool{New: func() any { return hmac.New(sha256.New, key) }}}
}

// of is the keyed hash of an effective configuration (SPEC ID-1). Every part is
// preceded by its length and every list by its count, so that no two configurations encode
// alike (SPEC ID-4); env is sorted, so that its order is irrelevant (SPEC ID-3). scope keeps
// those apart who do not want to share (SPEC ID-7); it is empty for those who do.
func (p *prints) of(c transport.Config, scope string) (fp lifecycle.Fingerprint) {
	var room [512]byte // of which most configurations need no more
	var names [8]string
	b := appendStrings(room[:0], scope, c.Command)
	b = appendStrings(appendCount(b, len(c.Args)), c.Args...)
	env := names[:0]
	for k := range c.Env {
		env = append(env, k)
	}
	slices.Sort(env)
	b = appendCount(b, len(env))
	for _, k := range env {
		b = appendStrings(b, k, c.Env[k])
	}
	b = appendStrings(b, c.URL, c.Auth)
	h := p.spare.Get().(hash.Hash)
	defer p.spare.Put(h)
	h.Reset()
	h.Write(b)
	h.Sum(fp[:0])
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
