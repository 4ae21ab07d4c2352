package queue

import (
	"fmt"
	"testing"
	"time"
)

// TestEnlist: a crew is sorted, has each worker once with its latest word, and is bounded.
func TestEnlist(t *testing.T) {
	at := time.Unix(1000, 0)
	all := enlist(nil, []Member{{ID: "b", Jobs: 2, Last: at.Add(1)}, {ID: "a", Last: at}})
	all = enlist(all, []Member{{ID: "b", Jobs: 1, Last: at}, {ID: "c", Last: at}, {ID: "a", Jobs: 9, Last: at.Add(2)}})
	if len(all) != 3 || all[0].Jobs != 9 || all[1].Jobs != 2 || all[2].ID != "c" {
		t.Errorf("the crew is %+v", all)
	}
	for i := range 2 * MaxCrew {
		all = enlist(all, []Member{{ID: fmt.Sprint("w", i), Last: at}})
	}
	if len(all) != MaxCrew {
		t.Errorf("%d are remembered", len(all))
	}
	if n := len(encode(all)); n > maxKeyValue/2 {
		t.Errorf("a crew of short names is %d bytes", n)
	}
}
