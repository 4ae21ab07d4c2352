package daemon

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/mayfly-mcp/mayfly/core"
	"github.com/mayfly-mcp/mayfly/core/wire/pb"
)

// maxPage bounds the rows of one page, in bytes, unless the first of them is longer. It is
// far below what a frame may hold, since a connection keeps one page in memory.
const maxPage = 4 << 20

// A token of a page names the last row that was shown, so that rows which come and go
// meanwhile move no other one: the name of the agent and, for declarations, its place and its
// name. No name of an agent holds a control character.
const tokenBreak = "\n"

// pager collects the rows of one page.
type pager[R proto.Message] struct {
	rows  []R
	limit int // of rows; 0 is none, and then bytes are not counted either
	bytes int
}

func newPager[R proto.Message](size uint32) *pager[R] { return &pager[R]{limit: int(size)} }

// take adds a row, or reports that the page is full.
func (p *pager[R]) take(row R) bool {
	n := proto.Size(row)
	if p.limit > 0 && len(p.rows) > 0 && (len(p.rows) >= p.limit || p.bytes+n > maxPage) {
		return false
	}
	p.rows, p.bytes = append(p.rows, row), p.bytes+n
	return true
}

// listAgents lists every agent, or a page of them.
func (d *Daemon) listAgents(m *pb.ListAgentsMsg) (proto.Message, error) {
	p, next := newPager[*pb.AgentInfo](m.PageSize), ""
	for _, r := range d.agents.from(m.PageToken) {
		if r.name == m.PageToken {
			continue
		}
		if !p.take(agentInfo(r, true)) {
			next = p.rows[len(p.rows)-1].Name
			break
		}
	}
	return &pb.AgentList{Agents: p.rows, NextPageToken: next}, nil
}

// from lists the agents from a name on, in the order of names.
func (as *agents) from(name string) []*record {
	all := as.records()
	at, _ := slices.BinarySearchFunc(all, name, func(r *record, name string) int { return strings.Compare(r.name, name) })
	return all[at:]
}

// mcpCursor is a token for declarations, read.
type mcpCursor struct {
	agent string // the name of the agent of the last row
	place int    // of the last row in its list
	mcp   string // its name
}

func (c mcpCursor) token() string {
	return c.agent + tokenBreak + strconv.Itoa(c.place) + tokenBreak + c.mcp
}

var errPageToken = refuse(codeFailed, "page_token is none that this daemon gave; leave it out for the first page")

func parseCursor(token string) (c mcpCursor, err error) {
	if token == "" {
		return c, nil
	}
	parts := strings.SplitN(token, tokenBreak, 3)
	if len(parts) < 3 {
		return c, errPageToken
	}
	if c.place, err = strconv.Atoi(parts[1]); err != nil || c.place < 0 || parts[0] == "" {
		return c, errPageToken
	}
	c.agent, c.mcp = parts[0], parts[2]
	return c, nil
}

// rest is where the rows of an agent go on: behind the last one that was shown, wherever it is
// now, or else at its place, where its successor is.
func (c mcpCursor) rest(rows []*pb.McpInfo) int {
	if i := slices.IndexFunc(rows, func(m *pb.McpInfo) bool { return m.Name == c.mcp }); i >= 0 {
		return i + 1
	}
	return min(c.place, len(rows))
}

// listMcps lists the declarations of an agent, or of all of them, or a page of either.
func (d *Daemon) listMcps(m *pb.ListMcpsMsg) (proto.Message, error) {
	from, err := parseCursor(m.PageToken)
	if err != nil {
		return nil, err
	}
	p := &mcpPage{pager: newPager[*pb.McpInfo](m.PageSize)}
	if m.Usage {
		defer func() { d.measure(p.rows) }()
	}
	if m.Agent != "" {
		a, r, err := d.agents.lookup(m.Agent)
		if err != nil {
			return nil, err
		}
		from.agent = r.name // whatever it was called a page ago
		return p.answer(p.add(d.agents.rows(a), r.name, from)), nil
	}
	for _, r := range d.agents.from(from.agent) {
		a, err := d.agents.find(r.id)
		if err != nil {
			continue // it was deleted meanwhile
		}
		if full := p.add(d.agents.rows(a), r.name, from); full {
			return p.answer(full), nil
		}
	}
	return p.answer(false), nil
}

// mcpPage collects the declarations of one page, and remembers the last of them.
type mcpPage struct {
	*pager[*pb.McpInfo]
	last mcpCursor
}

// add takes the rows of an agent that come behind a cursor, and reports whether the page was
// full before the last of them.
func (p *mcpPage) add(rows []*pb.McpInfo, agent string, from mcpCursor) (full bool) {
	at := 0
	if from.agent == agent && from.mcp != "" {
		at = from.rest(rows)
	}
	for i := at; i < len(rows); i++ {
		if !p.take(rows[i]) {
			return true
		}
		p.last = mcpCursor{agent: agent, place: i, mcp: rows[i].Name}
	}
	return false
}

func (p *mcpPage) answer(more bool) *pb.McpList {
	list := &pb.McpList{Mcps: p.rows}
	if more {
		list.NextPageToken = p.last.token()
	}
	return list
}

// measure adds to rows what the processes of their peers take now.
func (d *Daemon) measure(rows []*pb.McpInfo) {
	taken := map[string]core.PeerUsage{}
	for _, u := range d.host.Usage() {
		taken[u.Peer] = u
	}
	for _, row := range rows {
		if u, known := taken[row.Peer]; known && row.Generation == uint32(u.Generation) {
			row.CpuMs, row.RssBytes, row.Processes = millis(u.CPU), uint64(u.RSS), uint32(u.Processes)
		}
	}
}
