package owner

// hook is one thing to do at a death: a function to call, or a child to kill.
type hook struct {
	prev, next *hook
	fn         func()
	child      *Token
}

func (h *hook) run(dying *Token) {
	if h.child != nil {
		h.child.die(dying.Cause())
		return
	}
	fn := h.fn
	h.fn = nil // a stop function that is kept does not keep it
	fn()
}

// OnDeath has fn called when the owner dies; on a dead owner it is called before OnDeath
// returns. The function returned takes the hook back, leaves nothing of it behind, and
// reports whether that kept fn from being called.
func (t *Token) OnDeath(fn func()) (stop func() bool) {
	h := &hook{fn: fn}
	if !t.register(h) {
		fn()
		return never
	}
	return func() bool { return t.drop(h) }
}

func never() bool { return false }

// register queues a hook, unless the owner is dead. The look at the owner under mu is what
// loses no hook: who runs them takes mu after the death.
func (t *Token) register(h *hook) bool {
	if t.none() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone() {
		return false
	}
	t.hooks.add(h)
	return true
}

// adopt makes the death of t that of a child. A dead parent needs no link: the child sees it.
func (t *Token) adopt(child *Token) {
	child.link.child = child
	t.register(&child.link)
}

// drop takes a hook out of the queue and reports whether it was there.
func (t *Token) drop(h *hook) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hooks.has(h) {
		return false
	}
	t.hooks.remove(h)
	h.fn = nil
	return true
}

// nextHook takes the oldest hook out, nil when there is none.
func (t *Token) nextHook() *hook {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hooks.first
	if h != nil {
		t.hooks.remove(h)
	}
	return h
}

// hooks is a queue that gives up any of its members at once: a parent of thousands must not
// search for the child that died. Its owner's mu guards it.
type hooks struct {
	first, last *hook
}

// has is a look at the links: a mark of its own would cost every owner 32 bytes.
func (q *hooks) has(h *hook) bool { return h.prev != nil || q.first == h }

func (q *hooks) add(h *hook) {
	h.prev = q.last
	if q.last == nil {
		q.first = h
	} else {
		q.last.next = h
	}
	q.last = h
}

func (q *hooks) remove(h *hook) {
	if h.prev == nil {
		q.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		q.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.prev, h.next = nil, nil
}
