package core

import (
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Change is one entry of [Host.Apply]: what an owner declares under a name, or gives up.
type Change struct {
	Owner   *Owner
	Name    string
	Config  transport.Config
	Terms   Terms
	Release bool // the claim is given up; Config and Terms are not read
}

// Apply makes many changes, of as many owners, as if they were one: no call, listing or
// snapshot sees some of them and not the others (SPEC CF-8). They take effect in their order.
// When one of them is refused, none is made; the error names all that are.
func (h *Host) Apply(changes []Change) error {
	fps := make([]lifecycle.Fingerprint, len(changes))
	errs := make([]error, len(changes))
	for i := range changes {
		fps[i], errs[i] = changes[i].identity(h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return ErrClosed
	}
	changed := make(map[ownName]bool, len(changes))
	for i := range changes {
		if errs[i] == nil {
			errs[i] = h.mayApply(changed, &changes[i], fps[i])
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("change %d, of mcp '%s': %w", i+1, changes[i].Name, errs[i])
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range changes {
		changes[i].make(fps[i])
	}
	return nil
}

// identity is the fingerprint of what is declared, and whatever can be wrong with it by itself.
func (c *Change) identity(h *Host) (lifecycle.Fingerprint, error) {
	switch {
	case c.Owner == nil || c.Owner.h != h:
		return lifecycle.Fingerprint{}, errors.New("its owner is not of this host; use one that Host.Owner or Host.Attach returned")
	case c.Release:
		return lifecycle.Fingerprint{}, nil
	}
	return c.Owner.identity(c.Name, c.Config, &c.Terms)
}

// make makes a change that may be made. Called with mu held.
func (c *Change) make(fp lifecycle.Fingerprint) {
	if !c.Release {
		c.Owner.hold(c.Name, fp, c.Config, &c.Terms)
	} else if id, held := c.Owner.names.find(c.Name); held {
		c.Owner.giveUp(id)
	}
}

// ownName is what a batch may change once.
type ownName struct {
	owner *Owner
	name  string
}

// mayApply refuses a change that cannot be made, or that another one of its batch contradicts.
// Called with mu held.
func (h *Host) mayApply(changed map[ownName]bool, c *Change, fp lifecycle.Fingerprint) error {
	if err := c.Owner.mayAct(); err != nil {
		return err
	}
	if changed[ownName{c.Owner, c.Name}] {
		return errors.New("it is changed twice; change it once")
	}
	changed[ownName{c.Owner, c.Name}] = true
	if c.Release {
		_, err := c.Owner.claim(c.Name)
		return err
	}
	return h.agrees(fp, c.Config)
}
