package lifecycle

import (
	"testing"

	"pgregory.net/rapid"
)

// TestClaimIndex holds the index to a map, with keys so few that most of them stand in one
// another's way.
func TestClaimIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, claims := claimIndex{places: make([]int32, leastPlaces)}, make([]claim, 1)
		want := map[claimKey]int32{}
		for range rapid.IntRange(1, 200).Draw(t, "acts") {
			key := claimKey{OwnerID(rapid.IntRange(0, 8).Draw(t, "owner")), NameID(rapid.IntRange(0, 8).Draw(t, "name"))}
			if _, held := want[key]; held {
				x.remove(claims, key)
				delete(want, key)
			} else {
				claims = append(claims, claim{claimKey: key})
				want[key] = int32(len(claims) - 1)
				x.add(claims, want[key])
			}
			for owner := range OwnerID(9) {
				for name := range NameID(9) {
					key := claimKey{owner, name}
					if got := x.places[x.placeOf(claims, key)]; got != want[key] {
						t.Fatalf("%v is claim %d, want %d", key, got, want[key])
					}
				}
			}
			if x.n != len(want) || 2*x.n > len(x.places) {
				t.Fatalf("%d claims in %d places, want %d", x.n, len(x.places), len(want))
			}
		}
	})
}
