// Command inbubble enters bubbles from a plain program and prints what it found there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/cmd/mayfly/internal/hostworld"
	"github.com/mayfly-mcp/mayfly/scenarios"
)

func main() {
	fs := flag.NewFlagSet("inbubble", flag.ExitOnError)
	own := fs.String("test.run", "", "a flag of this program that package testing knows too")
	fs.Parse(os.Args[1:])
	fmt.Println("own flag:", *own, fs.Args())

	for range 3 {
		err := hostworld.InBubble(func() {
			start := time.Now()
			done := make(chan struct{})
			go func() {
				<-time.After(24 * time.Hour)
				close(done)
			}()
			<-done
			synctest.Wait()
			fmt.Println("slept", time.Since(start))
		})
		fmt.Println("err:", err)
	}
	fmt.Println("deadlock:", hostworld.InBubble(func() { select {} }) != nil)
	fmt.Println("leak:", hostworld.InBubble(func() { go func() { select {} }() }) != nil)
	fmt.Println("goexit:", hostworld.InBubble(runtime.Goexit) != nil)
	fmt.Println("panic:", panics())
	fmt.Println("and again:", hostworld.InBubble(func() {}))
	scenario("first-call-spawns")
	os.Exit(7)
}

func scenario(id string) {
	f, err := scenarios.Named(id)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, err := hostworld.Run(ctx, f)
	fmt.Println("scenario:", report.File, len(report.Outcomes), "outcomes, err", err, "failures", report.Err())
}

func panics() (caught bool) {
	defer func() { caught = recover() != nil }()
	hostworld.InBubble(func() { panic("on purpose") })
	return false
}
