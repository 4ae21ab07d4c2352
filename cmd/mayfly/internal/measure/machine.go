package measure

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

const (
	mebi = 1 << 20
	// looks is how often a tree is looked at until its processes are as many as the transport
	// sees: one may begin or end between the two.
	looks = 3
)

// machine describes this one, now.
func machine() profile.Machine {
	return profile.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Cores: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		MemoryMiB:  kilobytes("/proc/meminfo", "MemTotal:") / 1024,
		LoadBefore: load(),
	}
}

// load is the load average of the last minute, 0 where there is none.
func load() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

// kilobytes reads a line "NAME: N kB" of a file, 0 if it cannot.
func kilobytes(path, name string) float64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			v, _ := strconv.ParseFloat(f[1], 64)
			return v
		}
	}
	return 0
}

// memory is what the processes of a tree take: RSS and their number as the transport sees it, and
// PSS, which is 0 when it cannot be read for every one of them.
func memory(meter transport.Meter, tag string) (rss, pss float64, processes int) {
	for range looks {
		pids := tree(tag)
		u, err := meter.Usage()
		if err != nil {
			return 0, 0, 0
		}
		rss, processes = float64(u.RSS)/mebi, u.Processes
		if len(pids) != processes {
			continue
		}
		if pss = sumPSS(pids); pss > 0 {
			break
		}
	}
	return hundredths(rss), hundredths(pss), processes
}

// hundredths rounds what is not known better.
func hundredths(mib float64) float64 { return float64(int(mib*100+0.5)) / 100 }

// sumPSS adds up the shares of the processes, in MiB. It is 0 if one cannot be read.
func sumPSS(pids []int) (sum float64) {
	for _, pid := range pids {
		kb := kilobytes(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"), "Pss:")
		if kb == 0 {
			return 0
		}
		sum += kb / 1024
	}
	return sum
}

// tree lists the live processes that carry a tag in their environment or descend from one.
func tree(tag string) (pids []int) {
	dir, err := os.ReadDir("/proc")
	if err != nil || tag == "" {
		return nil
	}
	entry := []byte(tagVar + "=" + tag)
	children := map[int][]int{}
	found := map[int]bool{}
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		parent, live := parentOf(pid)
		if !live {
			continue
		}
		children[parent] = append(children[parent], pid)
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err == nil && hasEntry(env, entry) {
			pids, found[pid] = append(pids, pid), true
		}
	}
	for i := 0; i < len(pids); i++ { // it grows
		for _, child := range children[pids[i]] {
			if !found[child] {
				pids, found[child] = append(pids, child), true
			}
		}
	}
	return pids
}

// hasEntry looks for an entry of an environment.
func hasEntry(env, entry []byte) bool {
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}

// parentOf reads the parent of a process. Zombies are not live.
func parentOf(pid int) (parent int, live bool) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	_, rest, ok := strings.Cut(string(text[max(0, bytes.LastIndexByte(text, ')')):]), " ")
	f := strings.Fields(rest)
	if !ok || len(f) < 2 || f[0] == "Z" || f[0] == "X" {
		return 0, false
	}
	parent, err = strconv.Atoi(f[1])
	return parent, err == nil
}
