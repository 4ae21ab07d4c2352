package mutants

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// fault is an error of JSON-RPC.
type fault struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

// Codes of the shelf's errors, as the daemon has them.
const (
	codeUnknown  = -32602
	codeNoRes    = -32002
	codeDenied   = -32000
	codeInternal = -32603
)

func unknown(at slot) *fault {
	if at.kind == pb.ConsumerKind_CONSUMER_KIND_TOOL {
		return &fault{codeUnknown, fmt.Sprintf("tool %q is not available", at.name)}
	}
	return &fault{codeNoRes, fmt.Sprintf("resource %q is not available", at.name)}
}

// find resolves a name, by template if need be.
func (s *shelf) find(at slot) *item {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	if it := s.items[at]; s.callable(it) {
		return it
	}
	if at.kind != pb.ConsumerKind_CONSUMER_KIND_RESOURCE {
		return nil
	}
	for _, it := range s.items { // in any order: the checks have one
		prefix, _, family := strings.Cut(it.at.name, "{")
		if family && it.at.kind == pb.ConsumerKind_CONSUMER_KIND_TEMPLATE && strings.HasPrefix(at.name, prefix) && s.callable(it) {
			return it
		}
	}
	return nil
}

func (s *shelf) callable(it *item) bool {
	return it != nil && it.ready && (it.alive() || s.wrong.resolvesDead || s.wrong.bodyAfterDeath)
}

// perform is a call of who comes with a token.
func (s *shelf) perform(ctx context.Context, token string, at slot, params json.RawMessage) (json.RawMessage, error) {
	if s.wrong.planApart {
		return s.performApart(ctx, token, at, params)
	}
	it := s.find(at)
	if it == nil {
		return nil, unknown(at)
	}
	s.mu.Lock()
	plan := it.plan
	if s.wrong.plansStay {
		plan = s.plans[it.at]
	}
	s.calls++
	slow := s.wrong.noGate && s.calls%hesitates == 0
	s.mu.Unlock()
	if !admits(plan, token) {
		return nil, &fault{codeDenied, "the plan does not let in"}
	}
	if s.wrong.resolvesDead && !it.alive() {
		return nil, &fault{codeInternal, "the owner is dead"}
	}
	if slow {
		wait(gateTime)
	}
	res, err := s.deliver(ctx, it, params)
	if err == error(errOwnerDied) && s.wrong.identityByName {
		return s.again(ctx, at, params, err)
	}
	return res, err
}

// hesitates is of how many calls one takes its time between decision and delivery.
const hesitates = 4

// performApart looks at the plan of a name, and later at who has it.
func (s *shelf) performApart(ctx context.Context, token string, at slot, params json.RawMessage) (json.RawMessage, error) {
	first := s.find(at)
	if first == nil {
		return nil, unknown(at)
	}
	if !admits(first.plan, token) {
		return nil, &fault{codeDenied, "the plan does not let in"}
	}
	wait(lookTime)
	it := s.find(at)
	if it == nil {
		return nil, unknown(at)
	}
	return s.deliver(ctx, it, params)
}

// again gives a call to whoever has the name next.
func (s *shelf) again(ctx context.Context, at slot, params json.RawMessage, err error) (json.RawMessage, error) {
	for began := time.Now(); time.Since(began) < retryTime; wait(apartTime) {
		if it := s.find(at); it != nil {
			return s.deliver(ctx, it, params)
		}
	}
	return nil, err
}

func admits(plan *pb.ConsumerPlan, token string) bool {
	sum := sha256.Sum256([]byte(token))
	return plan.GetPublic() || slices.ContainsFunc(plan.GetTokenSha256(), func(s []byte) bool { return string(s) == string(sum[:]) })
}

var errOwnerDied = &fault{codeInternal, "the owner died during the call"}

// deliver asks the consumer and waits for its result.
func (s *shelf) deliver(ctx context.Context, it *item, params json.RawMessage) (json.RawMessage, error) {
	p, died := it.by, errOwnerDied
	if !it.alive() {
		died = unknown(it.at)
	}
	if !it.alive() && !s.wrong.noGate && !s.wrong.bodyAfterDeath {
		return nil, unknown(it.at)
	}
	s.mu.Lock()
	p.last++
	call, answer := p.last, make(chan *pb.ConsumerResult, 1)
	p.waiting[call] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(p.waiting, call)
	}()
	p.tell(0, &pb.ConsumerEvent{Msg: &pb.ConsumerEvent_Invoke{Invoke: &pb.ConsumerInvoke{Call: call, Entry: it.entry, Params: params}}})
	dead := p.dead
	if s.wrong.slowDeath {
		dead = nil
	}
	select {
	case r := <-answer:
		return s.result(r)
	case <-dead:
		return nil, died
	case <-time.After(slowAnswer):
		return nil, died
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *shelf) result(r *pb.ConsumerResult) (json.RawMessage, error) {
	if e := r.GetError(); e != nil {
		return nil, &fault{e.GetCode(), e.GetMessage()}
	}
	var v map[string]any
	if json.Unmarshal(r.GetResult(), &v) == nil {
		return r.GetResult(), nil
	}
	if s.wrong.plansLost { // the listener starts again without them
		s.mu.Lock()
		for _, it := range s.items {
			it.plan = &pb.ConsumerPlan{Public: true}
		}
		s.mu.Unlock()
	}
	if s.wrong.diesOfNoResult {
		s.mu.Lock()
		clear(s.items)
		s.mu.Unlock()
	}
	return nil, &fault{codeInternal, "the consumer gave no result"}
}
