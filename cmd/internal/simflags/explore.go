package simflags

import (
	"flag"
	"fmt"

	"github.com/mayfly-mcp/mayfly/sim/explore"
)

// Explore are the flags that an exhaustive search depends on, and the options that they make.
type Explore struct {
	Options explore.Options

	faults string
	own    own
}

// Define defines the flags.
func (x *Explore) Define(fs *flag.FlagSet) {
	x.own.begin(fs)
	x.Options = explore.Options{Config: explore.DefaultConfig()}
	o := &x.Options
	fs.IntVar(&o.Agents, "agents", 2, "agents that claim and call")
	fs.IntVar(&o.Configs, "configs", 2, "configs that they may claim")
	fs.IntVar(&o.Names, "names", 1, "names that each may claim under")
	fs.IntVar(&o.Calls, "calls", 1, "calls that each may have open")
	fs.IntVar(&o.Total, "total", 0, "faults of all kinds together on one way; 0 does not bound them")
	fs.IntVar(&o.Depth, "depth", explore.MaxDepth, "moves from the beginning")
	fs.IntVar(&o.States, "max-states", explore.DefaultStates, fmt.Sprintf("states to keep, %d bytes each", explore.BytesPerState))
	fs.BoolVar(&o.Drain, "drain", true, "let the machine be drained")
	fs.IntVar(&o.Model, "model", 50_000, "the first states from which every move is also held to the model of the specification, each for some 0.1 ms")
	DefineConfig(fs, &o.Config, "idle-timeout", "connect-timeout", "call-timeout", "max-live")
	fs.StringVar(&x.faults, "faults", "none", "how often what goes wrong on one way: none, each, or a list such as exit,late=2; each may begin a list")
	x.own.end(fs)
}

// Settle checks the flags together, after they were parsed, and makes options of them.
func (x *Explore) Settle() (err error) {
	if x.Options.Faults, err = explore.ParseFaults(x.faults); err != nil {
		return err
	}
	return x.Options.Validate()
}

// Args are the flags that were given, in a form that another process can parse to the same options.
func (x *Explore) Args(fs *flag.FlagSet) (args []string) {
	for _, f := range x.own.given(fs) {
		if f.Value.String() != f.DefValue {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	}
	return args
}
