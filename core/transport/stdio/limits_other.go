//go:build !unix

package stdio

import "errors"

// descriptorLimit is unknown where there are no such limits.
func descriptorLimit() (soft, hard uint64, err error) { return 0, 0, errors.ErrUnsupported }

func raiseDescriptorLimit(uint64) error { return errors.ErrUnsupported }
