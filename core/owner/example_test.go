package owner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mayfly-mcp/mayfly/core/owner"
)

// An owner dies with its function, and what belonged to it goes in the same moment.
func Example() {
	o := owner.New(context.Background(), "researcher")
	entries := map[string]*owner.Token{"search": o.Token}
	o.OnDeath(func() { delete(entries, "search") })

	err := o.Run(func(context.Context) error {
		fmt.Println("alive:", o.Alive(), "entries:", len(entries))
		return errors.New("out of ideas")
	})
	fmt.Println("ended:", err)
	fmt.Println("alive:", o.Alive(), "entries:", len(entries))
	fmt.Println("cause:", o.Cause())
	// Output:
	// alive: true entries: 1
	// ended: out of ideas
	// alive: false entries: 0
	// cause: owner's function has ended: out of ideas
}

// A body that is inside at death is told by its context, and waited for by Drain; the next
// one is refused at the gate.
func ExampleToken_Enter() {
	o := owner.New(context.Background(), "tool")
	serve := func(tok *owner.Token) string {
		if !tok.Enter() {
			return "refused: " + tok.Cause().Error()
		}
		defer tok.Exit()
		o.Close() // the owner dies while the body is at work
		return "told: " + context.Cause(tok.Context()).Error()
	}
	fmt.Println(serve(o.Token))
	fmt.Println(serve(o.Token))
	fmt.Println("drained:", o.Drain(context.Background()) == nil)
	// Output:
	// told: owner was closed
	// refused: owner was closed
	// drained: true
}

// Owners made under an owner's context die with it.
func ExampleNew_child() {
	agent := owner.New(context.Background(), "agent")
	tool := owner.New(agent.Context(), "tool")
	tool.OnDeath(func() { fmt.Println("the tool's entries are removed") })
	agent.Close()
	fmt.Println("tool alive:", tool.Alive())
	// Output:
	// the tool's entries are removed
	// tool alive: false
}
