package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// splitLine cuts a line into words and the comment behind them. A '#' begins a comment
// only at the start of a word, so that values may contain one.
func splitLine(s string) (words []string, comment string) {
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return words, ""
		}
		if s[0] == '#' {
			return words, strings.TrimRight(s, " \t")
		}
		end := strings.IndexAny(s, " \t")
		if end < 0 {
			end = len(s)
		}
		words = append(words, s[:end])
		s = s[end:]
	}
}

// args reads the words behind a verb one after another. The first problem sticks and
// later reads give nothing, so that a verb's parser needs one check at its end.
type args struct {
	words []string
	usage string // what to write, for a shapeError
	err   error
}

// shapeError says that words are missing, left over or misplaced; the usage of the verb
// says what to write instead. All other errors say so themselves.
type shapeError string

func (e shapeError) Error() string { return string(e) }

// fail records a problem unless there is one already.
func (a *args) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// word returns the next word.
func (a *args) word(what string) string {
	if a.err != nil {
		return ""
	}
	if len(a.words) == 0 {
		a.fail(shapeError(what + " is missing"))
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

// name returns the next word, which must be a name.
func (a *args) name(what string) string {
	w := a.word(what)
	if a.err == nil {
		a.fail(checkName(what, w))
	}
	return w
}

// duration returns the next word as a duration.
func (a *args) duration() time.Duration {
	w := a.word("a duration")
	if a.err != nil {
		return 0
	}
	d, err := parseDuration(w)
	a.fail(err)
	return d
}

// token returns the value of the option token=NAME when it is next.
func (a *args) token() string {
	if a.err != nil || len(a.words) == 0 {
		return ""
	}
	v, ok := strings.CutPrefix(a.words[0], "token=")
	if !ok {
		return ""
	}
	a.words = a.words[1:]
	a.fail(checkName("token", v))
	return v
}

// end returns the problem, or complains about words left over.
func (a *args) end() error {
	if a.err == nil && len(a.words) > 0 {
		a.err = shapeError(strconv.Quote(a.words[0]) + " is one word too many")
	}
	if shape, ok := errors.AsType[shapeError](a.err); ok {
		return fmt.Errorf("%w; write for example `%s`", shape, a.usage)
	}
	return a.err
}

// checkName says what is wrong with a name.
func checkName(what, s string) error {
	if s == "" {
		return fmt.Errorf("%s is empty: write a letter, then letters, digits, _ or -", what)
	}
	if len(s) > MaxName {
		return fmt.Errorf("%s %.16q… is longer than %d bytes: shorten it", what, s, MaxName)
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !(r >= '0' && r <= '9' || r == '_' || r == '-')) {
			return fmt.Errorf("%s %q is not a name: write a letter, then letters, digits, _ or -", what, s)
		}
	}
	return nil
}

// parseDuration reads a duration such as 300ms, 4s or 1m30s.
func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration: write one with a unit, such as 300ms, 4s or 1m30s", s)
	case d < 0:
		return 0, fmt.Errorf("duration %s is negative: time only goes forward", s)
	case d > MaxDuration:
		return 0, fmt.Errorf("duration %s is over the bound of %s", s, duration(MaxDuration))
	}
	return d, nil
}

// parseCalls reads a name or a range of names.
func parseCalls(s string) (Calls, error) {
	first, last, ranged := strings.Cut(s, "..")
	if err := checkName("call", first); err != nil || !ranged {
		return Calls{First: first}, err
	}
	stem, from := splitNumber(first)
	stem2, to := splitNumber(last)
	switch {
	case checkName("call", last) != nil || from < 0 || to < 0 || stem != stem2:
		return Calls{}, fmt.Errorf("%q is not a range of calls: write one stem and two numbers, such as c1..c8", s)
	case from > to:
		return Calls{}, fmt.Errorf("range %q runs backwards: write %s..%s", s, last, first)
	case to-from >= MaxFanout:
		return Calls{}, fmt.Errorf("range %q stands for %d calls: at most %d on one line", s, to-from+1, MaxFanout)
	case from == to:
		return Calls{First: first}, nil
	}
	return Calls{First: first, Last: last}, nil
}

// splitNumber cuts the number off the end of a name; the number is -1 when there is none
// in plain decimal.
func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(s[i:])
	if err != nil || strconv.Itoa(n) != s[i:] {
		return s, -1
	}
	return s[:i], n
}

// oneOf checks a word against a closed set.
func oneOf(what, w string, set []string) error {
	if slices.Contains(set, w) {
		return nil
	}
	return fmt.Errorf("there is no %s %q%s: write %s", what, w, suggest(w, set), strings.Join(set, "|"))
}

// suggest returns ` (did you mean "x"?)` for the nearest word of a set, if any is near.
func suggest(w string, set []string) string {
	best, at := (len(w)-1)/2, ""
	if len(w) > MaxName {
		return ""
	}
	for _, s := range set {
		if d := distance(w, s); d <= best && (at == "" || d < best) {
			best, at = d, s
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}

// distance is the number of single-byte edits between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
