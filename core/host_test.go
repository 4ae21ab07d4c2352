package core_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/lifecycle"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/fakes"
)

var _ transport.Dialer = (*fakes.Dialer)(nil)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fakes.NewDialer(fakes.Config{})
		d.Server("S")
		rec := &core.Recorder{}
		h, err := core.Open(core.Config{Dialer: d, Recorder: rec})
		if err != nil {
			t.Fatal(err)
		}
		o, err := h.Owner("a")
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Declare("m1", transport.Config{Command: "S"}); err != nil {
			t.Fatal(err)
		}
		ls, err := o.Dispatch(context.Background())
		if err != nil || len(ls) != 1 || ls[0].Err != nil {
			t.Fatalf("%+v %v", ls, err)
		}
		res, err := o.Call(context.Background(), ls[0].Tools[0].Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(res.Text())
		time.Sleep(3000 * time.Second)
		synctest.Wait()
		if s := o.List()[0]; s.State != lifecycle.Disconnected {
			t.Fatalf("%+v", s)
		}
		if err := h.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := rec.Replay(); err != nil {
			t.Fatal(err)
		}
	})
}
