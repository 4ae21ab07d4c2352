package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"strings"
)

// maxLine bounds a line of the results that is read. The longest are the sums of a block.
const maxLine = 1 << 20

// line is what is kept of one seed.
type line struct {
	Seed       uint64 `json:"seed"`
	Steps      uint64 `json:"steps"`
	Events     uint64 `json:"events"`
	Hash       string `json:"hash"`
	Cells      int    `json:"cells"`   // of coverage, that it reached
	Reached    string `json:"reached"` // situations, as bits
	Violation  string `json:"violation,omitempty"`
	Shape      string `json:"shape,omitempty"`      // of the small tape, if it was shrunk
	Divergence string `json:"divergence,omitempty"` // what the guard did otherwise
}

// block is some seeds in a row, and their sums.
type block struct {
	n     uint64 // from 0
	lines []line
	sums  *Totals
	err   error
}

var crcTable = crc64.MakeTable(crc64.ECMA)

// The last line of a block ends with its checksum, over all bytes of the block before this key.
const crcKey, crcTail = `,"crc":"`, "\"}\n"

// encode returns the bytes of a block as they stand in the file.
func (b *block) encode() []byte {
	var out bytes.Buffer
	for i := range b.lines {
		out.Write(marshal(&b.lines[i]))
		out.WriteByte('\n')
	}
	last := marshal(struct {
		Block uint64 `json:"block"`
		sums
	}{b.n, b.sums.sums()})
	out.Write(last[:len(last)-1])
	sum := crc64.Checksum(out.Bytes(), crcTable)
	fmt.Fprintf(&out, "%s%016x%s", crcKey, sum, crcTail)
	return out.Bytes()
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("CAMPAIGN-1: plain data does not encode: " + err.Error())
	}
	return b
}

// decode reads the block n, of the seeds from from to before to, and says whether it is whole.
func decode(text []byte, n, from, to uint64) (*block, error) {
	body, found := bytes.CutSuffix(text, []byte(crcTail))
	at := bytes.LastIndex(body, []byte(crcKey))
	if !found || at < 0 {
		return nil, fmt.Errorf("block %d is torn", n)
	}
	if want := fmt.Sprintf("%016x", crc64.Checksum(body[:at], crcTable)); string(body[at+len(crcKey):]) != want {
		return nil, fmt.Errorf("block %d is damaged: its checksum is not %s", n, want)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[:len(lines)-1] // behind the last newline
	last := struct {
		Block uint64 `json:"block"`
		sums
	}{}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || uint64(len(lines)) != to-from+1 {
		return nil, fmt.Errorf("block %d is not the seeds from %d to %d", n, from, to-1)
	}
	t, err := last.totals()
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", n, err)
	}
	b := &block{n: n, sums: t, lines: make([]line, to-from)}
	for i := range b.lines {
		if err := json.Unmarshal([]byte(lines[i]), &b.lines[i]); err != nil || b.lines[i].Seed != from+uint64(i) {
			return nil, fmt.Errorf("block %d: line %d is not seed %d", n, i+1, from+uint64(i))
		}
	}
	return b, nil
}
