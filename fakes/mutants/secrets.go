package mutants

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/mayfly-mcp/mayfly/core/callerr"
	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// secretMutants let servers and clients see what is not theirs.
func secretMutants() []Mutant {
	return []Mutant{
		{"full-environment", "servers inherit the daemon's environment", fixed(configuring(fullEnvironment))},
		{"overlay-backfill", "the [env] of the daemon reaches servers that did not ask for it", fixed(defect{config: func(text string) string {
			return text + "\n[env_overlay]\nbackfill = true\n"
		}})},
		{"one-credential-for-all", "a server is started with the first credential that was ever used", oneCredential},
		{"logs-configurations", "configurations are logged, secrets included", fixed(configuring(func(c transport.Config) transport.Config {
			fmt.Fprintln(os.Stderr, "starting", c)
			return c
		}))},
		{"secret-in-error", "errors say what a server was started with", fixed(attending(secretInError))},
		{"shows-env", "listings show the values of env", showsEnv},
	}
}

func fullEnvironment(c transport.Config) transport.Config {
	env := map[string]string{}
	for _, entry := range os.Environ() {
		k, v, _ := strings.Cut(entry, "=")
		env[k] = v
	}
	for k, v := range c.Env {
		env[k] = v
	}
	c.Env = env
	return c
}

func oneCredential() defect {
	var mu sync.Mutex
	var first string
	return configuring(func(c transport.Config) transport.Config {
		mu.Lock()
		defer mu.Unlock()
		if first == "" {
			first = c.Env["TOKEN"]
		}
		if c.Env["TOKEN"] != "" {
			c.Env["TOKEN"] = first
		}
		return c
	})
}

func secretInError(s transport.Session, c transport.Config) transport.Session {
	secret := c.Env["TOKEN"]
	tell := func(err error) error {
		if err == nil || secret == "" {
			return err
		}
		return &callerr.Error{Kind: callerr.Transport, Msg: fmt.Sprintf("%v, started with %s", err, secret)}
	}
	return &tampered{Session: s, err: tell, initialize: func(ctx context.Context, s transport.Session) ([]transport.Tool, error) {
		tools, err := s.Initialize(ctx)
		return tools, tell(err)
	}}
}

func showsEnv() defect {
	var mu sync.Mutex
	known := map[string]map[string]string{}
	return defect{proxy: &hooks{
		request: func(_ *proxy, m *pb.ClientMessage) *pb.ServerMessage {
			mu.Lock()
			defer mu.Unlock()
			eachDeclaration(m, func(_ string, d declaration) {
				env, _ := d["env"].(map[string]any)
				shown := map[string]string{}
				for k := range env {
					shown[k] = d.env(k)
				}
				known[d.name()] = shown
			})
			return nil
		},
		answer: func(_ *proxy, _ *pb.ClientMessage, m *pb.ServerMessage) *pb.ServerMessage {
			mu.Lock()
			defer mu.Unlock()
			for _, row := range m.GetMcpList().GetMcps() {
				if env := known[row.GetName()]; len(env) > 0 {
					row.Env = env
				}
			}
			return m
		},
	}}
}
