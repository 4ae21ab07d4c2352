package traffic

import "fmt"

// Near returns ` (did you mean "x"?)` for the nearest word of a list, if any is near.
func Near(word string, list []string) string {
	best, at := 3, ""
	if len(word) > 40 {
		return ""
	}
	for _, w := range list {
		if d := edits(word, w); d < best && d < len(w) {
			best, at = d, w
		}
	}
	if at == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", at)
}

// edits counts the insertions, deletions and replacements between two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
