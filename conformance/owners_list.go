package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// resource is the request that registers one.
func resource(uri string, plan *pb.ConsumerPlan) *pb.ConsumerRegister {
	return &pb.ConsumerRegister{Kind: pb.ConsumerKind_CONSUMER_KIND_RESOURCE, Plan: plan, Info: []byte(mustJSON(map[string]any{"name": uri, "uri": uri}))}
}

// family is the request that registers a family of resources.
func family(uri string, plan *pb.ConsumerPlan) *pb.ConsumerRegister {
	return &pb.ConsumerRegister{Kind: pb.ConsumerKind_CONSUMER_KIND_TEMPLATE, Plan: plan, Info: []byte(mustJSON(map[string]any{"name": uri, "uriTemplate": uri}))}
}

// reads is the body of a resource that holds a text.
func reads(text string) wire.ConsumerBody {
	return func(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
		var p struct {
			URI string `json:"uri"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		return json.RawMessage(mustJSON(map[string]any{"contents": []any{map[string]any{"uri": p.URI, "text": text}}})), nil
	}
}

// listings are the names of everything that is listed, of each kind.
func (s *stage) listings(ctx context.Context) (string, error) {
	tools, err := s.tools(ctx)
	if err != nil {
		return "", err
	}
	x, err := s.session(ctx, "")
	if err != nil {
		return "", err
	}
	var resources, templates []string
	for r, err := range x.Resources(ctx, nil) {
		if err != nil {
			_, err = s.refusedListing(ctx, err)
			return "", err
		}
		resources = append(resources, r.URI)
	}
	for t, err := range x.ResourceTemplates(ctx, nil) {
		if err != nil {
			_, err = s.refusedListing(ctx, err)
			return "", err
		}
		templates = append(templates, t.URITemplate)
	}
	return fmt.Sprintf("tools %v, resources %v, templates %v", tools, resources, templates), nil
}

func ownerResources(ctx context.Context, s *stage) (string, error) {
	a, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	const uri, many = "test://one", "test://many/{n}"
	for _, r := range []struct {
		r    *pb.ConsumerRegister
		body wire.ConsumerBody
	}{{tool("t", open()), says("a")}, {resource(uri, guarded("its")), reads("one")}, {family(many, open()), reads("many")}} {
		if _, err := s.serve(ctx, a, r.r, r.body); err != nil {
			return "", err
		}
	}
	got, err := s.listings(ctx)
	if err != nil {
		return "", err
	}
	if err := s.rec.equal("listings", "tools [t], resources [test://one], templates [test://many/{n}]", got, "one owner serves one of each kind, listed are "+got); err != nil {
		return "", err
	}
	for _, x := range []struct{ token, uri, want string }{{"its", uri, "the answer one"}, {"", "test://many/7", "the answer many"}, {"", uri, "an error"}} {
		got, err := s.read(ctx, x.token, x.uri)
		if err != nil {
			return "", err
		}
		seen := got.String()
		if got.class != "" {
			seen = answerOrError(got)
		}
		if err := s.rec.equal("read of "+x.uri, x.want, seen, fmt.Sprintf("a read of %s gets %s, want %s", x.uri, got, x.want)); err != nil {
			return "", err
		}
	}
	_ = a.Close() // it is to be dead
	if err := s.awaitTools(ctx, "the death of an owner"); err != nil {
		return "", err
	}
	if got, err = s.listings(ctx); err != nil {
		return "", err
	}
	if err := s.rec.equal("listings", "tools [], resources [], templates []", got, "after the death of the owner, listed are "+got); err != nil {
		return "", err
	}
	if _, err := s.newcomer(ctx, "b", resource(uri, open()), reads("two")); err != nil {
		return "", err
	}
	return "one death ended a tool, a resource and a template", nil
}

// recording keeps the last body of an answer.
type recording struct {
	http.RoundTripper
	mu   sync.Mutex
	last []byte
}

// maxRecorded bounds what is kept of an answer.
const maxRecorded = 1 << 20

// RoundTrip implements http.RoundTripper.
func (r *recording) RoundTrip(q *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(q)
	if err != nil || q.Method != http.MethodPost {
		return res, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxRecorded))
	_ = res.Body.Close() // it was read
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, res.Body = body, io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// field is one of the result of the last answer, as it was sent: as JSON or as an event of it.
func (r *recording) field(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(string(r.last)) {
		var m struct {
			Result map[string]json.RawMessage `json:"result"`
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "data:")
		if json.Unmarshal([]byte(line), &m) == nil && m.Result != nil {
			return string(m.Result[name]), nil
		}
	}
	return "", errors.New("a listing was answered with something that could not be found again")
}

func ownerEmptyList(ctx context.Context, s *stage) (string, error) {
	t := &http.Transport{}
	s.later(t.CloseIdleConnections)
	rec := &recording{RoundTripper: t}
	x, err := sdk.NewClient(&sdk.Implementation{Name: "mayfly-certify", Version: Suite}, nil).Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: s.url, MaxRetries: -1, HTTPClient: &http.Client{Transport: rec}, DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: mcpVersion})
	if err != nil {
		return "", failf("the endpoint takes no session: %s", oneLine(s.say(err.Error())))
	}
	s.later(func() { _ = x.Close() })
	for _, l := range []struct {
		field string
		ask   func() error
	}{
		{"tools", func() error { _, err := x.ListTools(ctx, nil); return err }},
		{"resources", func() error { _, err := x.ListResources(ctx, nil); return err }},
		{"resourceTemplates", func() error { _, err := x.ListResourceTemplates(ctx, nil); return err }},
	} {
		if err := l.ask(); err != nil {
			_, err = s.refusedListing(ctx, err)
			return "", err
		}
		got, err := rec.field(l.field)
		if err != nil {
			return "", err
		}
		if err := s.rec.equal(l.field, "[]", got, fmt.Sprintf("a listing of nothing says that %s is %q, want []", l.field, got)); err != nil {
			return "", err
		}
	}
	return "tools, resources and resourceTemplates are [] when there are none", nil
}

// Bounds of the listing that changes under its reader.
const (
	lasting  = 1200 // entries that are there throughout: more than a page of most daemons
	churning = 10   // that come and go, over and over
	readings = 4    // of the whole listing
)

func ownerPages(ctx context.Context, s *stage) (string, error) {
	dead, err := s.newcomer(ctx, "dead", tool("s0600-dead", open()), says("x"))
	if err != nil {
		return "", err
	}
	_ = dead.by.Close() // it is to be dead
	if err := s.awaitTools(ctx, "the death of an owner"); err != nil {
		return "", err
	}
	a, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	for i := range lasting {
		if _, err := s.serve(ctx, a, tool(fmt.Sprintf("s%04d", i), open()), says("x")); err != nil {
			return "", err
		}
	}
	churned := make(chan error, 1)
	churn, stop := context.WithCancel(ctx)
	go func() { churned <- s.churn(churn) }()
	err = s.readPages(ctx)
	stop()
	return fmt.Sprintf("%d readings of %d tools while others came and went: each once", readings, lasting), errors.Join(err, <-churned)
}

// churn lets entries come and go between those that stay, until the context ends.
func (s *stage) churn(ctx context.Context) error {
	c, err := s.consumer(ctx, "churn")
	for i := 0; err == nil && ctx.Err() == nil; i++ {
		var e *served
		if e, err = s.serve(ctx, c, tool(fmt.Sprintf("s%04d-x", i%churning*lasting/churning), open()), says("x")); err == nil {
			err = s.asked(ctx, "a stop", c.Unregister(ctx, e.entry))
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *stage) readPages(ctx context.Context) error {
	for range readings {
		list, err := s.tools(ctx)
		if err != nil {
			return err
		}
		seen := map[string]int{}
		for _, name := range list {
			seen[name]++
		}
		for _, name := range list {
			if seen[name] > 1 {
				return failf("a listing that changes shows %s %d times", name, seen[name])
			}
			if strings.HasSuffix(name, "-dead") {
				return failf("a listing shows %s, whose owner died before", name)
			}
		}
		for i := range lasting {
			if name := fmt.Sprintf("s%04d", i); seen[name] == 0 {
				return failf("a listing that changes leaves out %s, which is there throughout", name)
			}
		}
	}
	return nil
}

// Bounds of the check of what is told.
const (
	burst      = 20
	tellBound  = 5 * time.Second
	tellsQuiet = 500 * time.Millisecond // without a message: the burst is told
)

func ownerListChanged(ctx context.Context, s *stage) (string, error) {
	var told atomic.Int64
	x, err := s.connect(ctx, "", &sdk.ClientOptions{ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { told.Add(1) }})
	if err != nil {
		return "", err
	}
	s.later(func() { _ = x.Close() })
	a, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	for began := time.Now(); told.Load() == 0; { // until the client listens
		if time.Since(began) > tellBound {
			return "", failf("changes over %v were told by no message", tellBound)
		}
		e, err := s.serve(ctx, a, tool("proof", open()), says("x"))
		if err != nil {
			return "", err
		}
		if err := errors.Join(s.asked(ctx, "a stop", a.Unregister(ctx, e.entry)), pause(ctx, afterDeath)); err != nil {
			return "", err
		}
	}
	births, err := s.toldOf(ctx, &told, "registrations", func() error {
		for i := range burst {
			if _, err := s.serve(ctx, a, tool(fmt.Sprintf("t%02d", i), open()), says("x")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	deaths, err := s.toldOf(ctx, &told, "entries of a dead owner", func() error { _ = a.Close(); return nil })
	return fmt.Sprintf("%d registrations were told by %d messages, the death of their owner by %d", burst, births, deaths), err
}

// toldOf counts the messages about a burst of changes: at least one, and fewer than changes.
func (s *stage) toldOf(ctx context.Context, told *atomic.Int64, what string, change func() error) (int64, error) {
	if err := pause(ctx, tellsQuiet); err != nil { // what was before has been told
		return 0, err
	}
	before := told.Load()
	if err := change(); err != nil {
		return 0, err
	}
	for began := time.Now(); told.Load() == before; {
		if time.Since(began) > tellBound {
			return 0, failf("%d %s were told by no message", burst, what)
		}
		if err := pause(ctx, settleStep); err != nil {
			return 0, err
		}
	}
	if err := pause(ctx, tellsQuiet); err != nil {
		return 0, err
	}
	n := told.Load() - before
	if n >= burst {
		return n, failf("%d %s were told by %d messages", burst, what, n)
	}
	return n, nil
}

func ownerCap(ctx context.Context, s *stage) (string, error) {
	h := hold("a")
	a, err := s.newcomer(ctx, "a", tool("a1", open()), h.body)
	if err != nil {
		return "", err
	}
	if _, err := s.serve(ctx, a.by, tool("a2", open()), says("a")); err != nil {
		return "", err
	}
	if _, err := s.offer(ctx, a.by, tool("a3", open()), says("a")); err != nil {
		return "", s.asked(ctx, "a registration below the cap", err)
	}
	if _, err := s.newcomer(ctx, "b", tool("b1", open()), says("b")); err != nil {
		return "", err
	}
	c, err := s.consumer(ctx, "c")
	if err != nil {
		return "", err
	}
	want := func(name, when string) error {
		_, err := s.offer(ctx, c, tool(name, open()), says("c"))
		return s.full(err, when)
	}
	full := fmt.Sprintf("when %d are alive", ownerCapOf)
	if err := want("c1", full); err != nil {
		return "", err
	}
	if err := s.expectTools(ctx, "a full table has refused", "a1", "a2", "b1"); err != nil {
		return "", err
	}
	f := s.fly(ctx, "", "a1")
	if err := h.await(ctx); err != nil {
		return "", err
	}
	_ = a.by.Close() // it is to be dead
	if err := s.known(ctx, f, "b1"); err != nil {
		return "", err
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		if _, err := s.offer(ctx, c, tool(name, open()), says("c")); err != nil {
			return "", s.asked(ctx, fmt.Sprintf("%s, after a death at a full cap,", name), err)
		}
	}
	if err := want("n4", full+" again"); err != nil {
		return "", err
	}
	return fmt.Sprintf("a cap of %d refused the living by its name, and three dead made room for three", ownerCapOf), s.expectCall(ctx, "", "b1", "b", "an owner that lives on")
}

func ownerOnePlace(ctx context.Context, s *stage) (string, error) {
	b, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	for i := range ownerCapOf - 1 {
		if _, err := s.serve(ctx, b, tool(fmt.Sprintf("b%d", i), open()), says("b")); err != nil {
			return "", err
		}
	}
	got, err := s.contest(ctx, func(i int) string { return fmt.Sprintf("r%d", i) }, pb.ConsumerReason_CONSUMER_REASON_FULL, "b0", "b1", "b2")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d owners at once for one place: one got it", rivals),
		s.rec.equal("winners", "1", fmt.Sprint(got), fmt.Sprintf("%d of %d owners got the one place that was free", got, rivals))
}

// full wants a refusal that says what is full.
func (s *stage) full(err error, when string) error {
	if reason, _ := reasonOf(err); reason != pb.ConsumerReason_CONSUMER_REASON_FULL {
		return failf("%s, a registration is not refused as one too many: %v", when, err)
	}
	if text := err.Error(); !strings.Contains(text, fmt.Sprint(ownerCapOf)) || !strings.Contains(text, "tool") {
		return failf("a refusal at a full cap names neither kind nor cap: %s", oneLine(s.say(text)))
	}
	return nil
}

func ownerCapDuplicate(ctx context.Context, s *stage) (string, error) {
	a, err := s.consumer(ctx, "a")
	if err != nil {
		return "", err
	}
	if _, err := s.serve(ctx, a, tool("t", open()), says("a")); err != nil {
		return "", err
	}
	for i := range ownerCapOf - 1 {
		if _, err := s.serve(ctx, a, tool(fmt.Sprintf("a%d", i), open()), says("a")); err != nil {
			return "", err
		}
	}
	b, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	_, err = s.offer(ctx, b, tool("t", open()), says("b"))
	if err := s.duplicate(ctx, err, "at a full cap a name was asked for that a live owner holds"); err != nil {
		return "", err
	}
	return "refused as a duplicate, and not as one too many", s.expectCall(ctx, "", "t", "a", "after a duplicate at a full cap")
}

func ownerCapTakeover(ctx context.Context, s *stage) (string, error) {
	b, err := s.consumer(ctx, "b")
	if err != nil {
		return "", err
	}
	for i := range ownerCapOf - 1 {
		if _, err := s.serve(ctx, b, tool(fmt.Sprintf("b%d", i), open()), says("b")); err != nil {
			return "", err
		}
	}
	h := hold("a")
	a, err := s.newcomer(ctx, "a", tool("t", open()), h.body)
	if err != nil {
		return "", err
	}
	f := s.fly(ctx, "", "t")
	if err := h.await(ctx); err != nil {
		return "", err
	}
	_ = a.by.Close() // it is to be dead
	if err := s.known(ctx, f, "b0", "b1", "b2"); err != nil {
		return "", err
	}
	c, err := s.consumer(ctx, "c")
	if err != nil {
		return "", err
	}
	e, err := s.offer(ctx, c, tool("t", open()), says("c"))
	if err != nil {
		return "", s.asked(ctx, "a registration of a dead owner's name at a full cap", err)
	}
	if err := s.asked(ctx, "ready", c.Ready(ctx, e.entry)); err != nil {
		return "", err
	}
	return fmt.Sprintf("a dead owner's name was taken at a cap of %d, with %d alive beside it", ownerCapOf, ownerCapOf-1), s.expectCall(ctx, "", "t", "c", "after a takeover at a full cap")
}
