package core

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"maps"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// fingerprint is the keyed hash of an effective configuration (SPEC ID-1). Every part is
// preceded by its length and every list by its count, so that no two configurations encode
// alike (SPEC ID-4); env is sorted, so that its order is irrelevant (SPEC ID-3). scope keeps
// those apart who do not want to share (SPEC ID-7); it is empty for those who do.
func fingerprint(key []byte, c transport.Config, scope string) (fp lifecycle.Fingerprint) {
	h := hmac.New(sha256.New, key)
	putString(h, scope)
	putString(h, c.Command)
	putCount(h, len(c.Args))
	for _, a := range c.Args {
		putString(h, a)
	}
	putCount(h, len(c.Env))
	for _, k := range slices.Sorted(maps.Keys(c.Env)) {
		putString(h, k)
		putString(h, c.Env[k])
	}
	putString(h, c.URL)
	putString(h, c.Auth)
	h.Sum(fp[:0])
	return fp
}

func putCount(h hash.Hash, n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

func putString(h hash.Hash, s string) {
	putCount(h, len(s))
	h.Write([]byte(s))
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
