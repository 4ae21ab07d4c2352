package summary

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mayfly-mcp/mayfly/core/regfile"
)

// failure is a distinct failure, as the campaign wrote it.
type failure struct {
	ID       string   `json:"id"`
	Clause   string   `json:"clause"`
	Text     string   `json:"text"`
	Shape    string   `json:"shape"`
	Seed     uint64   `json:"seed"`
	Detail   string   `json:"detail"`
	Of       int      `json:"of"`
	Entries  int      `json:"entries"`
	Form     string   `json:"form"`
	Sentence string   `json:"sentence"`
	Gap      string   `json:"gap"`
	Dir      string   `json:"dir"`
	Count    uint64   `json:"count"` // 0 if it is not known
	Seeds    []uint64 `json:"seeds"`

	Files    []link `json:"-"`
	Tape     string `json:"-"` // the small one
	Scenario string `json:"-"`
}

// link is a file beside the page.
type link struct{ Name, Href string }

const failureFile = "failure.json"

// written are the failures in the directory of a campaign that did not come to a report.
func written(dir string) (all []failure) {
	names, err := filepath.Glob(filepath.Join(escaped(dir), "failures", "*", failureFile))
	if err != nil {
		return nil // it is of a directory that has no failures
	}
	for _, n := range names {
		var f failure
		text, err := regfile.Read(n, MaxText)
		if err == nil && json.Unmarshal(text, &f) == nil {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b failure) int {
		return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Shape, b.Shape))
	})
	return all
}

// escaped is a path as a pattern that means it alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// open reads the files of a failure, and links them from a page.
func (f *failure) open(dir, page string) {
	if f.Dir == "" || !filepath.IsLocal(filepath.FromSlash(f.Dir)) {
		return
	}
	root := filepath.Join(dir, filepath.FromSlash(f.Dir))
	entries, err := os.ReadDir(root)
	if err != nil {
		return // the page says what the report says
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || filepath.Ext(e.Name()) == ".tmp" {
			continue
		}
		path := filepath.Join(root, e.Name())
		if href := relative(page, path); href != "" {
			f.Files = append(f.Files, link{e.Name(), href})
		}
		switch e.Name() {
		case "small.tape":
			f.Tape = show(path)
		case "scenario.txtar":
			f.Scenario = show(path)
		}
	}
}

// show is the text of a file, or why it is not shown.
func show(path string) string {
	text, err := regfile.Read(path, MaxText)
	if err != nil {
		return "[it is too large to be shown here, or cannot be read; follow the link]\n"
	}
	return string(text)
}

// relative is the address of a file as seen from a page, "" if there is none.
func relative(page, path string) string {
	from, err := filepath.Abs(filepath.Dir(page))
	if err != nil {
		return ""
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return ""
	}
	return "./" + filepath.ToSlash(rel) // so that no name is taken for the name of a protocol
}
