package mutants

import (
	"encoding/json"
	"fmt"
	"sort"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// shelf is a small registry of what consumers serve, in place of the daemon's: of its own it is
// right, and each mutant has it wrong in one way. Entries of the dead stay until somebody makes
// room, and whoever looks asks whether the owner lives, so that it can be forgotten to ask.
type shelf struct {
	wrong wrongs
	most  int // tools

	mu     sync.Mutex
	items  map[slot]*item
	lapsed map[slot]bool             // names whose owner has died since somebody looked
	plans  map[slot]*pb.ConsumerPlan // by name, for who keeps them apart
	born   int                       // entries that were never taken out by their owner
	owners uint64
	calls  int
	ears   map[chan struct{}]bool // of who listens for changes
}

// slot is a name of a kind.
type slot struct {
	kind pb.ConsumerKind
	name string
}

// item is an entry.
type item struct {
	at     slot
	info   json.RawMessage
	plan   *pb.ConsumerPlan
	by     *patron
	entry  uint64
	ready  bool
	orphan bool // it was registered after its owner's death
}

// patron is a consumer.
type patron struct {
	l     *link
	owner uint64

	sending sync.Mutex
	dead    chan struct{} // closed at its death
	items   map[uint64]*item
	last    uint64
	heard   time.Time
	waiting map[uint64]chan *pb.ConsumerResult
}

// wrongs is what is wrong with a shelf.
type wrongs struct {
	deadBlocks, deadFill, deadCounted, prunesOne, resolvesDead, listsDead                bool
	unregistersByName, readiesByName, identityByName, readerDeletes                      bool
	overwritesPlan, stripsPlan, swapsProvider, keptSwallowed                             bool
	noPlanIsPublic, planApart, plansStay, plansLost                                      bool
	noGate, slowDeath, bodyAfterDeath, registersDead                                     bool
	readyInherited, lease, twoWinners, nullList                                          bool
	resourcesStay, listsUnready, pagesByPosition, countsApart, tellsAll, tellsNone       bool
	refusesOwnStop, grantsOwnDuplicate, fullHidesDuplicate, diesOfNoResult, replacesLate bool
}

func newShelf(w wrongs) *shelf {
	return &shelf{wrong: w, most: defaultTools, items: map[slot]*item{}, lapsed: map[slot]bool{}, plans: map[slot]*pb.ConsumerPlan{}, ears: map[chan struct{}]bool{}}
}

// defaultTools is the cap where the configuration has none.
const defaultTools = 10000

// Times of what is wrong.
const (
	leaseTime  = 1500 * time.Millisecond
	slowAnswer = time.Minute            // of who waits for the dead
	gateTime   = 400 * time.Millisecond // between the decision about a call and its delivery
	lookTime   = 150 * time.Millisecond // between a look at the plan and one at the entry
	apartTime  = 20 * time.Millisecond  // between a look at the cap and the registration
	orphanTime = 50 * time.Millisecond  // after which a registration takes effect
	retryTime  = 2 * time.Second        // for a successor to come
)

// alive asks the owner.
func (it *item) alive() bool {
	if it.orphan {
		return true
	}
	select {
	case <-it.by.dead:
		return false
	default:
		return true
	}
}

// take performs a request of a consumer; p is nil before it attaches. It returns the consumer.
func (s *shelf) take(l *link, p *patron, payload []byte) *patron {
	r := &pb.ConsumerRequest{}
	if proto.Unmarshal(payload, r) != nil {
		return p
	}
	if p == nil {
		s.mu.Lock()
		s.owners++
		p = &patron{l: l, owner: s.owners, dead: make(chan struct{}), items: map[uint64]*item{}, waiting: map[uint64]chan *pb.ConsumerResult{}, heard: time.Now()}
		s.mu.Unlock()
		if s.wrong.lease {
			go s.expire(p)
		}
		p.tell(r.GetId(), &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Attached{Attached: &pb.ConsumerAttached{Owner: p.owner}}})
		return p
	}
	s.mu.Lock()
	p.heard = time.Now()
	s.mu.Unlock()
	switch m := r.GetMsg().(type) {
	case *pb.ConsumerRequest_Register:
		if s.wrong.registersDead {
			time.AfterFunc(orphanTime, func() { p.tell(r.GetId(), s.register(p, m.Register)) })
			return p
		}
		p.tell(r.GetId(), s.register(p, m.Register))
	case *pb.ConsumerRequest_Ready:
		p.tell(r.GetId(), s.ready(p, m.Ready.GetEntry()))
	case *pb.ConsumerRequest_Unregister:
		p.tell(r.GetId(), s.unregister(p, m.Unregister.GetEntry()))
	case *pb.ConsumerRequest_Result:
		s.mu.Lock()
		if answer := p.waiting[m.Result.GetCall()]; answer != nil {
			delete(p.waiting, m.Result.GetCall())
			answer <- m.Result
		}
		s.mu.Unlock()
	}
	return p
}

func (p *patron) tell(id uint64, e *pb.ConsumerEvent) {
	e.Id = id
	payload, _ := proto.Marshal(e)
	out, _ := proto.Marshal(&pb.ServerMessage{Msg: &pb.ServerMessage_Extension{Extension: payload}})
	p.sending.Lock()
	defer p.sending.Unlock()
	_ = wire.WriteFrame(p.l.client, out) // who is gone is not told
}

func refused(reason pb.ConsumerReason, format string, args ...any) *pb.ConsumerEvent {
	return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Refused{Refused: &pb.ConsumerRefused{Reason: reason, Message: fmt.Sprintf(format, args...)}}}
}

func done() *pb.ConsumerEvent {
	return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Done{Done: &pb.ConsumerDone{}}}
}

// slotOf reads the name off a description.
func slotOf(m *pb.ConsumerRegister) slot {
	var info struct {
		Name        string `json:"name"`
		URI         string `json:"uri"`
		URITemplate string `json:"uriTemplate"`
	}
	_ = json.Unmarshal(m.GetInfo(), &info)
	switch m.GetKind() {
	case pb.ConsumerKind_CONSUMER_KIND_RESOURCE:
		info.Name = info.URI
	case pb.ConsumerKind_CONSUMER_KIND_TEMPLATE:
		info.Name = info.URITemplate
	}
	return slot{m.GetKind(), info.Name}
}

func (s *shelf) register(p *patron, m *pb.ConsumerRegister) *pb.ConsumerEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	plan := m.GetPlan()
	if !plan.GetPublic() && len(plan.GetTokenSha256()) == 0 {
		if !s.wrong.noPlanIsPublic {
			return refused(pb.ConsumerReason_CONSUMER_REASON_INVALID, "there is no plan")
		}
		plan = &pb.ConsumerPlan{Public: true}
	}
	p.last++
	it := &item{at: slotOf(m), info: m.GetInfo(), plan: plan, by: p, entry: p.last}
	if s.wrong.registersDead {
		it.orphan = !it.alive()
	}
	old := s.items[it.at]
	if s.wrong.fullHidesDuplicate {
		if no := s.full(it, nil); no != nil {
			return no
		}
	}
	if old != nil && s.blocks(old, p) {
		return s.duplicate(old, it)
	}
	if no := s.full(it, old); no != nil {
		return no
	}
	if s.wrong.readyInherited && old != nil {
		it.ready = old.ready
	}
	s.put(it)
	return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Registered{Registered: &pb.ConsumerRegistered{Entry: it.entry}}}
}

// blocks reports whether an entry keeps others from its name.
func (s *shelf) blocks(old *item, by *patron) bool {
	switch {
	case s.wrong.twoWinners && !old.ready, s.wrong.grantsOwnDuplicate && old.by == by:
		return false
	}
	return old.alive() || s.wrong.deadBlocks
}

// duplicate refuses a name that is taken.
func (s *shelf) duplicate(old, it *item) *pb.ConsumerEvent {
	switch {
	case s.wrong.overwritesPlan:
		old.plan = it.plan
	case s.wrong.stripsPlan:
		old.plan = &pb.ConsumerPlan{Public: true}
	case s.wrong.swapsProvider:
		old.by, old.entry = it.by, it.entry
	case s.wrong.keptSwallowed:
		it.by.items[it.entry] = it // which nobody will find
		return &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Registered{Registered: &pb.ConsumerRegistered{Entry: it.entry}}}
	}
	return refused(pb.ConsumerReason_CONSUMER_REASON_DUPLICATE, "%q is taken", it.at.name)
}

// full refuses what is one too many; old is what it would replace.
func (s *shelf) full(it, old *item) *pb.ConsumerEvent {
	if it.at.kind != pb.ConsumerKind_CONSUMER_KIND_TOOL {
		return nil
	}
	n := s.count(it, false)
	switch {
	case s.wrong.deadFill:
		n = s.count(it, true)
		s.prune()
	case s.wrong.prunesOne:
		n = s.count(it, true)
	case s.wrong.replacesLate && old != nil:
		n++
	case s.wrong.deadCounted:
		n = s.born
	case s.wrong.countsApart && old == nil:
		s.mu.Unlock()
		wait(apartTime)
		s.mu.Lock()
	}
	if n >= s.most {
		return refused(pb.ConsumerReason_CONSUMER_REASON_FULL, "there are %d tools, which is the maximum", s.most)
	}
	return nil
}

// count counts the entries of a kind besides the one of the wanted name.
func (s *shelf) count(want *item, dead bool) (n int) {
	for at, it := range s.items { // in any order: it is counted
		if at.kind == want.at.kind && (at != want.at || s.wrong.fullHidesDuplicate && it.alive()) && (dead || it.alive()) {
			n++
		}
	}
	return n
}

// prune takes the dead out.
func (s *shelf) prune() {
	for at, it := range s.items { // in any order: all of them go
		if !it.alive() {
			delete(s.items, at)
		}
	}
}

// wait is for what takes its time in a mutant.
func wait(d time.Duration) { <-time.After(d) }

func (s *shelf) put(it *item) {
	s.items[it.at] = it
	s.born++
	it.by.items[it.entry] = it
	if s.wrong.plansStay && s.plans[it.at] != nil {
		return
	}
	s.plans[it.at] = it.plan
}

func (s *shelf) ready(p *patron, entry uint64) *pb.ConsumerEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := p.items[entry]
	if it == nil {
		return refused(pb.ConsumerReason_CONSUMER_REASON_UNREGISTERED, "entry %d is not registered", entry)
	}
	now := s.items[it.at]
	switch {
	case now == it || s.wrong.readiesByName && now != nil:
		now.ready = true
		s.changed()
	case !s.wrong.keptSwallowed && !s.wrong.twoWinners && !s.wrong.grantsOwnDuplicate:
		return refused(pb.ConsumerReason_CONSUMER_REASON_UNREGISTERED, "entry %d is not registered", entry)
	}
	return done()
}

func (s *shelf) unregister(p *patron, entry uint64) *pb.ConsumerEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := p.items[entry]
	switch {
	case it == nil && s.wrong.refusesOwnStop:
		return refused(pb.ConsumerReason_CONSUMER_REASON_UNREGISTERED, "entry %d is not registered", entry)
	case it != nil && (s.items[it.at] == it || s.wrong.unregistersByName):
		delete(s.items, it.at)
		delete(s.plans, it.at)
		s.born--
		s.changed()
	}
	if s.wrong.refusesOwnStop {
		delete(p.items, entry)
	}
	return done()
}

// died is the end of a consumer's connection.
func (s *shelf) died(p *patron) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-p.dead:
		return
	default:
	}
	close(p.dead)
	for _, it := range s.items { // in any order: all of them are dead
		if it.by == p {
			s.lapsed[it.at] = true
		}
	}
	s.changed()
	if s.wrong.resourcesStay {
		for _, it := range s.items {
			it.orphan = it.orphan || it.by == p && it.at.kind != pb.ConsumerKind_CONSUMER_KIND_TOOL
		}
	}
}

// expire ends a consumer that says nothing for the time of a lease.
func (s *shelf) expire(p *patron) {
	for {
		s.mu.Lock()
		left := leaseTime - time.Since(p.heard)
		s.mu.Unlock()
		if left <= 0 {
			s.died(p)
			return
		}
		select {
		case <-p.dead:
			return
		case <-time.After(left):
		}
	}
}

// look is what a reader does to what it finds: in a mutant it takes out the names of the dead,
// whoever has them by now. Called with mu held.
func (s *shelf) look() {
	for at := range s.lapsed { // in any order: all of them go
		if s.wrong.readerDeletes {
			delete(s.items, at)
		}
	}
	clear(s.lapsed)
}

// shown is what a listing has of a kind, in order.
func (s *shelf) shown(kind pb.ConsumerKind) (list []*item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	for _, it := range s.items { // in any order: it is sorted
		if it.at.kind == kind && (it.ready || s.wrong.listsUnready) && (it.alive() || s.wrong.listsDead) {
			list = append(list, it)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].at.name < list[j].at.name })
	return list
}

// changed tells who listens. Called with mu held.
func (s *shelf) changed() {
	for ear := range s.ears { // in any order: each is told
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}
