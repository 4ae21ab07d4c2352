package rpc

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// PR-10: a session that nobody uses is left alone. A healthy server may ignore ping, so none is
// sent: neither when the session begins nor in all the time after it.
func TestAnUnusedSessionIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire()
		c := open(t, w)
		<-time.After(48 * time.Hour)
		synctest.Wait()
		want := []string{"initialize", "notifications/initialized", "tools/list"}
		if diff := cmp.Diff(want, w.log()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
		c.Shut()
	})
}
