package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mayfly-mcp/mayfly/core/registry"
)

// firstStateless is the first version of the protocol that has no sessions.
const firstStateless = "2026-07-28"

// ServeHTTP implements http.Handler.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := e.foreign(r); why != "" {
		e.cfg.Logger.Warn("a request was refused", "reason", why)
		http.Error(w, why, http.StatusForbidden)
		return
	}
	token, err := bearerOf(r.Header)
	if err != nil {
		e.deny(w, err)
		return
	}
	scope, err := e.scopeOf(r.Context(), token)
	if err != nil {
		e.deny(w, err)
		return
	}
	v := &visit{scope: scope, caller: registry.Caller{Token: token}}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	if r.Method == http.MethodPost {
		scope.begin(v, r.Header.Get("Mcp-Session-Id"))
		defer scope.finish(v)
	}
	if scope == e.shared {
		e.route(w, r)
		return
	}
	e.guarded.ServeHTTP(w, r)
}

// foreign says why a request comes from where it should not, or nothing: a page in a browser
// must not reach a server on loopback by a name of its own or from an origin of its own.
func (e *Endpoint) foreign(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if !slices.Contains(e.cfg.Hosts, host) {
		return "the Host header names another server; allowed are: " + strings.Join(e.cfg.Hosts, ", ")
	}
	if o := r.Header.Get("Origin"); o != "" && !own(o, r.Host) && !slices.Contains(e.cfg.Origins, o) {
		return "the Origin header is not allowed"
	}
	return ""
}

// own reports that an origin is this server itself, by the name and port that the request was
// sent to: a page from there was served here.
func own(origin, host string) bool { return origin == "http://"+host || origin == "https://"+host }

var errNotBearer = errors.New("the Authorization header is not of the form: Bearer TOKEN")

// bearerOf is the token of a request, "" without one.
func bearerOf(h http.Header) (string, error) {
	all := h.Values("Authorization")
	if len(all) == 0 {
		return "", nil
	}
	fields := strings.Fields(all[0])
	if len(all) != 1 || len(fields) != 2 || !strings.EqualFold(fields[0], "bearer") {
		return "", errNotBearer
	}
	return fields[1], nil
}

// deny answers 401. Errors of Tenant may hold anything, so only ours are shown.
func (e *Endpoint) deny(w http.ResponseWriter, err error) {
	e.cfg.Logger.Warn("a request was refused", "reason", "its bearer token")
	if !errors.Is(err, errNotBearer) {
		err = ErrUnknownToken
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	http.Error(w, err.Error(), http.StatusUnauthorized)
}

func (e *Endpoint) scopeOf(ctx context.Context, token string) (*Scope, error) {
	if token == "" || e.cfg.Tenant == nil {
		return e.shared, nil
	}
	s, err := e.cfg.Tenant(ctx, token)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return e.shared, nil
	}
	return s, nil
}

// bound binds sessions to tenants: the SDK refuses a request on the session of another user.
func (e *Endpoint) bound(next http.Handler) http.Handler {
	verify := func(ctx context.Context, _ string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: visitOf(ctx).scope.id, Expiration: noEnd}, nil
	}
	return auth.RequireBearerToken(verify, nil)(next)
}

// noEnd is an expiration for tokens that have none.
var noEnd = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// route serves by the version that the request says it speaks.
func (e *Endpoint) route(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Mcp-Protocol-Version") >= firstStateless {
		e.stateless.ServeHTTP(w, r)
		return
	}
	scope, id := visitOf(r.Context()).scope, r.Header.Get("Mcp-Session-Id")
	switch {
	case r.Method == http.MethodDelete && id != "":
		scope.requests.end(id) // of this tenant's sessions alone
	case r.Method == http.MethodPost && id == "" && scope.crowded():
		http.Error(w, "there are too many sessions; delete one, or speak "+firstStateless+", which has none", http.StatusServiceUnavailable)
		return
	case r.Method == http.MethodPost && id != "" && e.overlong(w, r):
		http.Error(w, fmt.Sprintf("a batch has more than %d messages", maxBatch), http.StatusRequestEntityTooLarge)
		return
	}
	e.stateful.ServeHTTP(w, r)
}

// visit is who a request comes from.
type visit struct {
	scope  *Scope
	caller registry.Caller

	session string        // its id, "" for none
	done    chan struct{} // closed when the request was answered

	// The fields below are guarded by the scope's mu.
	over   bool               // the scope was disconnected since
	cancel context.CancelFunc // of a stream of news, nil for another request
}

type visitKey struct{}

func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// serverOf gives a request the server of its scope.
func serverOf(r *http.Request) *mcp.Server { return visitOf(r.Context()).scope.server }
