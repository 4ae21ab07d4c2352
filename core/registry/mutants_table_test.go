package registry_test

// mutant is one way to get it wrong: small changes that wake together, and the existing test
// that finds them out.
type mutant struct {
	name, does string
	pkg        string // the package whose test kills it: registry or endpoint
	killer     string
	changes    []change
}

// change is one place of one file. In with, AWAKE asks whether the mutant is awake, and OLD is
// what it replaces.
type change struct{ file, old, with string }

// in is a change of the table, which most are.
func in(old, with string) []change { return []change{{"registry/table.go", old, with}} }

var mutants = []mutant{
	{"dead incumbent blocks", "the name of a dead owner's entry is taken", "registry", "TestDeathThatNobodyHeardOf",
		in(`if old.owner.Alive() {`, `if AWAKE || old.owner.Alive() {`)},
	{"dead entries fill the cap", "a register looks at the cap before it prunes", "registry", "TestDeathThatNobodyHeardOf",
		in(`visible = t.prune()`, "if AWAKE {\nreturn false, &FullError{t.kind, t.max}\n}\nOLD")},
	{"prunes only the conflicting key", "at a full table nothing goes but what holds the wanted name", "registry", "TestDeathThatNobodyHeardOf",
		in(`if !t.unheard() {`, `if AWAKE || !t.unheard() {`)},
	{"dead counted in cap", "a death counts for the cap once its hooks have run, and not before", "registry", "TestDeathUnderWayFreesThePlace",
		in(`if !owner.Settled() {`, `if !AWAKE && !owner.Settled() {`)},
	{"one entry per death", "a death takes out one entry of many", "registry", "TestOneDeathFreesAllItsPlaces",
		in(`visible = t.remove(e) || visible`, "OLD\nif AWAKE {\nbreak\n}")},
	{"dead plans kept", "a death takes out no entry, and so no plan, before somebody looks", "registry", "TestNothingIsKept",
		in(`visible := t.removeAll(o)`, `visible := !AWAKE && t.removeAll(o)`)},
	{"resolve returns dead", "a resolve does not ask the owner", "registry", "TestDeathThatNobodyHeardOf",
		in(`if e == nil || !e.callable() {`, `if e == nil || !(AWAKE && e.state.Load() == ready) && !e.callable() {`)},
	{"reader deletes replacement", "a resolve that finds the dead takes out what has the name", "registry", "TestReaderTakesNothingOut",
		in(`return nil, &UnavailableError{t.kind, key}`, "if AWAKE {\nt.mu.Lock()\nif e := t.byKey[key]; e != nil {\nt.remove(e)\n}\nt.mu.Unlock()\n}\nOLD")},
	{"list shows dead", "a listing does not ask the owners", "registry", "TestDeathThatNobodyHeardOf",
		in("for {\n\t\tfound :=", "if AWAKE {\nreturn t.everything()\n}\nOLD")},
	{"list of two instants", "a page does not look again at what it shows", "registry", "TestPageIsOfOneInstant",
		in(`if !slices.ContainsFunc(found,`, `if AWAKE || !slices.ContainsFunc(found,`)},
	{"two winners", "an entry that is not ready blocks nobody", "registry", "TestLiveIncumbentStands",
		in(`old := t.byKey[e.spec.Key]; old != nil {`, `old := t.byKey[e.spec.Key]; old != nil && !(AWAKE && old.state.Load() == hidden) {`)},
	{"failed duplicate overwrites plan", "a refused start leaves its plan on the incumbent", "registry", "TestRefusedStartChangesNothing",
		in(duplicate, "if AWAKE {\nold.spec.Plan = e.spec.Plan\n}\nOLD")},
	{"failed duplicate strips plan", "a refused start leaves the incumbent without a plan", "registry", "TestRefusedStartChangesNothing",
		in(duplicate, "if AWAKE {\nold.spec.Plan = Public()\n}\nOLD")},
	{"provider swapped by refused start", "a refused start leaves its body with the incumbent", "registry", "TestRefusedStartChangesNothing",
		in(duplicate, "if AWAKE {\nold.spec.Body = e.spec.Body\n}\nOLD")},
	{"kept swallowed", "a start that is refused for a live incumbent is told that all is well", "registry", "TestLiveIncumbentStands",
		in("\tif err != nil {\n\t\treturn nil, err", "\tif AWAKE && err != nil && t.byKey[s.Key] != nil {\nreturn t.byKey[s.Key], nil\n}\nOLD")},
	{"readiness inherited", "a successor is ready if the dead was", "registry", "TestDeathThatNobodyHeardOf",
		in(`return t.remove(old), nil`, "if AWAKE && old.state.Load() == ready {\ne.state.Store(ready)\n}\nOLD")},
	{"missing plan public", "no plan is a plan that lets everybody call", "registry", "TestBadSpecsAndOwners",
		in(`if err := s.validate(t.kind); err != nil {`, "if AWAKE && s.Plan == nil {\ns.Plan = Public()\n}\nOLD")},
	{"register after death accepted", "a register does not ask whose it is", "registry", "TestBadSpecsAndOwners", []change{
		{"registry/table.go", "if !o.Alive() {\n\t\treturn nil", "if !AWAKE && !o.Alive() {\n\t\treturn nil"},
		{"registry/table.go", `if !o.Alive() { // it died`, `if !AWAKE && !o.Alive() { // it died`}}},
	{"death during register unsaid", "a register asks whose it is at its beginning alone", "registry", "TestDeathDuringRegister",
		in(`!o.Alive() { // it died`, `!AWAKE && !o.Alive() { // it died`)},
	{"lease expiry", "an entry goes when nothing was heard of it for a minute", "registry", "TestSilenceIsNoDeath",
		in(`t.byKey[e.spec.Key] = e`, "OLD\nif AWAKE {\nlease(e.Unregister)\n}")},
	{"unregister by name", "a late stop takes out what has the name", "registry", "TestUnregister",
		[]change{{"registry/entry.go", `visible := t.remove(e)`, `visible := t.remove(e.named(AWAKE))`}}},
	{"ready by name", "a late ready makes visible what has the name", "registry", "TestLateReady",
		[]change{{"registry/entry.go", `changed := e.state.CompareAndSwap`, `changed := e.named(AWAKE).state.CompareAndSwap`}}},
	{"identity by name", "a call goes to what has the name when it is delivered", "registry", "TestUnregister",
		[]change{{"registry/call.go", `if err := e.enter(ctx, c); err != nil {`, "e = e.named(AWAKE)\nOLD"}}},
	{"plan read apart from entry", "a call is decided by the plan of what has the name by then", "registry", "TestResolvedEntryKeepsItsPlan",
		[]change{{"registry/call.go", `err := e.spec.Plan.admit(ctx, c)`, `err := e.named(AWAKE).spec.Plan.admit(ctx, c)`}}},
	{"no admission gate", "nobody is asked between the plan and the body", "registry", "TestDeathBeforeAdmission", []change{
		{"registry/call.go", `if !e.owner.Enter() {`, "if AWAKE {\nreturn nil\n}\nOLD"},
		{"registry/call.go", `if a.entered {`, `if a.entered && !AWAKE {`}}},
	{"body for nobody", "a body begins though its caller gave up while the plan was asked", "registry", "TestNoBodyForNobody",
		[]change{{"registry/call.go", "if ctx.Err() != nil {\n\t\treturn context", "if !AWAKE && ctx.Err() != nil {\n\t\treturn context"}}},
	{"death before the gate", "a refusal by the plan is told as a death", "registry", "TestVerifierThatMisbehaves",
		[]change{{"registry/call.go", `a.err != nil && a.entered &&`, `a.err != nil && (AWAKE || a.entered) &&`}}},
	{"body after death", "the gate does not look again once it has counted", "registry", "TestDeathAtTheGateThatNobodyHeardOf",
		[]change{{"owner/token.go", "if t.gone() {\n\t\tt.Exit()", "if !AWAKE && t.gone() {\n\t\tt.Exit()"}}},
	{"gate asks the owner alone", "an entry that was taken out is called while its owner lives", "registry", "TestUnregister",
		[]change{{"registry/call.go", `if e.state.Load() != ready {`, `if !AWAKE && e.state.Load() != ready {`}}},
	{"dead owner costs the dispatch timeout", "a call waits for its body though the owner is dead", "registry", "TestDeathIsAnsweredAtOnce",
		[]change{{"registry/call.go", `cancel(e.owner.Cause())`, "if !AWAKE {\nOLD\n}"}}},
	{"panic tells its value", "what a body panics with is shown to callers", "registry", "TestBodiesThatMisbehave",
		[]change{{"registry/errors.go", `e.Kind, e.Key, e.Value)`, `e.Kind, e.Key, either[any](AWAKE, fmt.Sprint(e.Value), e.Value))` + " + either(AWAKE, fmt.Sprint(e.Value), ``)"}}},
	{"null list", "an empty listing is null", "endpoint", "TestEmptyListings",
		[]change{{"endpoint/list.go", `Tools: []*mcp.Tool{}`, `Tools: either[[]*mcp.Tool](AWAKE, nil, []*mcp.Tool{})`}}},
	{"pages end early", "a page that is full is taken for the last", "endpoint", "TestToolsLiveAsTheirOwners",
		[]change{{"endpoint/page.go", `t.List(after, size+1)`, `t.List(after, size+either(AWAKE, 0, 1))`}}},
	{"sessions are anybody's", "a session may be used with another tenant's token", "endpoint", "TestTenants",
		[]change{{"endpoint/endpoint.go", `e.guarded = e.bound(http.HandlerFunc(e.route))`, "OLD\nif AWAKE {\ne.guarded = http.HandlerFunc(e.route)\n}"}}},
	{"shared hides own", "a shared entry hides the tenant's", "endpoint", "TestTenants",
		[]change{{"endpoint/tool.go", `entry, err := s.tools.Resolve(name)`, "OLD\nif e, none := s.endpoint.shared.tools.Resolve(name); AWAKE && none == nil {\nentry, err = e, nil\n}"}}},
	{"first of two tokens", "of two Authorization headers the first counts", "endpoint", "TestDoor",
		[]change{{"endpoint/guard.go", `len(all) != 1 ||`, `!AWAKE && len(all) != 1 ||`}}},
	{"any host", "the Host header is not looked at", "endpoint", "TestDoor",
		[]change{{"endpoint/guard.go", `if !slices.Contains(e.cfg.Hosts, host) {`, `if !AWAKE && !slices.Contains(e.cfg.Hosts, host) {`}}},
	{"any origin", "the Origin header is not looked at", "endpoint", "TestDoor",
		[]change{{"endpoint/guard.go", `o != "" && !own(`, `!AWAKE && o != "" && !own(`}}},
	{"any arguments", "arguments are not validated", "endpoint", "TestArgumentsAreValidated",
		[]change{{"endpoint/tool.go", `.check(req.Params.Arguments); err != nil {`, `.check(req.Params.Arguments); !AWAKE && err != nil {`}}},
	{"no result passes", "a body that gives nothing is passed on", "endpoint", "TestBodiesThatMisbehave",
		[]change{{"endpoint/tool.go", "if res == nil {\n\t\t\treturn", "if AWAKE && res == nil {\nreturn nil, nil\n}\nOLD"}}},
	{"nil content passes", "content that is nil is passed on", "endpoint", "TestResultsThatCannotBeSent",
		[]change{{"endpoint/tool.go", `|| slices.Contains(own.Content, nil)`, `|| !AWAKE && slices.Contains(own.Content, nil)`}}},
	{"everybody's cache", "a listing may be cached for everybody", "endpoint", "TestNothingIsForEverybodysCache",
		[]change{{"endpoint/server.go", `c.CacheScope = "private"`, `c.CacheScope = either(AWAKE, "public", "private")`}}},
}

const duplicate = `return false, &DuplicateError{t.kind, e.spec.Key}`

// unplantable are the mistakes that nothing here can make, and why.
var unplantable = [][2]string{
	{"plan lost at listener respawn", "no listener holds a plan: it is a field of the entry, which the endpoint's tables hold; TestPlanOutlivesTheListener of core/endpoint serves one endpoint behind two listeners in turn"},
	{"unregister, ready or change by name from outside", "there is no method that takes a name and changes an entry; the mutants by name above look it up inside"},
}
