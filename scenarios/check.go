package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// check reports what makes no sense in a file whose lines are all well-formed: names
// used before they exist or after they ended, names given twice, bounds.
func (f *File) check() error {
	c := checker{
		servers: map[string]*serverNames{},
		agents:  map[string]*agentNames{},
		calls:   map[string]Operation{},
		once:    map[string]int{},
		only:    f.only(),
	}
	var errs errorList
	for i, l := range f.Lines {
		if errs.full {
			break
		}
		if l.Command == nil {
			continue
		}
		if err := c.command(i+1, l.Command); err != nil {
			errs.add(f.Name, i+1, err)
		}
	}
	return errs.join()
}

// checker is what the script has named so far.
type checker struct {
	servers     map[string]*serverNames
	serverOrder []string
	agents      map[string]*agentNames // the agents that live now
	agentOrder  []string               // every agent name ever, for suggestions
	calls       map[string]Operation
	callOrder   []string
	latest      Operation      // the most recent operation
	once        map[string]int // line of each clauses, only, needs and set
	only        []string       // worlds of the only line, all when there is none
	begun       bool           // a line behind the head was seen
	drained     bool           // the daemon was shut down
}

type serverNames struct {
	held   []Point
	tokens []string
	real   bool // runs a command of its own, which nothing steers
}

type agentNames struct {
	mcps []string // every MCP name that it ever declared
}

func (c *checker) command(no int, command Command) error {
	if err := c.reach(command); err != nil {
		return err
	}
	switch x := command.(type) {
	case Clauses:
		return c.head(no, "clauses")
	case Only:
		return c.head(no, "only")
	case Needs:
		return c.head(no, "needs")
	case Set:
		return c.set(no, x)
	}
	c.begun = true
	if err := c.afterDrain(command); err != nil {
		return err
	}
	switch x := command.(type) {
	case Server:
		return c.newServer(x)
	case Change:
		return c.change(x)
	case Hold, Release, AwaitPoint:
		return c.barrier(command)
	case Kill:
		return c.token(x.Server, x.Token)
	case Quit:
		return c.steered(x.Server, x.Token)
	case Break:
		return c.steered(x.Server, x.Token)
	case Announce:
		return c.steerable(x.Server)
	case Expire:
		return c.credential(x.Token)
	case Configure:
		return setAsTo(x.Set)
	case Reload:
		return c.reload(x)
	case Restart, Drain:
		_, c.drained = x.(Drain)
		return nil
	case Agent:
		return c.newAgent(x.Name)
	case Declare:
		return c.claim(x.Agent, x.MCP, x.Target)
	case Delete:
		return c.mcp(x.Agent, x.MCP)
	case Remove:
		return c.remove(x.Agent)
	case Rename:
		return c.rename(x)
	case Operation:
		c.latest = x
		return c.operation(x)
	case Start:
		return c.start(x)
	case Await:
		return c.known(x.Calls)
	case Cancel:
		return c.known(x.Calls)
	case Advance, Fence:
		return nil
	case Expect:
		return c.expect(x)
	}
	panic(fmt.Sprintf("SCN-2: command %T has no check", command))
}

func (c *checker) head(no int, what string) error {
	if c.begun {
		return fmt.Errorf("%s stands behind other commands: move it to the head of the file", what)
	}
	if at := c.once[what]; at > 0 {
		return fmt.Errorf("%s is already on line %d: write it once", what, at)
	}
	c.once[what] = no
	return nil
}

func (c *checker) set(no int, s Set) error {
	if err := setAsTo(s); err != nil {
		return err
	}
	return c.head(no, "set "+s.Name)
}

// setAsTo checks the value of a setting.
func setAsTo(s Set) error {
	switch {
	case new(Settings).bound(s.Name) != nil:
		return nil
	case s.Value < MinSetting && !(s.Value == 0 && slices.Contains(mayBeZero, s.Name)):
		return fmt.Errorf("%s %s is below the bound: write %s or more", s.Name, duration(s.Value), duration(MinSetting))
	}
	return nil
}

// afterDrain refuses what a daemon that has shut down cannot be asked for.
func (c *checker) afterDrain(command Command) error {
	if !c.drained {
		return nil
	}
	if s, ok := command.(Start); ok {
		command = s.Op
	}
	switch command.(type) {
	case Agent, Declare, Delete, Remove, Rename, Upsert, WriteOff, Configure, Reload, Announce, Drain:
		return fmt.Errorf("the daemon was drained above: write `restart` before %s", verbOf(command))
	}
	return nil
}

// steered checks a server that can be steered, and a token of it.
func (c *checker) steered(name, token string) error {
	if err := c.steerable(name); err != nil {
		return err
	}
	return c.token(name, token)
}

// credential checks a token that some claim has.
func (c *checker) credential(token string) error {
	var all []string
	for _, name := range c.serverOrder {
		all = append(all, c.servers[name].tokens...)
	}
	if !slices.Contains(all, token) {
		return fmt.Errorf("no claim has the token %s%s: write `declare AGENT MCP SERVER token=%s` above", token, suggest(token, all), token)
	}
	return nil
}

func (c *checker) reload(x Reload) error {
	for _, name := range []string{x.From, x.To} {
		if err := c.steerable(name); err != nil {
			return err
		}
	}
	for _, t := range c.servers[x.From].tokens {
		if s := c.servers[x.To]; !slices.Contains(s.tokens, t) {
			s.tokens = append(s.tokens, t)
		}
	}
	return nil
}

func (c *checker) newServer(s Server) error {
	switch {
	case c.servers[s.Name] != nil:
		return fmt.Errorf("server %s exists already: write `change %s …` or another name", s.Name, s.Name)
	case len(c.servers) == MaxServers:
		return fmt.Errorf("more than %d servers: that is the bound of one file", MaxServers)
	}
	c.servers[s.Name] = &serverNames{real: s.Behaviour.Exec != nil}
	c.serverOrder = append(c.serverOrder, s.Name)
	return c.realServer(s)
}

// realServer checks a server that runs a command: virtual time has no processes, and a
// program that was not written for scenarios does what it does.
func (c *checker) realServer(s Server) error {
	switch {
	case s.Behaviour.Exec == nil:
		return nil
	case !slices.Equal(c.only, []string{Live}):
		return fmt.Errorf("server %s runs a real command: write `only live` in the head", s.Name)
	case s.Behaviour.steered():
		return fmt.Errorf("server %s runs a real command, which cannot be told how to behave: leave tools=… and exec=… alone on the line", s.Name)
	}
	return nil
}

func (c *checker) change(x Change) error {
	if err := c.steerable(x.Server); err != nil {
		return err
	}
	for _, e := range x.Edits {
		if e.Key == "exec" {
			return fmt.Errorf("server %s cannot become another program: introduce a second server", x.Server)
		}
	}
	return nil
}

// steerable checks a server that a line wants to direct, or to hear of its calls.
func (c *checker) steerable(name string) error {
	if err := c.server(name); err != nil {
		return err
	}
	if c.servers[name].real {
		return fmt.Errorf("server %s runs a real command: it can be killed and counted, nothing else", name)
	}
	return nil
}

func (c *checker) server(name string) error {
	if c.servers[name] == nil {
		return fmt.Errorf("there is no server %s%s: introduce it above with `server %s`", name, suggest(name, c.serverOrder), name)
	}
	return nil
}

// token checks a server and a token that some claim above pairs with it.
func (c *checker) token(server, token string) error {
	if err := c.server(server); err != nil || token == "" {
		return err
	}
	if s := c.servers[server]; !slices.Contains(s.tokens, token) {
		return fmt.Errorf("no claim above has server %s with token=%s%s", server, token, suggest(token, s.tokens))
	}
	return nil
}

func (c *checker) barrier(command Command) error {
	var name string
	var point Point
	switch x := command.(type) {
	case Hold:
		name, point = x.Server, x.Point
	case Release:
		name, point = x.Server, x.Point
	case AwaitPoint:
		name, point = x.Server, x.Point
	}
	if err := c.steerable(name); err != nil {
		return err
	}
	s := c.servers[name]
	held := slices.Contains(s.held, point) || point == "" && len(s.held) > 0
	switch command.(type) {
	case Hold:
		if held {
			return fmt.Errorf("server %s is already held at %s: release it first", name, point)
		}
		s.held = append(s.held, point)
	case Release:
		if !held {
			return fmt.Errorf("server %s is not held there: write `hold %s POINT` above", name, name)
		}
		s.held = slices.DeleteFunc(s.held, func(p Point) bool { return point == "" || p == point })
	case AwaitPoint:
		if !held {
			return fmt.Errorf("server %s never stops at %s: write `hold %s %s` above", name, point, name, point)
		}
	}
	return nil
}

func (c *checker) newAgent(name string) error {
	switch {
	case c.agents[name] != nil:
		return fmt.Errorf("agent %s exists already: choose another name", name)
	case len(c.agentOrder) == MaxAgents:
		return fmt.Errorf("more than %d agents: that is the bound of one file", MaxAgents)
	}
	c.agents[name] = &agentNames{}
	c.agentOrder = append(c.agentOrder, name)
	return nil
}

func (c *checker) agent(name string) error {
	if c.agents[name] != nil {
		return nil
	}
	if slices.Contains(c.agentOrder, name) {
		return fmt.Errorf("agent %s was removed or renamed above: introduce it again with `agent %s`", name, name)
	}
	return fmt.Errorf("there is no agent %s%s: introduce it above with `agent %s`", name, suggest(name, c.agentOrder), name)
}

// mcp checks a name that the agent declared at some time; the claim may be gone.
func (c *checker) mcp(agent, mcp string) error {
	if err := c.agent(agent); err != nil {
		return err
	}
	if names := c.agents[agent].mcps; !slices.Contains(names, mcp) {
		return fmt.Errorf("agent %s never declared %s%s: write `declare %s %s SERVER` above", agent, mcp, suggest(mcp, names), agent, mcp)
	}
	return nil
}

func (c *checker) claim(agent, mcp string, t Target) error {
	if err := c.agent(agent); err != nil {
		return err
	}
	if err := c.server(t.Server); err != nil {
		return err
	}
	for i, e := range t.Env {
		if slices.ContainsFunc(t.Env[:i], func(o EnvVar) bool { return o.Key == e.Key }) {
			return fmt.Errorf("variable %s is there twice: write it once", e.Key)
		}
	}
	a, s := c.agents[agent], c.servers[t.Server]
	if !slices.Contains(a.mcps, mcp) {
		a.mcps = append(a.mcps, mcp)
	}
	if t.Token != "" && !slices.Contains(s.tokens, t.Token) {
		s.tokens = append(s.tokens, t.Token)
	}
	return nil
}

func (c *checker) remove(name string) error {
	err := c.agent(name)
	delete(c.agents, name)
	return err
}

func (c *checker) rename(r Rename) error {
	if err := c.agent(r.Agent); err != nil {
		return err
	}
	moved := c.agents[r.Agent]
	if err := c.newAgent(r.To); err != nil {
		return err
	}
	c.agents[r.To] = moved
	delete(c.agents, r.Agent)
	return nil
}

func (c *checker) operation(op Operation) error {
	switch x := op.(type) {
	case Call:
		return c.agent(x.Agent)
	case List:
		return c.agent(x.Agent)
	case Reconnect:
		return c.mcp(x.Agent, x.MCP)
	case Upsert:
		return c.claim(x.Agent, x.MCP, x.Target)
	case WriteOff:
		return c.mcp(x.Agent, x.MCP)
	}
	panic(fmt.Sprintf("SCN-2: operation %T has no check", op))
}

func (c *checker) start(s Start) error {
	names := s.Calls.Names()
	for _, name := range names {
		if c.calls[name] != nil {
			return fmt.Errorf("call %s was started above: choose another name", name)
		}
		if len(c.callOrder) == MaxCalls {
			return fmt.Errorf("more than %d named calls: that is the bound of one file", MaxCalls)
		}
		c.calls[name] = s.Op
		c.callOrder = append(c.callOrder, name)
	}
	c.latest = s.Op
	return c.operation(s.Op)
}

// known checks that every call of a range was started.
func (c *checker) known(calls Calls) error {
	for _, name := range calls.Names() {
		if c.calls[name] == nil {
			return fmt.Errorf("call %s was never started%s: write `start %s: call AGENT TOOL` above", name, suggest(name, c.callOrder), name)
		}
	}
	return nil
}

func (c *checker) expect(e Expect) error {
	q := e.Query
	switch q.Kind {
	case Status, Tools, Claims, InFlight, Told, Generation, WrittenOff:
		return c.mcp(q.Agent, q.MCP)
	case Events, Reasons:
		return c.events(q.Agent, e.Want)
	case Replays:
		return c.agent(q.Agent)
	case Order:
		return c.order(q.Server, e.Want)
	case Peers:
		return nil
	case Spawns, Running:
		return c.token(q.Server, q.Token)
	case Arrived:
		if err := c.steerable(q.Server); err != nil {
			return err
		}
		return c.token(q.Server, q.Token)
	case Result, Credential, Refusal, Retry:
		return c.outcome(e)
	}
	panic(fmt.Sprintf("SCN-2: query %q has no check", q.Kind))
}

func (c *checker) events(agent, want string) error {
	if err := c.agent(agent); err != nil || want == None {
		return err
	}
	words := strings.Fields(want)
	for _, w := range words {
		mcp, _, _ := strings.Cut(w, ":")
		if err := c.mcp(agent, mcp); err != nil {
			return err
		}
	}
	if sorted := groupEvents(words); sorted != want {
		return fmt.Errorf("events of different MCPs have no order among them: sort them by MCP, `= %s`", sorted)
	}
	return nil
}

// order checks that the calls of an order were started.
func (c *checker) order(server, want string) error {
	if err := c.steerable(server); err != nil || want == None {
		return err
	}
	for name := range strings.FieldsSeq(want) {
		if err := c.known(Calls{First: name}); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) outcome(e Expect) error {
	if c.latest == nil {
		return fmt.Errorf("%s asks for an operation, and there is none above", e.Query.Kind)
	}
	if err := c.known(e.Calls); err != nil || e.Query.Kind != Credential {
		return err
	}
	asked := []Operation{c.latest}
	if names := e.Calls.Names(); len(names) > 0 {
		asked = asked[:0]
		for _, name := range names {
			asked = append(asked, c.calls[name])
		}
	}
	for _, op := range asked {
		if _, ok := op.(Call); !ok {
			return fmt.Errorf("`%v` carries no credential to a tool: ask about a call", op)
		}
	}
	return nil
}
