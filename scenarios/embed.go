package scenarios

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed *.txtar
var embedded embed.FS

// All returns the scenarios that come with the module, ordered by name. Each call
// returns fresh files.
func All() []*File {
	entries, err := embedded.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("SCN-3: the embedded scenarios cannot be listed: %v", err))
	}
	var files []*File
	for _, e := range entries {
		f, err := Named(strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
		if err != nil {
			panic(fmt.Sprintf("SCN-3: an embedded scenario does not parse: %v", err))
		}
		files = append(files, f)
	}
	return files
}

// Named returns the scenario with an ID that comes with the module.
func Named(id string) (*File, error) {
	name := id + ".txtar"
	src, err := embedded.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q%s", id, suggest(id, ids()))
	}
	return Parse(name, src)
}

func ids() []string {
	entries, _ := embedded.ReadDir(".")
	var ids []string
	for _, e := range entries {
		ids = append(ids, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return ids
}
