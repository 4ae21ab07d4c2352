package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mayfly-mcp/mayfly/core/wire"
	"github.com/mayfly-mcp/mayfly/fakes"
)

func plain(home string) Config {
	return Config{Home: home, TCPAddr: TCPOff, Dialer: fakes.NewDialer(fakes.Config{})}
}

// cannotOpen checks that a daemon refuses to start, and says what it was told to say.
func cannotOpen(t *testing.T, cfg Config, texts ...string) {
	t.Helper()
	d, err := Open(cfg)
	if err == nil {
		_ = d.Close(context.Background())
		t.Fatalf("it started, want %q", texts)
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOneDaemonForEachHome(t *testing.T) {
	r := start(t, setup{})
	cannotOpen(t, plain(r.home), "busy socket "+r.d.Socket(), "another daemon", r.home)
	if err := r.c.Ping(r.ctx); err != nil {
		t.Errorf("the first daemon suffered: %v", err)
	}
	r.stop()
	for _, path := range []string{r.d.Socket(), r.d.home.port} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s stays after a clean exit: %v", path, err)
		}
	}
}

func TestALiveSocketIsNeverTaken(t *testing.T) {
	home := newHome(t)
	path := layout(home).socket
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cannotOpen(t, plain(home), "busy socket "+path, "a daemon answers on it")
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the live socket is gone: %v", err)
	}
	_ = conn.Close()
}

func TestAStaleSocketIsReplaced(t *testing.T) {
	home := newHome(t)
	path := layout(home).socket
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	put(t, layout(home).port, "12345")
	r := start(t, setup{home: home})
	if err := r.c.Ping(r.ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(layout(home).port); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stale port file stays although TCP is off: %v", err)
	}
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want mode %v", path, info.Mode(), err, want)
		}
	}
}

func TestUnusableHomes(t *testing.T) {
	file := filepath.Join(newHome(t), "file")
	put(t, file, "")
	cannotOpen(t, plain(file), file, "is not a directory")
	cannotOpen(t, plain(filepath.Join(file, "below")), "below", "choose a directory that can be written")
	cannotOpen(t, plain(""), "no home directory is given")
	long := filepath.Join(newHome(t), strings.Repeat("x", 100))
	cannotOpen(t, plain(long), "a unix socket allows 107", "shorter home")
	if _, err := os.Stat(long); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a home that cannot be used was made: %v", err)
	}
	occupied := newHome(t)
	put(t, layout(occupied).socket, "not a socket")
	cannotOpen(t, plain(occupied), layout(occupied).socket, "is not a socket")
}

func TestASocketThatIsSomebodyElsesByNowStays(t *testing.T) {
	r := start(t, setup{})
	if err := os.Remove(r.d.Socket()); err != nil {
		t.Fatal(err)
	}
	put(t, r.d.Socket(), "somebody else's")
	r.stop()
	if got, err := os.ReadFile(r.d.Socket()); err != nil || string(got) != "somebody else's" {
		t.Errorf("%q %v", got, err)
	}
}

func TestTCP(t *testing.T) {
	r := start(t, setup{cfg: func(c *Config) { c.TCPAddr = "127.0.0.1:0" }})
	port, err := os.ReadFile(r.d.home.port)
	if err != nil || r.d.TCPAddr() != "127.0.0.1:"+string(port) {
		t.Errorf("port file %q, bound %s: %v", port, r.d.TCPAddr(), err)
	}
	if err := wire.NewClient("tcp", r.d.TCPAddr()).Ping(r.ctx); err != nil {
		t.Error(err)
	}
	busy := plain(newHome(t))
	busy.TCPAddr = r.d.TCPAddr()
	cannotOpen(t, busy, "cannot listen on TCP "+r.d.TCPAddr(), "choose another address")
	if _, err := os.Stat(layout(busy.Home).socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a start that failed left its socket: %v", err)
	}
	r.stop()
	if _, err := os.Stat(r.d.home.port); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the port file stays: %v", err)
	}
}

func TestTheDefaultPortMayBeTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0") // stands for the default, which is one for the whole machine
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ln, err := bindTCP(t.Context(), "TCP", "", taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(addrOf(ln))
	if n, _ := strconv.Atoi(port); err != nil || n == 0 || addrOf(ln) == taken.Addr().String() {
		t.Errorf("bound %s: %v", addrOf(ln), err)
	}
	if _, err := bindTCP(t.Context(), "TCP", taken.Addr().String(), ""); err == nil {
		t.Error("a port that was asked for by number was replaced")
	}
	r := start(t, setup{cfg: func(c *Config) { c.TCPAddr, c.MCPAddr = "", "" }})
	if !strings.HasPrefix(r.d.TCPAddr(), "127.0.0.1:") || !strings.HasPrefix(r.d.MCPAddr(), "127.0.0.1:") {
		t.Errorf("the defaults bound %s and %s", r.d.TCPAddr(), r.d.MCPAddr())
	}
}

func TestStrangersAreKeptOut(t *testing.T) {
	for addr, ok := range map[string]bool{
		"": true, "off": true, "127.0.0.1:0": true, "[::1]:80": true, "localhost:1": true, "127.9.9.9:1": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "nonsense": false, "example.org:1": false,
	} {
		for _, c := range []Config{{Home: "h", TCPAddr: addr}, {Home: "h", MCPAddr: addr}} {
			if err := c.Validate(); (err == nil) != ok {
				t.Errorf("%q: %v", addr, err)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	for content, want := range map[string]string{
		"[mcp]\nidle_timeout = \"4\"":                ":2: key mcp.idle_timeout: ",
		"[mcp]\nidle_timeout = -1":                   "key mcp.idle_timeout: is -1",
		"[mcp]\nidle_timeout = 99999999999":          "key mcp.idle_timeout: is 99999999999",
		"[mcp]\n\nconnect_timeout = 3":               ":3: key mcp.connect_timeout: ",
		"[mcp]\ncall_timeout = \"soon\"":             ":2: key mcp.call_timeout: \"soon\" is not a duration",
		"[mcp]\ncall_timeout = \"0s\"":               ":2: key mcp.call_timeout: is 0s",
		"[mcp]\n\nclose_grace = \"-1s\"":             ":3: key mcp.close_grace: is -1s",
		"[limits]\nmax_spawning = -1":                ":2: key limits.max_spawning: is -1",
		"[mcp]\nstop_budget = \"9s\"":                ":2: key mcp.stop_budget: is 9s and the stop ladder needs 9.9s",
		"[metrics]\naddr = \"0.0.0.0:1\"":            ":2: key metrics.addr: address \"0.0.0.0:1\" is not a loopback address",
		"[llm]\nkind = \"openai\"":                   "key llm.kind: \"openai\" is not supported",
		"[llm]\nbase_url = \"http://u:canary@h/\"":   "key llm.base_url: holds more than an origin",
		"[llm]\nbase_url = \"http://h/?key=canary\"": "key llm.base_url: holds more than an origin",
		"[llm]\nbase_url = \"localhost:1\"":          "key llm.base_url: is not an http or https URL",
		"[llm]\napi_key = 7":                         ":2: key llm.api_key: ",
		"[env]\nA = 1":                               ":2: key env.A: ",
		"[mcp":                                       ":1: ",
		"[mcp]\na = 1\na = 2":                        ":3: ",
	} {
		home := newHome(t)
		put(t, layout(home).settings, content)
		cannotOpen(t, plain(home), layout(home).settings, want)
	}
	home := newHome(t)
	put(t, layout(home).settings, "[mcp]\nidle_timeout = 0\nfailed_retry = \"1m\"\n"+
		"[llm]\nbase_url = \"http://h/v1/\"\n[cache]\nsessions = 32\n[tasks]\nx = 1\n[mcp.more]\ny = 2\n")
	s, err := loadSettings(layout(home).settings)
	if err != nil {
		t.Fatal(err)
	}
	if l := s.lifecycle(); l.IdleTimeout != 0 || l.FailedRetry.Minutes() != 1 || l.ConnectTimeout.Seconds() != 30 || s.origin() != "http://h" {
		t.Errorf("%+v %s", l, s.origin())
	}
	if got := strings.Join(s.unknown, " "); got != "mcp.more mcp.more.y tasks tasks.x" {
		t.Errorf("unknown keys: %s", got)
	}
	put(t, layout(home).settings, strings.Repeat("#", maxSettings+1))
	cannotOpen(t, plain(home), "is it the right file?")
}

func TestTheStartIsLoggedWithoutValues(t *testing.T) {
	r := start(t, setup{settings: "[env]\nOVERLAY = \"overlay-canary\"\n[tasks]\nx = 1\n[cache]\nsessions = 3\n"})
	if err := r.c.Ping(r.ctx); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"names=OVERLAY", `keys="tasks tasks.x"`, "cache.sessions has no effect"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, r.log)
		}
	}
	if strings.Contains(r.log.String(), "overlay-canary") {
		t.Error("the log shows a value of [env]")
	}
}
