package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// Wish is what a claim asks for beside its config: times of its own, outside the identity of
// its peer. A zero field leaves the matter to the settings; where claims differ, the longest
// time wins, and one pinned claim pins the peer.
type Wish struct {
	Idle      time.Duration // in place of idle_timeout
	Uptime    time.Duration // not stopped for want of use before it was Connected for so long
	Start     time.Duration // in place of start_timeout
	Connect   time.Duration // in place of connect_timeout
	Call      time.Duration // in place of call_timeout
	Close     time.Duration // in place of grace, between the end of input and SIGTERM
	Terminate time.Duration // in place of grace, between SIGTERM and SIGKILL
	Pinned    bool          // while Connected it is never stopped for want of use or room
}

// pinnedWord is the one wish without a time.
const pinnedWord = "pinned"

// wishKeys are the wishes with a time, in canonical order.
var wishKeys = []string{"idle", "uptime", "start", "connect", "call", "close", "terminate"}

// field returns the time that a key names, or nil.
func (w *Wish) field(key string) *time.Duration {
	switch key {
	case "idle":
		return &w.Idle
	case "uptime":
		return &w.Uptime
	case "start":
		return &w.Start
	case "connect":
		return &w.Connect
	case "call":
		return &w.Call
	case "close":
		return &w.Close
	case "terminate":
		return &w.Terminate
	}
	return nil
}

// String returns the wishes in canonical order.
func (w Wish) String() string {
	var words []string
	for _, key := range wishKeys {
		if d := *w.field(key); d != 0 {
			words = append(words, key+"="+duration(d))
		}
	}
	if w.Pinned {
		words = append(words, pinnedWord)
	}
	return join(words...)
}

// longest is the longest time that is asked for.
func (w Wish) longest() (most time.Duration) {
	for _, key := range wishKeys {
		most = max(most, *w.field(key))
	}
	return most
}

// wish reads the wishes at the end of a claim.
func (a *args) wish() (w Wish) {
	for a.err == nil && len(a.words) > 0 && isWish(a.words[0]) {
		word := a.word("a wish")
		key, value, _ := strings.Cut(word, "=")
		if word == pinnedWord {
			if w.Pinned {
				a.fail(fmt.Errorf("%s is there twice: write it once", pinnedWord))
			}
			w.Pinned = true
			continue
		}
		d, err := parseDuration(value)
		at := w.field(key)
		switch {
		case err != nil:
			a.fail(err)
		case *at != 0:
			a.fail(fmt.Errorf("wish %s is there twice: write it once", key))
		case d < MinSetting:
			a.fail(fmt.Errorf("wish %s is below the bound: write %s or more, or leave it out", word, duration(MinSetting)))
		}
		*at = d
	}
	return w
}

// isWish reports whether a word is a wish.
func isWish(word string) bool {
	key, _, timed := strings.Cut(word, "=")
	return word == pinnedWord || timed && new(Wish).field(key) != nil
}
