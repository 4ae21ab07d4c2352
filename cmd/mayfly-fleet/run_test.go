package main

import (
	"path/filepath"
	"testing"
)

// TestTheSameDirectory: an embedded server and workers in this process leave what mayfly sim campaign leaves,
// byte for byte: of a subject that holds, and of one that breaks rules.
func TestTheSameDirectory(t *testing.T) {
	for name, args := range map[string][]string{
		"machine":   {"-seeds", "2000", "-tenants", "1", "-for", "1m", "-reach", "0"},
		"published": quick("200"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "runs")
			o := fleet(t.Context(), append([]string{"run", "-kind", "sim", "-workers", "2", "-dir", dir}, args...)...)
			code := exitOK
			if name == "published" {
				code = exitFailed
			}
			want := local(t, args...)
			o.wants(t, code, tree(t, want)["summary.txt"], "join with: mayfly-fleet worker -nats nats://127.0.0.1:")
			same(t, name, dir, want)
		})
	}
}
