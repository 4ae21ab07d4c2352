package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/owner"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

// The longest wish among those who share a peer is in force; a server that keeps state for its
// client is not shared at all.
func ExampleOwner_DeclareWith() {
	ctx := context.Background()
	h, d := exampleHost("mcp-browser")
	defer h.Close(ctx)

	for _, share := range []core.Share{core.ShareFingerprint, core.ShareOwner} {
		for _, idle := range []time.Duration{time.Hour, 2 * time.Hour} {
			o, err := h.Owner("agent")
			if err != nil {
				log.Fatal(err)
			}
			terms := core.Terms{Share: share, Policy: lifecycle.Policy{IdleTimeout: idle}}
			if err := o.DeclareWith("browser", transport.Config{Command: "mcp-browser"}, terms); err != nil {
				log.Fatal(err)
			}
			if _, err := o.Dispatch(ctx); err != nil {
				log.Fatal(err)
			}
			row := o.List()[0]
			fmt.Println(row.Policy.IdleTimeout, "for", row.Claims, "claims;", d.Server("mcp-browser").Counts().Live, "running")
		}
	}
	// Output:
	// 1h0m0s for 1 claims; 1 running
	// 2h0m0s for 2 claims; 1 running
	// 1h0m0s for 1 claims; 2 running
	// 2h0m0s for 1 claims; 3 running
}

// An agent's claims end with its function, however that ends.
func ExampleHost_Attach() {
	ctx := context.Background()
	h, _ := exampleHost("mcp-files")
	defer h.Close(ctx)

	agent := owner.New(ctx, "researcher")
	err := agent.Run(func(ctx context.Context) error {
		o, err := h.Attach(agent.Token, "researcher")
		if err != nil {
			return err
		}
		if err := o.Declare("files", transport.Config{Command: "mcp-files"}); err != nil {
			return err
		}
		_, err = o.Dispatch(ctx)
		fmt.Println("while it runs:", h.Gauges().Claims, "claim,", err)
		return errors.New("out of tokens")
	})
	fmt.Println("after it:", h.Gauges().Claims, "claims,", err)
	// Output:
	// while it runs: 1 claim, <nil>
	// after it: 0 claims, out of tokens
}

// A host is reconfigured while it runs; no peer is touched.
func ExampleHost_Configure() {
	ctx := context.Background()
	h, _ := exampleHost("mcp-files")
	defer h.Close(ctx)
	o, err := h.Owner("writer")
	if err != nil {
		log.Fatal(err)
	}
	if err := o.Declare("files", transport.Config{Command: "mcp-files"}); err != nil {
		log.Fatal(err)
	}
	if _, err := o.Dispatch(ctx); err != nil {
		log.Fatal(err)
	}

	settings := h.Settings()
	settings.IdleTimeout = 10 * time.Minute
	if err := h.Configure(settings); err != nil {
		log.Fatal(err)
	}
	settings.CallTimeout = -time.Second
	fmt.Println(h.Configure(settings))
	fmt.Println(h.Settings().IdleTimeout, o.List()[0].State, o.List()[0].Generation)
	// Output:
	// CallTimeout is -1s; use 1ns or more
	// 10m0s connected 1
}

// outcomes counts how calls end.
type outcomes map[callerr.Kind]int

func (o outcomes) Connected(time.Duration, lifecycle.Reason) {}
func (o outcomes) Called(_ time.Duration, kind callerr.Kind) { o[kind]++ }

// An observer is told of everything that took time, under the host's lock: a plain map will do.
func ExampleObserver() {
	ctx := context.Background()
	d := fakes.NewDialer(fakes.Config{})
	d.Server("mcp-files")
	seen := outcomes{}
	h, err := core.Open(core.Config{Dialer: d, Observer: seen})
	if err != nil {
		log.Fatal(err)
	}
	o, err := h.Owner("writer")
	if err != nil {
		log.Fatal(err)
	}
	if err := o.Declare("files", transport.Config{Command: "mcp-files"}); err != nil {
		log.Fatal(err)
	}
	for _, tool := range []string{"echo", "fail", "echo"} {
		o.Call(ctx, tool, nil)
	}
	fmt.Println(h.Gauges().States[lifecycle.Connected], "connected")
	h.Close(ctx)
	fmt.Println(seen[0], "answered,", seen[callerr.Rejected], "rejected")
	// Output:
	// 1 connected
	// 2 answered, 1 rejected
}

// The order of declarations decides who serves a tool that several export.
func ExampleOwner_Reorder() {
	ctx := context.Background()
	h, d := exampleHost("mcp-old", "mcp-new")
	defer h.Close(ctx)
	o, err := h.Owner("writer")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"old", "new"} {
		d.Server("mcp-" + name).Set(fakes.Behaviour{Answers: says("the " + name + " one")})
		if err := o.Declare(name, transport.Config{Command: "mcp-" + name}); err != nil {
			log.Fatal(err)
		}
	}
	if err := o.Reorder([]string{"new"}); err != nil {
		log.Fatal(err)
	}
	res, err := o.Call(ctx, "echo", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text(), "serves")
	// Output:
	// the new one serves
}
