package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/sim/campaign"
)

// campaignRun runs sim campaign on few small seeds.
func campaignRun(ctx context.Context, dir string, args ...string) simOutcome {
	var out, err bytes.Buffer
	args = append([]string{"-seeds", "20", "-block", "4", "-tenants", "2", "-for", "2m", "-dir", dir}, args...)
	code := runCampaign(ctx, args, strings.NewReader(""), &out, &err)
	return simOutcome{code, out.String(), err.String()}
}

// TestCampaignExitCodes: what each way to end means to a script.
func TestCampaignExitCodes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	stopped := campaignRun(ended, dir)
	wants(t, stopped, exitInconclusive, "seeds 1 to 20, stopped after 0 of 20")
	if want := "stopped, 20 of 20 seeds remain; the same command again goes on in " + dir; !strings.Contains(stopped.stderr, want) {
		t.Errorf("stderr lacks %q:\n%s", want, stopped.stderr)
	}
	wants(t, campaignRun(t.Context(), dir), exitOK, "runs 20, ", "distinct failures: 0")
	wants(t, campaignRun(t.Context(), dir, "-guard", "1"), exitUsage)
	wants(t, campaignRun(t.Context(), dir, "-reach", "20"), exitFailed, "NEVER REACHED ")
	wants(t, campaignRun(t.Context(), t.TempDir(), "-subject", "published"), exitFailed, "FAILURE ")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	nowhere := campaignRun(t.Context(), filepath.Join(file, "runs"))
	wants(t, nowhere, exitHarness)
	if !strings.Contains(nowhere.stderr, "the directory of results cannot be made") {
		t.Errorf("stderr is %q", nowhere.stderr)
	}
}

// TestCampaignProgress: rates are of this process, the rest of the whole campaign.
func TestCampaignProgress(t *testing.T) {
	w := &watch{}
	w.see(campaign.Progress{Done: 1000, Seeds: 4000, Steps: 5_000_000, Situations: 120})
	w.see(campaign.Progress{Done: 2000, Seeds: 4000, Steps: 25_000_000, Failures: 2, Reached: 99, Situations: 120})
	const want = "2000 of 4000 seeds, 100 seeds/s, 2.00 M steps/s, 2 failures, 99 of 120 situations, 20s left"
	if got := w.line(10 * time.Second); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if terminal(&bytes.Buffer{}) != nil {
		t.Error("a buffer is a terminal")
	}
}
