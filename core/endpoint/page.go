package endpoint

import (
	"encoding/base64"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mayfly-mcp/mayfly/core/registry"
)

// page merges what several tables show after a key, in order; of a key in several the first
// table's stands. next is where the page after it begins, "" if there is none.
func page[Req, Res any](tables []*registry.Table[Req, Res], after string, size int) (shown []*registry.Entry[Req, Res], next string) {
	lists := make([][]*registry.Entry[Req, Res], len(tables))
	for i, t := range tables {
		lists[i] = t.List(after, size+1)
	}
	for len(shown) <= size {
		e := pop(lists)
		if e == nil {
			return shown, ""
		}
		shown = append(shown, e)
	}
	return shown[:size], shown[size-1].Key()
}

// pop takes the least key off the lists, all of its entries, and returns the first.
func pop[Req, Res any](lists [][]*registry.Entry[Req, Res]) (least *registry.Entry[Req, Res]) {
	for _, l := range lists {
		if len(l) > 0 && (least == nil || l[0].Key() < least.Key()) {
			least = l[0]
		}
	}
	if least == nil {
		return nil
	}
	for i, l := range lists {
		if len(l) > 0 && l[0].Key() == least.Key() {
			lists[i] = l[1:]
		}
	}
	return least
}

// cursors are keys, in a form that nobody takes for one.
func cursorOf(key string) string {
	if key == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(key))
}

func keyOf(cursor string) (string, error) {
	key, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(key) > registry.MaxKey {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one that this server gave"}
	}
	return string(key), nil
}
