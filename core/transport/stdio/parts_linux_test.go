package stdio

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"pgregory.net/rapid"
)

func TestEnviron(t *testing.T) {
	base := []string{
		"PATH=/a", "PATH=/b", "HOME=/h", "SECRET=1", "LC_TIME=C", "LCX=no", "http_proxy=p", "HTTP_PROXY=P", "EMPTY", "=C:=x",
		"TZ=", "MAYFLY_TOKEN=x", "SSL_CERT_FILE=f", "LD_LIBRARY_PATH=l", "NODE_OPTIONS=--inspect",
	}
	got := Environ(base, map[string]string{"HOME": "/own", "B": "2", "A": "a=b", "SECRET": "own"})
	want := []string{
		"A=a=b", "B=2", "HOME=/own", "HTTP_PROXY=P", "LC_TIME=C", "PATH=/b", "SECRET=own", "SSL_CERT_FILE=f", "TZ=", "http_proxy=p",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got := Environ(nil, nil); len(got) != 0 {
		t.Errorf("from nothing came %v", got)
	}
}

// TestLinesAgainstStrings compares the line reader with strings.Split, for every way in
// which a pipe may cut the bytes.
func TestLinesAgainstStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const bound = 40_000
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "bc", ""}).Draw(t, "text"), rapid.SampledFrom([]int{0, 1, 3, readChunk - 1, readChunk, readChunk + 1}).Draw(t, "times"))
		}), 1, 6).Draw(t, "lines")
		text := strings.Join(parts, "\n")
		var r io.Reader = strings.NewReader(text)
		switch rapid.IntRange(0, 2).Draw(t, "cut") {
		case 1:
			r = iotest.HalfReader(r)
		case 2:
			r = iotest.DataErrReader(r)
		}
		want := parts
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		in := newLines(r, bound)
		for i, line := range want {
			got, err := in.next()
			if err != nil || string(got) != line {
				t.Fatalf("line %d has %d bytes, %v; want %d bytes", i, len(got), err, len(line))
			}
		}
		if got, err := in.next(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the end: %q, %v", got, err)
		}
	})
}

func TestLinesBound(t *testing.T) {
	for _, tc := range []struct {
		size int
		end  string
		fits bool
	}{{10, "\n", true}, {10, "", true}, {11, "\n", false}, {100_000, "\n", false}, {100_000, "", false}} {
		_, err := newLines(strings.NewReader(strings.Repeat("x", tc.size)+tc.end), 10).next()
		if fits := err == nil; fits != tc.fits || !fits && !errors.Is(err, errFrameTooLong) {
			t.Errorf("%d bytes and %q under a bound of 10: %v", tc.size, tc.end, err)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, line := range []string{
		"", " ", "log", "null", "true", "1", `"s"`, "[]", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, "{", "{}", `{"foo":1}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`,
		`{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"2.0","id":1e0,"result":{}}`, `{"jsonrpc":"2.0","id":{},"result":{}}`,
		`{"jsonrpc":"2.0","id":[1],"result":{}}`, `{"jsonrpc":"2.0","id":true,"result":{}}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"result":{}} trailing`, `{"jsonrpc":"2.0","id":99999999999999999999,"result":{}}`,
	} {
		if msg := decode([]byte(line)); msg != nil {
			t.Errorf("%s was taken for a message: %#v", line, msg)
		}
	}
	resp, ok := decode([]byte(` {"jsonrpc":"2.0","id":7,"result":{"n":12345678901234567890}}` + "\r")).(*jsonrpc.Response)
	if !ok || resp.ID.Raw() != int64(7) || string(resp.Result) != `{"n":12345678901234567890}` || resp.Error != nil {
		t.Errorf("a reply was read as %#v", resp)
	}
	resp, ok = decode([]byte(`{"jsonrpc":"2.0","id":"7","error":"boom"}`)).(*jsonrpc.Response)
	if !ok || resp.ID.Raw() != "7" || resp.Error == nil {
		t.Fatalf("an unreadable error was read as %#v", resp)
	}
	if _, wire := resp.Error.(*jsonrpc.Error); wire {
		t.Error("an unreadable error was taken for the peer's own")
	}
	req, ok := decode([]byte(`{"jsonrpc":"2.0","method":"","params":[1]}`)).(*jsonrpc.Request)
	if !ok || req.IsCall() || string(req.Params) != "[1]" {
		t.Errorf("a notification was read as %#v", req)
	}
}

func TestTailKeepsTheLastBytes(t *testing.T) {
	secrets := transport.SecretsOf(transport.Config{Env: map[string]string{"K": "hunter2-hunter2"}})
	for _, tc := range []struct {
		size   int
		writes []string
		want   string
	}{
		{10, nil, ""},
		{10, []string{"abc"}, "abc"},
		{10, []string{"12345", "67890"}, "1234567890"},
		{10, []string{"first\n", "last one"}, "last one"},
		{5, []string{"abcdefghij"}, "fghij"},
		{8, []string{"ab\ncdef", "\nghijkl"}, "ghijkl"},
		{30, []string{"x hunter2-hunter2 y"}, "x [masked] y"},
		{12, []string{"x hunter2-hunter2 y"}, "[masked] y"}, // the cut left "er2-hunter2 y"
		{40, []string{"bad \xff byte"}, "bad \uFFFD byte"},
		{0, []string{"abc"}, ""},
	} {
		ring := newTail(tc.size, &atomic.Int64{})
		for _, w := range tc.writes {
			if n, err := ring.Write([]byte(w)); n != len(w) || err != nil {
				t.Fatalf("write: %d, %v", n, err)
			}
		}
		if got, _ := ring.text(secrets); got != tc.want {
			t.Errorf("%d bytes of %q: %q, want %q", tc.size, tc.writes, got, tc.want)
		}
	}
}

// TestTailAgainstStrings compares the ring with the end of everything written.
func TestTailAgainstStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 20).Draw(t, "size")
		dropped, all := &atomic.Int64{}, ""
		dropped.Store(7)
		ring := newTail(size, dropped)
		for _, w := range rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 45, -1)).Draw(t, "writes") {
			_, _ = ring.Write([]byte(w))
			all += w
		}
		got, lost := ring.text(transport.Secrets{})
		if want := all[max(0, len(all)-size):]; got != want || lost != int64(len(all)-len(want)) || dropped.Load() != 7+lost {
			t.Fatalf("kept %q, want %q; lost %d of %d, %d in all", got, want, lost, len(all), dropped.Load())
		}
	})
}

func TestParseStat(t *testing.T) {
	line := func(name, state, threads string) string {
		return "4242 (" + name + ") " + state + " 17 4200 4100 0 -1 4194560 1 0 0 0 33 44 0 0 20 0 " + threads + " 0 100 0 7"
	}
	for _, tc := range []struct {
		line string
		dead bool
	}{
		{line("sh", "S", "1"), false},
		{line("we (ird) Z 1 2 3", "R", "1"), false},
		{line("sh", "Z", "1"), true},
		{line("sh", "Z", "0"), true},
		{line("main thread gone", "Z", "3"), false},
		{line("sh", "X", "0"), true},
		{line("sh", "D", "1"), false},
	} {
		st, err := parseStat([]byte(tc.line))
		if err != nil || st.pgrp != 4200 || st.dead() != tc.dead || st.flags&pfExiting != 0 || st.ppid != 17 || st.session != 4100 || st.start != 100 || st.user != 33 || st.system != 44 || st.pages != 7 || st.code != 0 {
			t.Errorf("%s: %+v, %v; want group 4200, dead %v", tc.line, st, err, tc.dead)
		}
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1", line("x", "S", "many"), strings.TrimSuffix(line("x", "S", "1"), " 7")} {
		if st, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, st)
		}
	}
	long := line("sh", "S", "1") + " 1 99 0"
	if st, err := parseStat([]byte(long)); err != nil || st.code != 99 {
		t.Errorf("%s: %+v, %v; want field 26", long, st, err)
	}
	own, err := readStat(os.Getpid())
	if err != nil || own.dead() || own.threads < 1 || own.code == 0 || own.pages == 0 {
		t.Errorf("our own status: %+v, %v", own, err)
	}
}

func TestScannerSeesOurGroup(t *testing.T) {
	s := &scanner{}
	own, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan bool, 8)
	for range cap(answers) {
		go func() {
			sc := s.look()
			answers <- sc.err == nil && slices.Contains(sc.groups[own.pgrp], os.Getpid())
		}()
	}
	for range cap(answers) {
		if !<-answers {
			t.Error("our own group was reported empty")
		}
	}
	if live, err := s.remains(&process{pid: 1 << 30}); live || err != nil {
		t.Errorf("a group that cannot exist: %v, %v", live, err)
	}
}
