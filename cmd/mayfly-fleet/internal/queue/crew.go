package queue

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// MaxCrew bounds how many workers are remembered of one campaign.
const MaxCrew = 1024

// Member is a worker that was seen with a job of a campaign. Jobs and Seeds are all that it did since it started.
type Member struct {
	ID    string    `json:"id"`
	Host  string    `json:"host"`
	Build string    `json:"build"`
	Slots int       `json:"slots"`
	Jobs  uint64    `json:"jobs"`
	Seeds uint64    `json:"seeds"`
	Last  time.Time `json:"last"`
}

// AddCrew remembers workers of a campaign, for the time after they have left. Of one that is known the later
// word stays. Those beyond MaxCrew are left out.
func (q *Queue) AddCrew(ctx context.Context, id string, more []Member) error {
	all, err := q.Crew(ctx, id)
	if err != nil || len(more) == 0 {
		return err
	}
	return q.put(ctx, id+".crew", enlist(all, more))
}

// enlist adds to a crew, which is sorted by name.
func enlist(all, more []Member) []Member {
	for _, m := range more {
		i, known := slices.BinarySearchFunc(all, m, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
		switch {
		case known && !m.Last.Before(all[i].Last):
			all[i] = m
		case !known && len(all) < MaxCrew:
			all = slices.Insert(all, i, m)
		}
	}
	return all
}

// Crew are the workers that were seen with jobs of a campaign, by name.
func (q *Queue) Crew(ctx context.Context, id string) (all []Member, err error) {
	_, err = q.get(ctx, id+".crew", &all)
	return all, err
}
