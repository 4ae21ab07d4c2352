package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// Both ends over one pipe: a daemon that knows Ping alone, and a client of it.
func Example() {
	near, far := net.Pipe()
	ctx := context.Background()

	served := make(chan error)
	go func() {
		conn := wire.NewConn(far, wire.Config{})
		defer conn.Close()
		for {
			req, err := conn.ReadRequest(ctx)
			if err != nil {
				served <- err
				return
			}
			answer := wire.Refusal(500, wire.Variant(req)+" is not supported")
			if _, ok := wire.Body(req).(*pb.Ping); ok {
				answer = wire.Answer(&pb.Pong{})
			}
			if err := conn.WriteAnswer(ctx, answer); err != nil {
				served <- err
				return
			}
		}
	}()

	conn := wire.NewConn(near, wire.Config{})
	pong, err := conn.Do(ctx, wire.Request(&pb.Ping{}))
	fmt.Println(wire.Variant(pong), err)
	_, err = conn.Do(ctx, wire.Request(&pb.ListSkillsMsg{}))
	refused, _ := errors.AsType[*wire.Error](err)
	fmt.Println(refused.Code, refused.Message)
	conn.Close()
	fmt.Println(<-served)
	// Output:
	// Pong <nil>
	// 500 ListSkillsMsg is not supported
	// EOF
}
