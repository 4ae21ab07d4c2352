// Package llm is a model endpoint without a model: it speaks the Anthropic Messages API as
// far as an agent loop needs it (WIRE.md §7.6, §7.7), and does what the user message says.
//
// The message carries a plan: rounds of parallel calls of the `mcp` meta-tool. The endpoint
// is a pure function of the request. It counts the tool rounds that follow the last plan in
// the conversation, answers with the next round, and after the last with a text that
// repeats every tool result, one per line. So a runner can drive an agent to call exactly
// what it wants, concurrently and without a request id.
//
//	srv, err := llm.Start(llm.Config{})
//	defer srv.Close()
//	... configure the daemon with srv.URL ...
//	content := llm.Plan(llm.Round{llm.Call("echo", map[string]any{"text": "x"})})
//
// Promised: loopback only, safe for concurrent requests, the wire bytes of WIRE.md, and a
// Close that ends hanging requests too. Not promised: token counts, prompts, dialects other
// than Anthropic's.
package llm
