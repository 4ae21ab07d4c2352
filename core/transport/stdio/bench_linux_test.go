package stdio

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/core/transport"
)

// benchPeers is how many real children BenchmarkThousandChildren keeps alive.
const benchPeers = 1000

// BenchmarkThousandChildren starts real peers through the whole handshake, four at a time,
// and ends them all at once. One run is one iteration; the metrics say what it cost.
func BenchmarkThousandChildren(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	if allowed, warning := DescriptorBudget(benchPeers); allowed < benchPeers {
		b.Fatal(warning)
	}
	cfg := transport.Config{Command: exe, Env: map[string]string{peerVar: "", "GOMAXPROCS": "1", "GORACE": "atexit_sleep_ms=0"}}
	for b.Loop() {
		d := New(Options{Records: b.TempDir()})
		before, began := resident(os.Getpid()), time.Now()
		peers := startMany(b, d, cfg)
		spawned := time.Since(began)
		b.ReportMetric(benchPeers/spawned.Seconds(), "spawns/s")
		b.ReportMetric(float64(resident(os.Getpid())-before)/benchPeers/1024, "parent-KiB/peer")
		children := 0
		for _, s := range peers {
			children += resident(s.(*session).proc.pid)
		}
		b.ReportMetric(float64(children)/benchPeers/1024, "child-KiB")
		began = time.Now()
		for _, s := range peers {
			s.Stop(transport.StageClose)
		}
		for _, s := range peers {
			<-s.Done()
		}
		b.ReportMetric(time.Since(began).Seconds(), "end-s")
	}
}

// startMany starts benchPeers peers.
func startMany(b *testing.B, d *Dialer, cfg transport.Config) []transport.Session {
	b.Helper()
	peers := make([]transport.Session, benchPeers)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := w; i < benchPeers; i += 4 {
				s, err := d.Dial(context.Background(), cfg)
				if err == nil {
					_, err = s.Initialize(context.Background())
				}
				if err != nil {
					b.Error(err)
					return
				}
				peers[i] = s
			}
		})
	}
	workers.Wait()
	return peers
}

// resident is the resident memory of a process in bytes.
func resident(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize()
}

// BenchmarkRecord is what a record costs: two lines and a removal.
func BenchmarkRecord(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		e, err := newEntry(dir)
		if err == nil {
			err = e.started(ident{5, 6}, 7)
		}
		if err != nil {
			b.Fatal(err)
		}
		e.remove()
	}
}

// BenchmarkSync is what syncing each of the two writes would add.
func BenchmarkSync(b *testing.B) {
	f, err := os.Create(b.TempDir() + "/f")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for b.Loop() {
		for range 2 {
			if _, err := f.Write(bytes.Repeat([]byte("x"), 300)); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkReap ends what a killed daemon with a hundred stubborn peers left behind.
func BenchmarkReap(b *testing.B) {
	const peers = 100
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cfg := transport.Config{Command: exe, Env: map[string]string{peerVar: "ignore-eof,ignore-term", "GOMAXPROCS": "1", "GORACE": "atexit_sleep_ms=0"}}
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		d := New(Options{Records: dir})
		var all []transport.Session
		for range peers {
			s, err := d.Dial(b.Context(), cfg)
			if err == nil {
				_, err = s.Initialize(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, s)
		}
		disown(b, dir)
		b.StartTimer()
		rep, err := Reap(b.Context(), dir, ReapOptions{})
		if err != nil || rep.Ended != peers {
			b.Fatalf("%+v, %v", rep, err)
		}
		b.StopTimer()
		for _, s := range all {
			<-s.Done()
		}
		b.StartTimer()
	}
}

// disown makes every record one of a dead daemon.
func disown(b *testing.B, dir string) {
	b.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range entries {
		e := &entry{path: dir + "/" + f.Name()}
		if e.rec, err = readRecord(e.path); err != nil {
			b.Fatal(err)
		}
		e.rec.Daemon.Start--
		if err := e.write(e.rec, os.O_TRUNC); err != nil {
			b.Fatal(err)
		}
	}
}
