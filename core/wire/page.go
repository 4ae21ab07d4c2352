package wire

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
)

const (
	// PageSize is how many rows a Client asks for at a time. A daemon sends fewer where they
	// are long.
	PageSize = 10_000

	// maxPages bounds one listing, so that a daemon whose pages do not end ends a request and
	// not the memory of whoever asked.
	maxPages = 1 << 12
)

// errEndless reports a daemon that pages do not get to the end of.
var errEndless = errors.New("the daemon's pages do not end")

// page is an answer that may have a next one.
type page interface {
	proto.Message
	GetNextPageToken() string
}

// paged asks for a listing page by page on one connection and returns all of its rows.
func paged[A page, R any](ctx context.Context, c *Client, ask func(token string) proto.Message, rows func(A) []R) ([]R, error) {
	name := nameOf(ask(""))
	conn, err := Dial(ctx, c.network, c.address)
	if err != nil {
		return nil, wrapRequest(name, err)
	}
	defer conn.Close()
	var all []R
	token := ""
	for range maxPages {
		got, err := conn.Do(ctx, Request(ask(token)))
		if err != nil {
			return nil, err
		}
		a, err := bodyAs[A](name, got)
		if err != nil {
			return nil, err
		}
		all = append(all, rows(a)...)
		next := a.GetNextPageToken()
		switch next {
		case "":
			return all, nil
		case token:
			return nil, wrapRequest(name, errEndless)
		}
		token = next
	}
	return nil, wrapRequest(name, errEndless)
}
