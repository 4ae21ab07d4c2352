package daemon

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// bench is the agents of a daemon without its sockets, for properties.
type bench struct {
	as   *agents
	home home
	disk *failing
	ids  []string
}

func newBench(t *rapid.T, dir string) *bench {
	host, err := core.Open(core.Config{Dialer: fakes.NewDialer(fakes.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close(context.Background()) })
	b := &bench{home: layout(dir), disk: breakable()}
	b.disk.once.Store(true)
	b.disk.noSync = true // or this would be a test of the disk
	_ = os.Remove(b.home.store)
	st, records, err := openStore(b.home, b.disk.disk)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.close() })
	b.as = openAgents(host, st, records, overlay{}, defaultMaxAgents)
	t.Cleanup(b.as.bury)
	return b
}

// agent draws an id that exists, or one that does not.
func (b *bench) agent(t *rapid.T) string {
	return rapid.SampledFrom(append(slices.Clone(b.ids), unknownID)).Draw(t, "agent")
}

func someName(t *rapid.T) string {
	return rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "name")
}

func someMcp(t *rapid.T) string {
	return fmt.Sprintf(`{"name":%q,"command":%q}`, someName(t), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "command"))
}

// TestMemoryStoreAndClaimsAgree performs edits, good and bad, on a disk that fails now and
// then. After each of them the file, the memory and the claims say the same, and an edit
// that was refused changed none (SPEC CF-5, CF-7, CL-12).
func TestMemoryStoreAndClaimsAgree(t *testing.T) {
	dir := newHome(t)
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t, dir)
		edit := func(t *rapid.T, do func() error) {
			b.disk.fail.Store(rapid.SampledFrom([]int32{works, works, works, works, works, works, refuses, lies}).Draw(t, "disk"))
			before := b.state(t)
			err := do()
			b.disk.fail.Store(works)
			if err != nil && !cmp.Equal(before, b.state(t)) {
				t.Fatalf("an edit was refused with %v and changed something: %s", err, cmp.Diff(before, b.state(t)))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				config := fmt.Sprintf(`{"mcps":[%s,%s]}`, someMcp(t), someMcp(t))
				edit(t, func() error {
					r, err := b.as.create(someName(t), config, time.Unix(0, 0))
					if err == nil {
						b.ids = append(b.ids, r.id)
					}
					return err
				})
			},
			"update": func(t *rapid.T) {
				patch := fmt.Sprintf(`{"mcps":[%s,%s],"description":%q}`, someMcp(t), someMcp(t), someName(t))
				edit(t, func() error { _, err := b.as.update(b.agent(t), patch); return err })
			},
			"rename": func(t *rapid.T) {
				edit(t, func() error { _, err := b.as.rename(b.agent(t), someName(t)); return err })
			},
			"upsert": func(t *rapid.T) {
				edit(t, func() error { _, _, err := b.as.upsert(b.agent(t), someMcp(t)); return err })
			},
			"delete mcp": func(t *rapid.T) {
				edit(t, func() error { return b.as.deleteMcp(b.agent(t), someName(t)) })
			},
			"delete": func(t *rapid.T) {
				edit(t, func() error { return b.as.remove(b.agent(t)) })
			},
			"": func(t *rapid.T) { b.state(t) },
		})
	})
}

// state reads the file, and checks that memory and claims agree with it.
func (b *bench) state(t *rapid.T) map[string]string {
	records, _, err := readStore(b.home.store)
	if err != nil {
		t.Fatal(err)
	}
	stored, remembered := map[string]string{}, map[string]string{}
	for _, r := range records {
		stored[r.name] = string(r.config)
	}
	for _, r := range b.as.records() {
		remembered[r.name] = string(r.config)
		a, err := b.as.find(r.id)
		if err != nil {
			t.Fatal(err)
		}
		var declared, claimed []string
		for _, m := range r.spec.mcps {
			declared = append(declared, m.name)
		}
		for _, s := range a.owner.List() {
			claimed = append(claimed, s.Name)
		}
		slices.Sort(declared)
		slices.Sort(claimed)
		if !slices.Equal(declared, claimed) {
			t.Fatalf("agent %s is stored with %q and claims %q", r.name, declared, claimed)
		}
	}
	if diff := cmp.Diff(stored, remembered); diff != "" {
		t.Fatalf("store and memory differ: %s", diff)
	}
	return stored
}
