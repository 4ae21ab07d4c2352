package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/endpoint"
	"github.com/mayfly-mcp/mayfly/core/owner"
)

// All of 10,000 tools, from request to text, in the pages that there are by default and in
// one. No client of the SDK takes part: to read such a listing costs it ten times as much.
func BenchmarkListTenThousand(b *testing.B) {
	const crowd = 10_000
	for _, size := range []int{endpoint.DefaultPageSize, crowd} {
		b.Run(fmt.Sprintf("pages of %d", size), func(b *testing.B) {
			ep := endpoint.New(endpoint.Config{MaxTools: crowd, PageSize: size})
			defer ep.Close()
			o := owner.New(context.Background(), "crowd")
			defer o.Close()
			for i := range crowd {
				e, err := ep.Shared().AddTool(o.Token, saying(fmt.Sprintf("tool-%05d", i), ""))
				if err == nil {
					err = e.Ready()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if n := listAll(b, ep); n != (crowd+size-1)/size {
					b.Fatalf("%d pages", n)
				}
			}
		})
	}
}

// listAll reads pages up to the last, and counts them.
func listAll(b *testing.B, ep *endpoint.Endpoint) (pages int) {
	b.Helper()
	for cursor := ""; ; {
		r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			cursor, versions[0])))
		for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": versions[0], "Mcp-Method": "tools/list"} {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		ep.ServeHTTP(w, r)
		all, err := io.ReadAll(w.Body)
		if err != nil {
			b.Fatal(err)
		}
		_, data, _ := strings.Cut(string(all), "data: ")
		tail := data[max(0, len(data)-200):]
		if !strings.HasSuffix(strings.TrimSpace(tail), "}}") {
			b.Fatalf("%d: %.200s", w.Code, all)
		}
		pages++
		if cursor = cursorIn(data); cursor == "" {
			return pages
		}
	}
}

// cursorIn is the cursor of the next page, without a look at the tools.
func cursorIn(data string) string {
	_, rest, found := strings.Cut(data, `"nextCursor":`)
	if !found {
		return ""
	}
	var cursor string
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&cursor); err != nil {
		return ""
	}
	return cursor
}
