package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// maxShown bounds what an error quotes.
const maxShown = 60

func shown(b []byte) string {
	if len(b) > maxShown {
		return fmt.Sprintf("%q…", b[:maxShown])
	}
	return fmt.Sprintf("%q", b)
}

// parseTime reads seconds since the start, or a date of RFC 3339.
func parseTime(b []byte) (time.Duration, dating, error) {
	if len(b) == 0 {
		return 0, undecided, errors.New("time: it is empty")
	}
	if len(b) >= 20 && b[4] == '-' {
		at, err := time.Parse(time.RFC3339Nano, string(b))
		if err != nil {
			return 0, undecided, fmt.Errorf("time: %s is not a date of RFC 3339, like 2026-01-31T09:30:00Z", shown(b))
		}
		if y := at.Year(); y < 1970 || y > 2200 {
			return 0, undecided, fmt.Errorf("time: the year of %s is absurd: it must be from 1970 to 2200", shown(b))
		}
		return time.Duration(at.UnixNano()), inDates, nil
	}
	d, ok := parseSeconds(b)
	switch {
	case !ok:
		return 0, undecided, fmt.Errorf("time: %s is neither seconds since the start, like 12.5, nor a date of RFC 3339", shown(b))
	case d < 0:
		return 0, undecided, fmt.Errorf("time: %s is negative", shown(b))
	case d > MaxSpan:
		return 0, undecided, fmt.Errorf("time: %s s is absurd, more than ten years: give seconds since the start, or dates of RFC 3339", shown(b))
	}
	return d, inSeconds, nil
}

// parseTakes reads the duration of a call: seconds, or a duration of Go.
func parseTakes(b []byte) (time.Duration, error) {
	if len(b) == 0 {
		return 0, errors.New("duration: it is empty")
	}
	d, ok := parseSeconds(b)
	if !ok {
		var err error
		if d, err = time.ParseDuration(string(b)); err != nil {
			return 0, fmt.Errorf("duration: %s is neither seconds, like 0.25, nor a duration, like 250ms", shown(b))
		}
	}
	switch {
	case d < 0:
		return 0, fmt.Errorf("duration: %s is negative", shown(b))
	case d > MaxTakes:
		return 0, fmt.Errorf("duration: %s is absurd: more than %v", shown(b), MaxTakes)
	}
	return d, nil
}

// parseSeconds reads a decimal number of seconds to the nanosecond: exactly, where it has no
// exponent and at most nine decimals.
func parseSeconds(b []byte) (time.Duration, bool) {
	whole, frac, ok := bytes.Cut(b, []byte{'.'})
	if len(whole) == 0 || len(whole) > 9 || len(frac) > 9 || ok && len(frac) == 0 {
		return slowSeconds(b)
	}
	n, scale := int64(0), int64(time.Second)
	for _, c := range whole {
		if c < '0' || c > '9' {
			return slowSeconds(b)
		}
		n = n*10 + int64(c-'0')
	}
	n *= scale
	for _, c := range frac {
		if c < '0' || c > '9' {
			return slowSeconds(b)
		}
		scale /= 10
		n += int64(c-'0') * scale
	}
	return time.Duration(n), true
}

// slowSeconds reads any decimal number. What does not fit a duration is cut, and so refused by
// its reader as absurd or negative.
func slowSeconds(b []byte) (time.Duration, bool) {
	for _, c := range b {
		if (c < '0' || c > '9') && !bytes.ContainsRune([]byte("+-.eE"), rune(c)) {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	if v < 0 {
		return -1, true
	}
	return time.Duration(math.Round(min(v*1e9, float64(Forever)))), true
}
