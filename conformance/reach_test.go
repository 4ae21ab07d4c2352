package conformance

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// listening is a server that does to every connection what it is told.
func listening(t *testing.T, do func(c net.Conn)) (network, address string) {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return "unix", ln.Addr().String()
}

// TestWhatIsNoDaemon: what listens is told apart from a daemon, in bounded time and memory, and
// nothing of its address is shown.
func TestWhatIsNoDaemon(t *testing.T) {
	t.Parallel()
	flood := bytes.Repeat([]byte{0, 0, 0, 2, 0x0a, 0}, 10_000) // well-formed frames, each an error without a code
	for name, tt := range map[string]struct {
		do   func(c net.Conn)
		want string
	}{
		"http": {func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, "is no daemon that speaks this protocol"},
		"noise": {func(c net.Conn) {
			for {
				if _, err := c.Write(bytes.Repeat([]byte("noise"), 1000)); err != nil {
					return
				}
			}
		}, "is no daemon that speaks this protocol"},
		"frames": {func(c net.Conn) {
			for {
				if _, err := c.Write(flood); err != nil {
					return
				}
			}
		}, "is no daemon that speaks this protocol"},
		"silent":   {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "answered no Ping within"},
		"hangs up": {func(net.Conn) {}, "hung up on a Ping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network, address := listening(t, tt.do)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			target := Target{Name: "x", Network: network, Address: address, Peer: reference(t).Peer}
			if name == "silent" {
				target.bound = time.Second
			}
			_, err := Run(ctx, target, Options{Checks: []Check{}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), address) {
				t.Errorf("%v\nwant %q and no address", err, tt.want)
			}
		})
	}
}
