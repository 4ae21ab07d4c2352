// Package endpoint serves registries over MCP, by streamable HTTP.
//
// An [Endpoint] has one shared [Set] of tables, whose entries everybody sees, and a [Scope]
// for each tenant, whose entries only those see who come with the tenant's token. Entries
// come and go with their owners (package registry); a client sees them in listings, and is
// told by list_changed.
//
//	ep := endpoint.New(endpoint.Config{Name: "mayfly", Tenant: tenantOf})
//	defer ep.Close()
//	entry, err := ep.Shared().AddTool(o.Token, endpoint.Tool{Tool: t, Plan: registry.Public(), Body: search})
//	err = entry.Ready()
//	err = http.Serve(loopback, ep)
//
// # What is checked, in order
//
// The Host header must name this server and an Origin, if there is one, must be allowed; the
// body has a bound; a token that Config.Tenant rejects is 401; a session belongs to the
// tenant that opened it. Then the entry's own plan decides about the call, and the gate at
// delivery (SPEC OL-38, OL-45). Arguments are validated against the tool's schema before the
// body sees them.
//
// # Protocol
//
// Requests of version 2026-07-28 and later are served without sessions, older ones with.
// Everything that has a name which is not there now, for whatever reason, has the same error
// (SPEC OL-48): -32602. A plan that denies is -32000. A body that panics, returns nothing, or
// what cannot be written as JSON, or exits its goroutine, and an owner that dies during a call,
// give -32603, and cost nobody else anything (SPEC OL-49).
//
// A client that goes away ends its calls of version 2026-07-28. In older ones a lost connection
// is no cancellation: notifications/cancelled and the end of the session are.
//
// # Promises
//
//   - An empty listing is [], never null. Pages go on after the last name that was shown: what
//     is there throughout is shown exactly once (SPEC OL-23).
//   - Within Config.Debounce of the last visible change one list_changed is sent to every
//     session that can see it (SPEC OL-54).
//   - All methods may be called concurrently.
//   - Tokens are in no log and no error.
//   - A session that is ended, by [Scope.Disconnect], [Scope.Close] or [Endpoint.Close], has
//     answered the requests that were in progress on it before.
//
// # Not promised
//
//   - An entry of a scope hides a shared one of the same name. One that may be there after a
//     refresh does so as well, see [Scope.Doubt].
//   - Versions before 2026-07-28 keep a session per client until it is deleted, is idle for
//     Config.SessionTimeout, or the endpoint closes. The SDK's clock measures that.
//   - Prompts, completions and subscriptions to single resources are not served, and a stream
//     that was lost is not resumed.
package endpoint
