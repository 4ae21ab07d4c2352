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
)

var kinds = []string{
	string(Status), string(Tools), string(Events), string(Spawns),
	string(Running), string(Arrived), string(Result), string(Credential),
}

// None is the answer of a query that found nothing: no event, no credential.
const None = "-"

// The words of the answers.
var (
	statusWords = []string{"unknown", "disconnected", "connecting", "connected", "failed"}
	eventWords  = []string{"connecting", "connected", "failed", "disconnected"}
	resultWords = []string{"ok", "rejected", "transport", "refused", "failed", "cancelled", "pending"}
)

// Query is one question to a world. Only the fields that its kind needs are set:
//
//	Status, Tools               Agent, MCP
//	Events                      Agent
//	Spawns, Running, Arrived    Server, and Token when only that credential counts
//	Result, Credential          Call
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
	if k == Events {
		return checkEvents(words)
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
	case Tools, Spawns, Running, Arrived:
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
	case Tools, Spawns, Running, Arrived:
		return "a number"
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
	}
	return "expect running S = 1"
}

func checkEvents(words []string) error {
	if len(words) == 1 && words[0] == None {
		return nil
	}
	for _, w := range words {
		mcp, kind, ok := strings.Cut(w, ":")
		if !ok {
			return fmt.Errorf("%q is not an event: write MCP:EVENT such as m1:connected, or - for none", w)
		}
		if err := checkName("MCP", mcp); err != nil {
			return err
		}
		if !slices.Contains(eventWords, kind) {
			return fmt.Errorf("there is no event %q%s: write MCP:%s", kind, suggest(kind, eventWords), strings.Join(eventWords, "|"))
		}
	}
	return nil
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
