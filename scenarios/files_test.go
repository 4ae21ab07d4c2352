package scenarios

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiles holds every scenario to the form that the collection promises and runs it
// in the toy world, twice, so that an expectation cannot hold by accident of the first run.
func TestFiles(t *testing.T) {
	files := All()
	if len(files) < 18 {
		t.Fatalf("%d scenarios, want at least 18", len(files))
	}
	for _, f := range files {
		t.Run(f.ID(), func(t *testing.T) {
			if f.Title() == "" || f.Lines[0].Comment == "" {
				t.Error("the file does not open with a sentence")
			}
			if len(f.Clauses()) == 0 {
				t.Error("the file names no clauses")
			}
			src, err := embedded.ReadFile(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			if got := Format(f); !bytes.Equal(got, src) {
				t.Errorf("the file is not formatted (-file +formatted):\n%s", cmp.Diff(string(src), string(got)))
			}
			if !slices.Contains(f.Worlds(), Live) {
				return // the toy knows what every world knows
			}
			for range 2 {
				report, err := Run(context.Background(), f, newToy())
				if err != nil {
					t.Fatal(err)
				}
				if err := report.Err(); err != nil {
					t.Fatal(err)
				}
				if len(report.Outcomes) == 0 {
					t.Fatal("the file expects nothing")
				}
			}
		})
	}
}
