package daemon

import (
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/regfile"
)

// readRegular reads a whole file of the home. What else stands in its place would keep the
// daemon from starting, and from stopping.
func readRegular(path string, limit int64) ([]byte, error) {
	data, err := regfile.Read(path, limit)
	if errors.Is(err, regfile.ErrIrregular) {
		return nil, fmt.Errorf("%w; move it away", err)
	}
	return data, err
}
