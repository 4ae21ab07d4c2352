package mutants

import (
	"os"
	"path/filepath"
)

// homeMutants are wrong about the daemon's own life.
func homeMutants() []Mutant {
	before := func(f func(home string)) func() defect { return fixed(defect{before: f}) }
	after := func(f func(home string, code int) int) func() defect { return fixed(defect{after: f}) }
	return []Mutant{
		{"no-kill-at-exit", "the daemon ends without stopping its servers", fixed(defect{abrupt: true})},
		{"forgets-agents", "what was stored is lost at a restart", before(func(home string) {
			_, _ = os.Remove(filepath.Join(home, "store.db")), os.Remove(filepath.Join(home, "store.db.bak"))
		})},
		{"steals-homes", "a home that is in use is taken", before(func(home string) { _ = os.RemoveAll(filepath.Join(home, "run")) })},
		{"starts-anywhere", "a home that cannot be used is used", before(func(home string) { _ = os.Remove(filepath.Join(home, "run")) })},
		{"exits-with-1", "an orderly end is reported as a failure", after(func(string, int) int { return 1 })},
		{"keeps-its-socket", "the socket file outlives the daemon", after(func(home string, code int) int {
			_ = os.WriteFile(filepath.Join(home, "run", "crabtalk.sock"), nil, 0o600)
			return code
		})},
	}
}
