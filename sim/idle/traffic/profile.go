package traffic

import (
	"fmt"
	"math"
	"sort"
	"time"
)

const weekHours = 168

// Week weighs the hours of a week, from Monday 00:00, which is when a run starts. Weights are
// relative: what counts is their ratio. The zero Week is flat.
type Week [weekHours]float64

// WorkingHours has ninety percent of its sessions from 9 to 18 h of five days, a tenth as many
// an hour in the evenings from 18 to 23 h, and few at night and on weekends.
func WorkingHours() Week {
	var w Week
	for h := range w {
		hour, weekend := h%24, h/24 >= 5
		switch {
		case !weekend && hour >= 9 && hour < 18:
			w[h] = 1
		case !weekend && hour >= 18 && hour < 23:
			w[h] = 0.1
		default:
			w[h] = 0.025
		}
	}
	return w
}

// clock runs faster in busy hours: a week of it is a week of ours.
type clock struct{ sum [weekHours + 1]float64 }

func newClock(w Week) (*clock, error) {
	total := 0.0
	for h, v := range w {
		if !(v >= 0) || v > 1e9 {
			return nil, fmt.Errorf("week: hour %d has the weight %v: it must be from 0 to 1e9", h, v)
		}
		total += v
	}
	c := &clock{}
	for h, v := range w {
		if total == 0 {
			c.sum[h+1] = float64(h + 1)
			continue
		}
		c.sum[h+1] = c.sum[h] + float64(v*weekHours/total)
	}
	c.sum[weekHours] = weekHours
	return c, nil
}

// add returns the time at which a number of busy seconds have passed since at.
func (c *clock) add(at time.Duration, seconds float64) time.Duration {
	const week = weekHours * time.Hour
	weeks, rest := at/week, at%week
	h := min(int(rest/time.Hour), weekHours-1)
	part := (rest - time.Duration(h)*time.Hour).Hours()
	goal := c.sum[h] + float64(part*(c.sum[h+1]-c.sum[h])) + float64(seconds/3600)
	whole := math.Floor(goal / weekHours)
	if whole > 1e4 {
		return Forever
	}
	goal -= float64(whole * weekHours)
	h = sort.Search(weekHours-1, func(i int) bool { return c.sum[i+1] > goal })
	in := 0.0
	if width := c.sum[h+1] - c.sum[h]; width > 0 {
		in = min(max((goal-c.sum[h])/width, 0), 1)
	}
	return max(at, (weeks+time.Duration(whole))*week+time.Duration(h)*time.Hour+span(float64(in*3600)))
}
