package jobs

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mayfly-mcp/mayfly/core/regfile"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

// maxCarried bounds a file that travels with a description, so that the description fits into a message.
const maxCarried = 512 << 10

// carried are the files that flags name. Where the description is made they are read; elsewhere they came with it.
type carried struct {
	mu    sync.Mutex
	all   []File
	given bool // nothing else is to be read
}

func (c *carried) begin(files []File) { c.all, c.given = files, files != nil }

// text is that of a file.
func (c *carried) text(name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.all {
		if f.Name == name {
			return f.Text, nil
		}
	}
	if c.given {
		return "", fmt.Errorf("the file %s did not come with the campaign", name)
	}
	text, err := regfile.Read(name, maxCarried)
	if err == nil && !utf8.Valid(text) {
		err = errors.New("it is no text; unpack it first")
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot travel with a campaign, which takes %d KiB of text; \"mayfly idle\" reads larger files: %w", name, maxCarried>>10, err)
	}
	c.all = append(c.all, File{name, string(text)})
	return string(text), nil
}

// open opens a file from its beginning.
func (c *carried) open(name string) (io.ReadCloser, error) {
	text, err := c.text(name)
	return io.NopCloser(strings.NewReader(text)), err
}

// profile is the profile of a measured server.
func (c *carried) profile(name string) (*profile.Profile, error) {
	text, err := c.text(name)
	if err != nil {
		return nil, err
	}
	p, err := profile.Decode(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// digests tell the files' contents apart.
func (c *carried) digests() (all []string) {
	for _, f := range c.all {
		all = append(all, f.Name+" "+digest(f.Text))
	}
	return all
}
