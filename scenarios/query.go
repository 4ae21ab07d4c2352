package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a query.
type Kind string

// The kinds. The manual in the package comment says what each answers.
const (
	Status     Kind = "status"
	Tools      Kind = "tools"
	Events     Kind = "events"
	Spawns     Kind = "spawns"
	Running    Kind = "running"
	Arrived    Kind = "calls"
	Result     Kind = "result"
	Credential Kind = "credential"
	Refusal    Kind = "refusal"
	Retry      Kind = "retry"
	Claims     Kind = "claims"
	InFlight   Kind = "inflight"
	Told       Kind = "told"
	Generation Kind = "generation"
	WrittenOff Kind = "written-off"
	Replays    Kind = "replays"
	Reasons    Kind = "reasons"
	Order      Kind = "order"
	Peers      Kind = "peers"
)

var kinds = []string{
	string(Status), string(Tools), string(Events), string(Spawns),
	string(Running), string(Arrived), string(Result), string(Credential),
	string(Refusal), string(Retry), string(Claims), string(InFlight), string(Told), string(Generation),
	string(WrittenOff), string(Replays), string(Reasons), string(Order), string(Peers),
}

// queryWorlds are the worlds that can answer a query, where not all can.
var queryWorlds = map[Kind][]string{
	Refusal: virtual, Retry: virtual, Claims: virtual, InFlight: virtual, Told: virtual, Generation: virtual,
	WrittenOff: virtual, Replays: virtual, Peers: virtual,
	Reasons: pure, Order: pure,
}

// None is the answer of a query that found nothing: no event, no credential.
const None = "-"

// The words of the answers.
var (
	statusWords = []string{"unknown", "disconnected", "connecting", "connected", "failed"}
	eventWords  = []string{"connecting", "connected", "failed", "disconnected"}
	resultWords = []string{"ok", "rejected", "transport", "refused", "failed", "cancelled", "pending"}
	// failureWords say why a peer is Failed, refusalWords why an operation is refused.
	failureWords = []string{"connect", "connect-timeout", "exited", "broken", "transport", "call-timeout"}
	refusalWords = []string{"no-claim", "dead-owner", "failed", "overloaded", "released", "cancelled", "reconnect", "draining", "not-stuck"}
)

// Query is one question to a world. Only the fields that its kind needs are set:
//
//	Status, Tools               Agent, MCP; and so Claims, InFlight, Told, Generation, WrittenOff
//	Events, Reasons, Replays    Agent
//	Spawns, Running, Arrived    Server, and Token when only that credential counts
//	Order                       Server
//	Result, Credential          Call; and so Refusal, Retry
//	Peers                       none
type Query struct {
	Kind       Kind
	Agent, MCP string
	Server     string
	Token      string
	Call       string
}

// String returns the query as written.
func (q Query) String() string {
	return join(string(q.Kind), q.Agent, q.MCP, q.Server, option("token", q.Token), q.Call)
}

// checkValue says what is wrong with a value that a query of this kind can never answer.
func (k Kind) checkValue(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("there is no value behind =: write %s", k.valueForm())
	}
	switch k {
	case Events:
		return checkEvents(words)
	case Reasons:
		return checkMarks(words, "a reason", failureWords)
	case Order:
		return checkOrder(words)
	}
	if len(words) > 1 {
		return fmt.Errorf("%q is more than one word: write %s", strings.Join(words, " "), k.valueForm())
	}
	w := words[0]
	var ok bool
	switch k {
	case Status:
		ok = slices.Contains(statusWords, w)
	case Result:
		ok = slices.Contains(resultWords, w)
	case Refusal:
		ok = checkRefusal(w)
	case Retry:
		d, err := parseDuration(w)
		ok = w == None || err == nil && duration(d) == w
	case Tools, Spawns, Running, Arrived, Claims, InFlight, Told, Generation, WrittenOff, Replays, Peers:
		n, err := strconv.Atoi(w)
		ok = err == nil && n >= 0 && strconv.Itoa(n) == w
	case Credential:
		ok = w == None || checkName("token", w) == nil
	default:
		panic(fmt.Sprintf("SCN-1: query kind %q has no values", k))
	}
	if !ok {
		return fmt.Errorf("%s is never %q: write %s", k, w, k.valueForm())
	}
	return nil
}

// valueForm describes the values of a kind for error messages.
func (k Kind) valueForm() string {
	switch k {
	case Status:
		return strings.Join(statusWords, "|")
	case Result:
		return strings.Join(resultWords, "|")
	case Tools, Spawns, Running, Arrived, Claims, InFlight, Told, Generation, WrittenOff, Replays, Peers:
		return "a number"
	case Refusal:
		return strings.Join(refusalWords, "|") + ", with :" + strings.Join(failureWords, "|") + " behind failed, or - for none"
	case Retry:
		return "a duration such as 1m30s, or - for none"
	case Reasons:
		return "MCP:REASON words such as m1:connect, or - for none"
	case Order:
		return "names of calls such as c1 c2, or - for none"
	case Credential:
		return "a token, or - for none"
	case Events:
		return "MCP:EVENT words such as m1:connecting, or - for none"
	}
	panic(fmt.Sprintf("SCN-1: query kind %q has no values", k))
}

// usage is an example of an expectation of this kind.
func (k Kind) usage() string {
	switch k {
	case Status:
		return "expect status a m1 = connected"
	case Tools:
		return "expect tools a m1 = 2"
	case Events:
		return "expect events a = m1:connecting m1:connected"
	case Spawns, Running, Arrived:
		return "expect " + string(k) + " S = 1"
	case Result:
		return "expect result c1 = ok"
	case Credential:
		return "expect credential = t1"
	case Refusal:
		return "expect refusal c1 = failed:connect"
	case Retry:
		return "expect retry c1 = 4s"
	case Claims, InFlight, Told, Generation, WrittenOff:
		return "expect " + string(k) + " a m1 = 1"
	case Replays:
		return "expect replays a = 0"
	case Reasons:
		return "expect reasons a = m1:connect"
	case Order:
		return "expect order S = c1 c2"
	case Peers:
		return "expect peers = 1"
	}
	return "expect running S = 1"
}

func checkEvents(words []string) error { return checkMarks(words, "an event", eventWords) }

// checkMarks checks words such as m1:connected.
func checkMarks(words []string, what string, set []string) error {
	_, name, _ := strings.Cut(what, " ")
	if len(words) == 1 && words[0] == None {
		return nil
	}
	for _, w := range words {
		mcp, kind, ok := strings.Cut(w, ":")
		if !ok {
			return fmt.Errorf("%q is not %s: write MCP:%s such as m1:%s, or - for none", w, what, strings.ToUpper(name), set[min(1, len(set)-1)])
		}
		if err := checkName("MCP", mcp); err != nil {
			return err
		}
		if !slices.Contains(set, kind) {
			return fmt.Errorf("there is no %s %q%s: write MCP:%s", name, kind, suggest(kind, set), strings.Join(set, "|"))
		}
	}
	return nil
}

// checkOrder checks the names of calls.
func checkOrder(words []string) error {
	if len(words) == 1 && words[0] == None {
		return nil
	}
	for _, w := range words {
		if err := checkName("call", w); err != nil {
			return err
		}
	}
	return nil
}

func checkRefusal(w string) bool {
	why, cause, caused := strings.Cut(w, ":")
	return w == None || slices.Contains(refusalWords, why) && (!caused || why == "failed" && slices.Contains(failureWords, cause))
}

// groupEvents orders event words by MCP and keeps the order within each: events of
// different peers have no order that every world would show.
func groupEvents(words []string) string {
	if len(words) == 0 {
		return None
	}
	grouped := slices.Clone(words)
	slices.SortStableFunc(grouped, func(a, b string) int {
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	return strings.Join(grouped, " ")
}
