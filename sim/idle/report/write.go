package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of files that are in every report.
const (
	JSONFile = "report.json"
	HTMLFile = "index.html"
)

// file is a file of a report before it is written.
type file struct {
	name string
	data []byte
}

// files are everything that a report is written as, the file by which it is known last.
func (r *Report) files() ([]file, error) {
	plots, err := r.Plots()
	if err != nil {
		return nil, err
	}
	all, err := r.documents(plots)
	if err != nil {
		return nil, err
	}
	for i := range plots {
		png, err := plots[i].PNG()
		if err != nil {
			return nil, err
		}
		all = append(all, file{plots[i].Name + ".png", png})
	}
	encoded, err := r.Encode()
	return append(all, file{JSONFile, encoded}), err
}

// documents are what is written in letters.
func (r *Report) documents(plots []Plot) ([]file, error) {
	html, err := r.HTML(plots)
	if err != nil {
		return nil, err
	}
	all := []file{{HTMLFile, html}}
	if r.Frontier != nil {
		all = append(all, file{"frontier.csv", r.Frontier.csv()})
	}
	if len(r.Policies) > 0 {
		all = append(all, file{"policies.csv", policiesCSV(r.Policies)})
	}
	if len(r.Agents) > 0 {
		all = append(all, file{"agents.csv", policiesCSV(r.Agents)})
	}
	if len(r.Failures) > 0 {
		all = append(all, file{"failures.csv", failuresCSV(r.Failures)})
	}
	if len(r.Oracles) > 0 {
		all = append(all, file{"oracles.csv", oraclesCSV(r.Oracles)})
	}
	if r.Curves != nil {
		all = append(all, file{"curves.csv", r.Curves.csv()})
	}
	for i := range plots {
		svg, err := plots[i].SVG()
		if err != nil {
			return nil, err
		}
		all = append(all, file{plots[i].Name + ".svg", svg})
	}
	return all, nil
}

// names are those of every file that a report may have had.
var names = []string{HTMLFile, JSONFile, "frontier.csv", "policies.csv", "agents.csv", "failures.csv", "oracles.csv", "curves.csv",
	"frontier.svg", "frontier.png", "latency-calls.svg", "latency-calls.png", "latency-conversations.svg", "latency-conversations.png",
	"day.svg", "day.png", "policies.svg", "policies.png", "oracles.svg", "oracles.png"}

// CheckDir says whether a report may be written to a directory: it must not exist, be empty, or hold
// an earlier report and nothing else.
func CheckDir(dir string) error {
	if dir == "" {
		return errors.New("the report directory has no name")
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s is a link to nothing; name another directory, or make what it leads to", dir)
		}
		return checkParent(dir)
	case err != nil:
		return fmt.Errorf("the report directory cannot be read: %w", err)
	case len(entries) == 0:
		return checkWritable(dir)
	}
	if f, err := os.Open(filepath.Join(dir, JSONFile)); err != nil {
		return fmt.Errorf("%s is not empty and holds no earlier report; name another directory", dir)
	} else if ours := isReport(f); errors.Join(f.Close()) != nil || !ours {
		return fmt.Errorf("%s has a %s that is no report of mayfly idle; name another directory", dir, JSONFile)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), draft) {
			continue // left behind when a report was cut short
		}
		if !e.Type().IsRegular() || !slices.Contains(names, e.Name()) {
			return fmt.Errorf("%s holds %s beside an earlier report; name another directory, or move that away", dir, e.Name())
		}
	}
	return checkWritable(dir)
}

func checkParent(dir string) error {
	parent := filepath.Dir(filepath.Clean(dir))
	info, err := os.Stat(parent)
	switch {
	case err != nil:
		return fmt.Errorf("there is no directory %s to make %s in", parent, filepath.Base(dir))
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", parent)
	}
	return checkWritable(parent)
}

func checkWritable(dir string) error {
	f, err := os.CreateTemp(dir, draft)
	if err != nil {
		return fmt.Errorf("nothing can be written to %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Write puts a report into a directory that CheckDir accepts. A new directory is made beside its place and takes
// it when it is complete. In one that is there already, complete files take the places of those of the earlier report.
func Write(dir string, r *Report) error {
	all, err := r.files()
	if err != nil {
		return err
	}
	if err := CheckDir(dir); err != nil {
		return err
	}
	dir = filepath.Clean(dir)
	_, err = os.Stat(dir)
	fresh := errors.Is(err, fs.ErrNotExist)
	where := dir
	if fresh {
		where = filepath.Dir(dir)
	}
	made, err := os.MkdirTemp(where, draft)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	defer os.RemoveAll(made) // of which nothing is left when all went well
	for _, f := range all {
		if err := os.WriteFile(filepath.Join(made, f.name), f.data, 0o644); err != nil {
			return fmt.Errorf("the report cannot be written: %w", err)
		}
	}
	if fresh {
		err = errors.Join(os.Chmod(made, 0o755), os.Rename(made, dir))
	} else {
		err = replace(made, dir, all)
	}
	if err != nil {
		return fmt.Errorf("the report cannot be put in place: %w", err)
	}
	return nil
}

// draft begins the names of directories in which reports are made.
const draft = ".mayfly-report-"

// replace moves files to their places, the one by which a report is known last, and removes what the earlier
// report had and this one has not.
func replace(made, dir string, all []file) error {
	kept := map[string]bool{}
	for _, f := range all {
		kept[f.name] = true
		if err := os.Rename(filepath.Join(made, f.name), filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if kept[name] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
