package endpoint_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
)

// A name that may be the tenant's own goes to a shared entry after a refresh alone.
func TestDoubt(t *testing.T) {
	const token = "canary-a"
	scopes := map[string]*endpoint.Scope{}
	var p *place
	p = serve(t, endpoint.Config{Tenant: tenants(&p, scopes)})
	o, refreshed := newOwner(t), 0
	scope, err := p.Open("tenant", func(context.Context) error {
		if refreshed++; refreshed == 1 {
			add(t, &scopes[token].Set, o, saying("both", "own"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	scope.Doubt(func(name string) bool { return name != "sure" && refreshed < 2 })
	scopes[token] = scope
	for _, name := range []string{"both", "shared", "sure"} {
		add(t, p.Shared(), o, saying(name, "everybody's"))
	}
	s := p.connect(t, versions[0], token, nil)
	for _, tc := range []struct {
		name, want string
		refreshed  int
	}{{"sure", "everybody's", 0}, {"both", "own", 1}, {"shared", "everybody's", 2}, {"shared", "everybody's", 2}} {
		if r, err := callTool(t, s, tc.name, nil); err != nil || !strings.HasPrefix(text(r), tc.want) || refreshed != tc.refreshed {
			t.Errorf("%s: %v %v after %d refreshes, want %q after %d", tc.name, r, err, refreshed, tc.want, tc.refreshed)
		}
	}
}
