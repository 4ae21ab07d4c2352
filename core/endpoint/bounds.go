package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// maxBatch is the largest number of messages in one request: all are at work at once. Version
// 2025-03-26 alone has batches.
const maxBatch = 100

// overlong reports that a request is a batch of too many. It reads no more of another body than
// where that begins.
func (e *Endpoint) overlong(w http.ResponseWriter, r *http.Request) bool {
	type body struct {
		io.Reader
		io.Closer
	}
	limited := http.MaxBytesReader(w, r.Body, e.cfg.MaxBody)
	start := bufio.NewReader(limited)
	r.Body = body{start, limited}
	for {
		c, err := start.ReadByte()
		if err != nil {
			return false // the SDK meets it, too
		}
		if !strings.ContainsRune(" \t\r\n", rune(c)) {
			_ = start.UnreadByte()
			if c != '[' {
				return false
			}
			break
		}
	}
	data, err := io.ReadAll(start)
	if err != nil {
		r.Body = body{io.MultiReader(bytes.NewReader(data), start), limited}
		return false
	}
	r.Body = body{bytes.NewReader(data), limited}
	var batch []json.RawMessage
	return json.Unmarshal(data, &batch) == nil && len(batch) > maxBatch
}

// crowded reports that a tenant has as many sessions as it may.
func (s *Scope) crowded() bool {
	n := 0
	for session := range s.server.Sessions() {
		if session.ID() != "" {
			n++
		}
	}
	return n >= s.endpoint.cfg.MaxSessions
}
