package jobs

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mayfly-mcp/mayfly/sim/guided"
)

// A search is shared as it stands at the beginning of each round, under a key of the round that is written once: whoever
// leads comes to the same. Of rounds that are over, an empty value stays.

const roundKey = "round."

func keyOf(round uint64) string { return roundKey + strconv.FormatUint(round, 10) }

// save shares a search at the beginning of a round, and empties the value of two rounds before. Jobs of the round just
// before it may still be handed out a second time.
func save(ctx context.Context, share Share, round uint64, s *guided.Search) error {
	if share == nil {
		return nil
	}
	text, err := s.Encode()
	if err != nil {
		return err
	}
	if _, err = share.Add(ctx, keyOf(round), packed(text)); err != nil || round < 2 {
		return err
	}
	return share.Put(ctx, keyOf(round-2), nil)
}

// load gets the search at the beginning of a round.
func load(ctx context.Context, share Share, round uint64) (*guided.Search, error) {
	if share == nil {
		return nil, fmt.Errorf("the inputs of round %d depend on what others found, and there is nobody to ask", round)
	}
	text, err := share.Get(ctx, keyOf(round))
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("round %d of the search is over, or was never begun: nothing is to be run of it", round)
	}
	s, err := unpacked(text)
	if err == nil && s.Progress().Rounds != round {
		err = fmt.Errorf("what is shared as round %d is round %d", round, s.Progress().Rounds)
	}
	return s, err
}

// latest is the search that is farthest, and a new one if none is shared.
func (p *guidedPlan) latest(ctx context.Context, share Share) (*guided.Search, error) {
	last, keys := uint64(0), []string(nil)
	var err error
	if share != nil {
		keys, err = share.Keys(ctx)
	}
	for _, k := range keys {
		if n, err := strconv.ParseUint(strings.TrimPrefix(k, roundKey), 10, 64); err == nil {
			last = max(last, n)
		}
	}
	if err != nil {
		return nil, err
	}
	if last == 0 {
		return guided.New(p.Options)
	}
	return load(ctx, share, last)
}

// packed makes a search small enough for a message.
func packed(text []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(text)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		panic("FLEET-2: memory does not take what is packed: " + err.Error())
	}
	return b.Bytes()
}

func unpacked(b []byte) (*guided.Search, error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), guided.MaxState+1))
	if err != nil {
		return nil, fmt.Errorf("a search that was shared cannot be unpacked: %w", err)
	}
	return guided.Decode(text)
}
