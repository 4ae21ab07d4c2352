package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// number shows three digits, and every digit before the point, with commas between thousands. Zeroes at the end of a
// fraction are left out.
func number(x float64) string {
	s := digits(x)
	if whole, part, ok := strings.Cut(s, "."); ok {
		if part = strings.TrimRight(part, "0"); part == "" {
			return whole
		}
		return whole + "." + part
	}
	return s
}

// digits is number with the zeroes.
func digits(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "-"
	case x == 0:
		return "0"
	}
	places := 0
	for v := math.Abs(x); v < 99.95 && places < maxPlaces; v *= 10 {
		places++
	}
	return commas(strconv.FormatFloat(x, 'f', places, 64))
}

// maxPlaces bounds the digits behind the point: what is smaller is shown as 0.
const maxPlaces = 6

func commas(s string) string {
	sign, rest := "", s
	if strings.HasPrefix(s, "-") {
		sign, rest = "-", s[1:]
	}
	whole, part, pointed := strings.Cut(rest, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if pointed {
		whole += "." + part
	}
	return sign + whole
}

// String shows the mean, and the half behind it if there is one.
func (v Interval) String() string { return v.scaled(1) }

// percent shows a share.
func (v Interval) percent() string {
	if !v.exists() {
		return "-"
	}
	return v.scaled(100) + " %"
}

// seconds shows a time.
func (v Interval) seconds() string {
	if !v.exists() {
		return "-"
	}
	return v.scaled(1) + " s"
}

// scaled gives the half as many places as the mean has.
func (v Interval) scaled(by float64) string {
	if !v.exists() {
		return "-"
	}
	s := digits(v.Mean * by)
	if half := v.Half * by; !math.IsInf(half, 0) {
		s += " ± " + two(half)
	}
	return s
}

// two shows two digits. What is too small for them is rounding, and shown as 0.
func two(x float64) string {
	if math.Abs(x) < 1e-6 {
		return "0"
	}
	places := 0
	for v := math.Abs(x); v < 9.95 && places < maxPlaces; v *= 10 {
		places++
	}
	return commas(strconv.FormatFloat(x, 'f', places, 64))
}

// brief shows a duration without the units that are zero: 30s, 5m, 1h30m, 7d.
func brief(d time.Duration) string {
	if d >= 48*time.Hour && d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
