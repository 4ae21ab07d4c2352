package stdio

import "fmt"

const (
	// peerDescriptors is what a live peer costs this process: three pipe ends and a pidfd.
	peerDescriptors = 4
	// spareDescriptors is left for everything else: sockets, files, and pipes of peers that
	// are being started.
	spareDescriptors = 256
)

// DescriptorBudget compares the limit of open files with a cap on live peers, before the
// worst moment does (SPEC PR-9). A soft limit that is too low is raised, as far as the hard
// one allows; peers inherit it then. The result is the cap that fits, which is live or less,
// and a warning when it is less. A cap of zero or less stands for none: the result is the
// one that fits.
func DescriptorBudget(live int) (allowed int, warning string) {
	soft, hard, err := descriptorLimit()
	if err != nil {
		return live, "the limit of open files is unknown: " + err.Error()
	}
	need := uint64(hard)
	if live > 0 {
		need = uint64(live)*peerDescriptors + spareDescriptors
	}
	if soft < need && soft < hard {
		if err := raiseDescriptorLimit(min(need, hard)); err == nil {
			soft = min(need, hard)
		}
	}
	return budget(live, soft)
}

// budget is the arithmetic of DescriptorBudget.
func budget(live int, limit uint64) (allowed int, warning string) {
	fits := 1 // less than one peer is no daemon; it will hear of the limit when it spawns
	if limit > spareDescriptors+peerDescriptors {
		fits = int(min((limit-spareDescriptors)/peerDescriptors, 1<<30))
	}
	if live <= 0 {
		return fits, ""
	}
	if live <= fits {
		return live, ""
	}
	return fits, fmt.Sprintf("the limit of %d open files allows %d live peers, not %d: raise ulimit -n to %d, or lower the cap",
		limit, fits, live, uint64(live)*peerDescriptors+spareDescriptors)
}
