package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/transport"
)

// Owner is one incarnation of an agent: a live holder of claims. It is dead for good after
// Close; a restarted agent is a new Owner, even under the same name.
type Owner struct {
	h      *Host
	id     lifecycle.OwnerID
	token  *owner.Token // that was attached; nil if the owner lives until its Close
	unhook func() bool  // of the token

	// The fields below are guarded by h.mu.
	agent  string
	names  names
	claims []lifecycle.NameID // in declaration order, or as Reorder left it
	dead   bool
}

// Owner brings an owner to life. agent is the name under which its events appear. It lives
// until its Close, or that of the host.
func (h *Host) Owner(agent string) (*Owner, error) { return h.birth(nil, agent) }

// Attach lets a token hold claims: it is the owner, and its death releases them whatever
// killed it (SPEC CL-13, PC-10). One token may be attached to several hosts, or to one host
// under several names; each attachment is an incarnation of its own.
func (h *Host) Attach(t *owner.Token, agent string) (*Owner, error) {
	if t == nil {
		t = new(owner.Token) // as dead as nil
	}
	o, err := h.birth(t, agent)
	if err != nil {
		return nil, err
	}
	stop := t.OnDeath(o.release) // runs at once if the token died meanwhile
	h.mu.Lock()
	o.unhook = stop
	over := h.bus.closed
	h.mu.Unlock()
	if over {
		o.letGo()
	}
	return o, nil
}

func (h *Host) birth(t *owner.Token, agent string) (*Owner, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil, ErrClosed
	}
	if t != nil && !t.Alive() {
		return nil, refusal(lifecycle.ReasonDeadOwner, "the owner is dead")
	}
	h.lastID++
	o := &Owner{h: h, id: h.lastID, token: t, agent: agent}
	h.owners[o.id] = o
	h.step(lifecycle.OwnerBorn(o.id))
	return o, nil
}

// letGo ends the tie to a token, which lives on.
func (o *Owner) letGo() {
	if o.unhook != nil {
		o.unhook()
	}
}

// ID is the owner's number in events and rows. It is never reused.
func (o *Owner) ID() lifecycle.OwnerID { return o.id }

// Share says with whom a peer is shared (SPEC ID-7). It is part of the peer's identity.
type Share string

// The ways to share.
const (
	ShareFingerprint Share = ""      // with every owner that declares the same configuration
	ShareOwner       Share = "owner" // among the names of one owner
	ShareNever       Share = "never" // with nobody: servers that keep state per client
)

// Terms are what a declaration asks for beside its configuration. The zero value asks for
// nothing. Policy is outside the peer's identity, Share is part of it.
type Terms struct {
	Policy lifecycle.Policy
	Share  Share
}

// scope is what the share policy adds to the identity of a peer.
func (t Terms) scope(o *Owner, name string) (string, error) {
	switch t.Share {
	case ShareFingerprint:
		return "", nil
	case ShareOwner:
		return fmt.Sprintf("owner %d", o.id), nil
	case ShareNever:
		return fmt.Sprintf("owner %d, name %s", o.id, name), nil
	}
	return "", fmt.Errorf("share policy %q is not known; use \"owner\", \"never\" or leave it out", t.Share)
}

// Declare claims the peer of a configuration under a name, or moves the claim of that name
// to it. It starts nothing and changes nothing when the claim is already held (SPEC CL-1,
// CL-4, CL-6).
func (o *Owner) Declare(name string, cfg transport.Config) error {
	return o.DeclareWith(name, cfg, Terms{})
}

// DeclareWith is Declare on terms. Declaring an unchanged claim with another policy changes
// the policy alone (SPEC RE-10).
func (o *Owner) DeclareWith(name string, cfg transport.Config, terms Terms) error {
	fp, err := o.identity(name, cfg, &terms)
	if err != nil {
		return err
	}
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	if err := o.mayAct(); err != nil {
		return err
	}
	if err := o.h.agrees(fp, cfg); err != nil {
		return err
	}
	o.hold(name, fp, cfg, &terms)
	return nil
}

// identity is the fingerprint of what is declared under a name, if it may be.
func (o *Owner) identity(name string, cfg transport.Config, terms *Terms) (fp lifecycle.Fingerprint, err error) {
	if name == "" {
		return fp, errors.New("MCP config must have a name")
	}
	scope, err := terms.scope(o, name)
	if err := errors.Join(err, terms.Policy.Validate()); err != nil {
		return fp, err
	}
	return o.h.prints.of(cfg, scope), nil
}

// agrees refuses a configuration whose fingerprint already stands for another one (SPEC ID-4).
// Called with mu held.
func (h *Host) agrees(fp lifecycle.Fingerprint, cfg transport.Config) error {
	if p := h.stands(fp); p != nil && !sameConfig(p.cfg, cfg) {
		return fmt.Errorf("fingerprint %s already stands for another configuration", shortID(fp))
	}
	return nil
}

// hold makes or moves a claim to which nothing is to be said any more. Called with mu held.
func (o *Owner) hold(name string, fp lifecycle.Fingerprint, cfg transport.Config, terms *Terms) {
	h := o.h
	p := h.stands(fp)
	if p == nil {
		p = &peer{name: shortID(fp), cfg: cloneConfig(cfg), share: terms.Share}
	}
	id, held := o.intern(name)
	in, policy := lifecycle.Declare(0, o.id, id, fp), terms.Policy // a Recorder keeps it
	in.Policy = &policy
	out := h.advance(in)
	h.bind(h.machine.Claimed(o.id, id), p)
	if !held {
		o.claims = append(o.claims, id)
		h.claims++
	}
	h.settle(out)
}

// stands returns the payload behind a fingerprint that is declared, or nil.
func (h *Host) stands(fp lifecycle.Fingerprint) *peer {
	if id := h.machine.PeerOf(fp); id != 0 {
		return h.peers[id]
	}
	return nil
}

// bind remembers which payload stands behind a slot of the machine.
func (h *Host) bind(id lifecycle.PeerID, p *peer) {
	for int(id) >= len(h.peers) {
		h.peers = append(h.peers, nil)
	}
	h.peers[id] = p
}

// Release gives a claim up. If it was the peer's last one, the peer is on the stop ladder
// when Release returns (SPEC CL-3).
func (o *Owner) Release(name string) error {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	id, err := o.claimToAct(name)
	if err != nil {
		return err
	}
	o.giveUp(id)
	return nil
}

// giveUp releases a claim that is held. Called with mu held.
func (o *Owner) giveUp(id lifecycle.NameID) {
	h := o.h
	at := slices.Index(o.claims, id)
	o.claims = slices.Delete(o.claims, at, at+1)
	h.claims--
	h.step(lifecycle.Release(0, o.id, id))
	o.names.drop(id) // not before the events that carry it were read
}

// Reorder changes the order in which the owner's claims are listed and asked for a tool: the
// named ones first, in the order given, then the others as they were. Nothing is started or
// stopped. A name that is not held, or given twice, is refused and changes nothing.
func (o *Owner) Reorder(names []string) error {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	if err := o.mayAct(); err != nil {
		return err
	}
	order, given := make([]lifecycle.NameID, 0, len(o.claims)), make(map[lifecycle.NameID]bool, len(names))
	for _, n := range names {
		id, err := o.claim(n)
		if err != nil {
			return err
		}
		if given[id] {
			return fmt.Errorf("mcp '%s' is given twice in an order; name it once", n)
		}
		given[id] = true
		order = append(order, id)
	}
	for _, id := range o.claims {
		if !given[id] {
			order = append(order, id)
		}
	}
	o.claims = order
	return nil
}

// Rename changes the name under which the owner's events appear. Nothing is started or
// stopped (SPEC CL-10).
func (o *Owner) Rename(agent string) {
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	o.agent = agent
}

// Close is the owner's death: all its claims are released in one step, its waiting calls are
// refused and those in flight are abandoned (SPEC CL-13). A token that was attached lives on,
// without these claims. A second Close does nothing.
func (o *Owner) Close() {
	o.letGo()
	o.release()
}

// release is what death means to the host.
func (o *Owner) release() {
	h := o.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.dead {
		return
	}
	h.claims -= len(o.claims)
	o.dead, o.claims = true, nil
	h.step(lifecycle.OwnerDied(o.id))
	delete(h.owners, o.id)
}

// mayAct refuses the dead and everybody once the host closes. Called with mu held.
func (o *Owner) mayAct() error {
	switch {
	case o.h.closing:
		return ErrClosed
	case o.dead || o.token != nil && !o.token.Alive(): // its hook may still be on the way (SPEC PC-7)
		return refusal(lifecycle.ReasonDeadOwner, "the owner is dead")
	}
	return nil
}

// claim finds the id of a claim that is held. Called with mu held.
func (o *Owner) claim(name string) (lifecycle.NameID, error) {
	id, ok := o.names.find(name)
	if !ok {
		return 0, refusal(lifecycle.ReasonNoClaim, fmt.Sprintf("mcp '%s' is not registered", name))
	}
	return id, nil
}

// intern numbers a name, and says whether a claim of that name is held. Called with mu held.
func (o *Owner) intern(name string) (id lifecycle.NameID, held bool) {
	if id, held = o.names.find(name); held {
		return id, true
	}
	return o.names.add(name), false
}

// peerOf returns the payload behind a claim. Called with mu held.
func (o *Owner) peerOf(id lifecycle.NameID) *peer {
	return o.h.peers[o.h.machine.Claimed(o.id, id)]
}
