package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// exampleHost is a host over fake servers of the given names.
func exampleHost(names ...string) (*core.Host, *fakes.Dialer) {
	d := fakes.NewDialer(fakes.Config{})
	for _, n := range names {
		d.Server(n)
	}
	h, err := core.Open(core.Config{Dialer: d})
	if err != nil {
		log.Fatal(err)
	}
	return h, d
}

// Declaring starts nothing; the first call starts the peer and is served by it.
func Example() {
	ctx := context.Background()
	h, d := exampleHost("mcp-files")
	defer h.Close(ctx)

	o, err := h.Owner("researcher")
	if err != nil {
		log.Fatal(err)
	}
	defer o.Close()
	if err := o.Declare("files", transport.Config{Command: "mcp-files"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("declared:", d.Server("mcp-files").Counts().Spawns, "processes")

	res, err := o.Call(ctx, "echo", json.RawMessage(`{"text":"hello"}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("called:", d.Server("mcp-files").Counts().Spawns, "process says", res.Text())
	// Output:
	// declared: 0 processes
	// called: 1 process says hello
}

// Two owners with equal configurations share one process; another token is another process.
func ExampleOwner_Declare() {
	ctx := context.Background()
	h, d := exampleHost("mcp-issues")
	defer h.Close(ctx)

	for _, token := range []string{"alice", "alice", "bob"} {
		o, err := h.Owner("agent of " + token)
		if err != nil {
			log.Fatal(err)
		}
		env := map[string]string{"TOKEN": token}
		if err := o.Declare("issues", transport.Config{Command: "mcp-issues", Env: env}); err != nil {
			log.Fatal(err)
		}
		res, err := o.Call(ctx, "whoami", nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(res.Text(), "is served;", d.Server("mcp-issues").Counts().Live, "running")
	}
	// Output:
	// alice is served; 1 running
	// alice is served; 1 running
	// bob is served; 2 running
}

// A peer that failed is left alone until the failure has aged, or until somebody asks.
func ExampleOwner_Reconnect() {
	ctx := context.Background()
	h, d := exampleHost("mcp-db")
	defer h.Close(ctx)
	d.Server("mcp-db").Next(fakes.Initialize, fakes.Fault{Do: fakes.Fail})

	o, err := h.Owner("analyst")
	if err != nil {
		log.Fatal(err)
	}
	if err := o.Declare("db", transport.Config{Command: "mcp-db"}); err != nil {
		log.Fatal(err)
	}
	_, err = o.Call(ctx, "echo", nil)
	fmt.Println(callerr.KindOf(err), "and", o.List()[0].State)

	s, err := o.Reconnect(ctx, "db")
	fmt.Println(s.State, err)
	// Output:
	// refused and failed
	// connected <nil>
}

// A subscription is a snapshot and then every transition, under the owner's own name.
func ExampleHost_Watch() {
	ctx := context.Background()
	h, _ := exampleHost("mcp-files")
	defer h.Close(ctx)
	sub, err := h.Watch()
	if err != nil {
		log.Fatal(err)
	}
	defer sub.Close()

	o, err := h.Owner("writer")
	if err != nil {
		log.Fatal(err)
	}
	if err := o.Declare("files", transport.Config{Command: "mcp-files"}); err != nil {
		log.Fatal(err)
	}
	if _, err := o.Ensure(ctx, "files"); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		n, err := sub.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n.Event.Agent, n.Event.Name, n.Event.State, len(n.Event.Tools), "tools")
	}
	// Output:
	// writer files connecting 0 tools
	// writer files connected 6 tools
}
