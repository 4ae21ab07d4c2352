package specimen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayfly-mcp/mayfly/conformance"
)

// Names of the lines that are no attempts, for Edit.
const (
	Run = "run"
	End = "end"
)

// Capture is the file of a run of the whole catalogue in which every check passed.
func Capture() []byte {
	var checks, lines []any
	for _, c := range conformance.Catalogue() {
		info := map[string]any{"id": c.ID, "title": c.Title, "clauses": c.Clauses, "level": c.Level()}
		if c.Timed() {
			info["timed"] = true
		}
		checks = append(checks, info)
		lines = append(lines, map[string]any{"record": "attempt", "check": c.ID, "try": 1, "from": 0, "to": 1000, "overshoot": 0,
			"duration_ms": 1, "ending": map[string]any{"how": "returned", "text": "seen"}})
	}
	run := map[string]any{"record": Run, "schema": conformance.CaptureSchema, "suite": conformance.Suite,
		"catalogue": conformance.CatalogueHash(), "target": map[string]any{"name": "specimen", "program": "none", "digest": "sha256:00"},
		"started": "2026-01-02T03:04:05Z", "checks": checks}
	end := map[string]any{"record": End, "attempts": len(lines), "duration_ms": 12345,
		"noise": map[string]any{"period_ms": 10, "worst_ms": 12, "stalls": 1, "long_stalls": 0, "spawn_ms": 5},
		"audit": map[string]any{"daemons": 100, "servers": 200, "bad": 0}}
	return encode(slices.Concat([]any{run}, lines, []any{end}))
}

func encode(lines []any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			panic("SPECIMEN-JSON: " + err.Error())
		}
	}
	return b.Bytes()
}

// Edit changes the line of a check, or Run or End. It panics when there is none.
func Edit(file []byte, line string, change func(map[string]any)) []byte {
	var out []any
	found := false
	for text := range bytes.Lines(file) {
		var l map[string]any
		if err := json.Unmarshal(text, &l); err != nil {
			panic("SPECIMEN-JSON: " + err.Error())
		}
		if l["record"] == line || l["check"] == line {
			found = true
			change(l)
		}
		if len(l) > 0 {
			out = append(out, l)
		}
	}
	if !found {
		panic(fmt.Sprintf("SPECIMEN-LINE: there is no line %q", line))
	}
	return encode(out)
}

// Fail lets a check fail.
func Fail(file []byte, check string) []byte {
	return Edit(file, check, func(l map[string]any) {
		l["ending"] = map[string]any{"how": "ruled", "verdict": "FAIL", "text": "it was wrong"}
	})
}
