package observer_test

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mayfly-mcp/mayfly/fakes/observer"
)

// ruled spawns a peer with rules at its calls and sends one call of echo, id 1.
func ruled(t *testing.T, rules ...observer.Rule) (*observer.Controller, *client) {
	t.Helper()
	ctl := listen(t)
	for i := range rules {
		rules[i].At = observer.Call
	}
	ctl.Set("m1", observer.Behaviour{Rules: rules})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.callID("echo", `{"text":"x"}`)
	t.Cleanup(func() { // before the controller looks for what is left
		c.in.Close()
		ctl.Kill("m1")
		<-c.waited
	})
	return ctl, c
}

// Each row is a rule and the lines that it puts on stdout for one call.
func TestRulesOnTheWire(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"x","type":"text"}]}}`
	rows := map[observer.Action]struct {
		rule observer.Rule
		want []string
	}{
		observer.Delay:     {observer.Rule{For: time.Millisecond}, []string{good}},
		observer.Noise:     {observer.Rule{N: 4}, []string{"server is ready", "null", "[]", `{"foo":1}`, good}},
		observer.Stderr:    {observer.Rule{N: 1 << 20}, []string{good}},
		observer.Notify:    {observer.Rule{}, []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"message 1","level":"info"}}`, good}},
		observer.Ping:      {observer.Rule{}, []string{`{"jsonrpc":"2.0","id":"server-ping-1","method":"ping"}`, good}},
		observer.Double:    {observer.Rule{}, []string{good, good}},
		observer.UnknownID: {observer.Rule{}, []string{`{"jsonrpc":"2.0","id":"nobody-asked","result":{"content":[{"text":"x","type":"text"}]}}`, good}},
		observer.RPCError:  {observer.Rule{Code: -32003}, []string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"failed as scripted"}}`}},
		observer.IsError:   {observer.Rule{}, []string{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"failed as scripted","type":"text"}],"isError":true}}`}},
		observer.Large:     {observer.Rule{N: 200000}, []string{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"` + strings.Repeat("x", 200000) + `","type":"text"}]}}`}},
		observer.Garbled:   {observer.Rule{}, []string{`{"jsonrpc":"2.0","id":1,"result":7}`}},
		observer.Empty:     {observer.Rule{}, []string{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`}},
		observer.ListChanged: {observer.Rule{Tools: []observer.Tool{{Name: "echo"}}},
			[]string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, good}},
		observer.Truncate:    {observer.Rule{Code: 4}, []string{good[:len(good)/2], ""}},
		observer.CloseStdout: {observer.Rule{}, []string{""}},
		observer.Exit:        {observer.Rule{Code: 3}, []string{""}},
		observer.Crash:       {observer.Rule{}, []string{""}},
	}
	status := map[observer.Action]int{observer.Truncate: 4, observer.Exit: 3, observer.Crash: -int(syscall.SIGKILL)}
	for do, row := range rows {
		t.Run(string(do), func(t *testing.T) {
			row.rule.Do = do
			_, c := ruled(t, row.rule)
			for i, want := range row.want {
				if got := c.line(); got != want {
					t.Errorf("line %d: %.200q, want %.200q", i+1, got, want)
				}
			}
			c.in.Close()
			if got := c.ended(); got != status[do] {
				t.Errorf("exit %d, want %d", got, status[do])
			}
			if do == observer.Stderr && c.stderr.Len() != 1<<20 {
				t.Errorf("%d bytes on stderr", c.stderr.Len())
			}
		})
	}
}

func TestHangLeavesTheOthersAlone(t *testing.T) {
	_, c := ruled(t, observer.Rule{Do: observer.Hang, Times: 1})
	if got := c.call("echo", `{"text":"second"}`); got != "second" {
		t.Errorf("answered %q", got)
	}
	c.in.Close()
	if got := c.ended(); got != observer.ExitOK {
		t.Errorf("exit %d", got)
	}
}

func TestLateAnswersAfterTheCancellation(t *testing.T) {
	ctl, c := ruled(t, observer.Rule{Do: observer.Late})
	if _, err := ctl.WaitReached(within(t), "m1", observer.Call); err != nil {
		t.Fatal(err)
	}
	for range 5 { // an answer that does not wait would come between these
		ping := c.request("ping", "{}")
		if w := c.next(); string(w.ID) != fmt.Sprint(ping) {
			t.Fatalf("before the cancellation came %+v", w)
		}
	}
	c.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if w := c.next(); string(w.ID) != "1" || w.Result == nil {
		t.Errorf("late answer %+v", w)
	}
}

func TestStopReadingBlocksTheWriter(t *testing.T) {
	ctl, c := ruled(t, observer.Rule{Do: observer.StopReading})
	c.line() // the rule is in force once its answer is there
	wrote := make(chan error, 1)
	go func() {
		_, err := c.in.Write([]byte(strings.Repeat("x", 16<<20)))
		wrote <- err
	}()
	ctl.Kill("m1")
	if err := <-wrote; err == nil {
		t.Error("16 MiB went into a peer that does not read")
	}
}

func TestLaterAnswerOfSlowExit(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.EOF, Do: observer.Delay, For: time.Hour}, {At: observer.Term, Do: observer.Exit, Code: 9}}})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.in.Close()
	if _, err := ctl.WaitReached(within(t), "m1", observer.EOF); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := c.ended(); got != 9 {
		t.Errorf("exit %d", got)
	}
}

func TestRulesOfOneTool(t *testing.T) {
	_, c := ruled(t, observer.Rule{Do: observer.IsError, Tool: "add"})
	if w := c.next(); w.Result.IsError {
		t.Error("the rule of add hit echo")
	}
	c.callID("add", "{}")
	if w := c.next(); !w.Result.IsError {
		t.Error("the rule of add missed add")
	}
}

func TestValidate(t *testing.T) {
	bad := []observer.Behaviour{
		{Hold: []observer.Point{observer.EOF}},
		{Rules: []observer.Rule{{At: "lunch", Do: observer.Exit}}},
		{Rules: []observer.Rule{{At: observer.Call, Do: "sulk"}}},
		{Rules: []observer.Rule{{At: observer.Call, Do: observer.Noise, N: observer.MaxFlood + 1}}},
		{Rules: []observer.Rule{{At: observer.Call, Do: observer.Delay, For: -1}}},
	}
	for _, b := range bad {
		if err := b.Validate(); err == nil {
			t.Errorf("%+v was accepted", b)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Set accepted %+v", b)
				}
			}()
			(&observer.Controller{}).Set("x", b)
		}()
	}
	if err := (observer.Behaviour{}).Validate(); err != nil {
		t.Error(fmt.Errorf("the zero behaviour: %w", err))
	}
}

// TestACallMeetsTheRulesOfItsArrival: whoever has seen a call arrive may change the behaviour,
// and the call is answered as it would have been before.
func TestACallMeetsTheRulesOfItsArrival(t *testing.T) {
	ctl := listen(t)
	ctl.Set("m1", observer.Behaviour{})
	c := spawn(t, nil, ctl.Args("m1")...)
	c.initialize()
	for n := range 50 {
		ctl.Apply("m1", observer.Behaviour{Rules: []observer.Rule{{At: observer.Call, Do: observer.IsError}}})
		c.request("ping", "{}") // its answer proves that the order was obeyed
		c.next()
		c.callID("echo", `{"text":"x"}`)
		for len(ctl.Calls("m1")) <= n {
			runtime.Gosched()
		}
		ctl.Apply("m1", observer.Behaviour{})
		if w := c.next(); w.Result == nil || !w.Result.IsError {
			t.Fatalf("call %d was answered %+v, by rules that came after it", n+1, w)
		}
	}
}
