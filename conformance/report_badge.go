package conformance

import (
	"fmt"
	"html/template"
	"io"
)

// Badge writes one line of Markdown: a picture of the outcome, whose words stand for it where
// pictures are not shown, and which leads to the HTML page.
func (r *Report) Badge(w io.Writer) error {
	_, err := fmt.Fprintf(w, "[![mayfly certify %s: %s](%s)](%s)\n", r.Suite, r.badgeWords(), badgePicture, HTMLFile)
	return err
}

// badgeWords say the outcome, and how many of the MUSTs that apply are held.
func (r *Report) badgeWords() string {
	if r.Partial {
		return fmt.Sprintf("%s, partial", r.Outcome())
	}
	owed := 0
	for _, v := range []Verdict{Pass, Fail, Inconclusive, NotObserved, HarnessError} {
		owed += r.Count(Must, v)
	}
	return fmt.Sprintf("%s, %d of %d MUST", r.Outcome(), r.Count(Must, Pass), owed)
}

// badge is the picture. Letters are taken to be 7 pixels wide, which they are about.
var badge = template.Must(template.New("badge").Parse(
	`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-label="{{.Left}}: {{.Right}}">` +
		`<rect width="{{.Width}}" height="20" rx="3" fill="#555"/><rect x="{{.Cut}}" width="{{.Rest}}" height="20" rx="3" fill="{{.Colour}}"/>` +
		`<g fill="#fff" font-family="sans-serif" font-size="11"><text x="6" y="14">{{.Left}}</text><text x="{{.At}}" y="14">{{.Right}}</text></g></svg>
`))

func (r *Report) badgeSVG(w io.Writer) error {
	left, right := "mayfly "+r.Suite, r.badgeWords()
	colour := "#9f9f9f"
	switch v := r.Outcome(); {
	case v == Fail:
		colour = "#c0392b"
	case v == Pass && !r.Partial:
		colour = "#2e8b57"
	}
	cut, rest := 7*len(left)+12, 7*len(right)+12
	return badge.Execute(w, map[string]any{"Left": left, "Right": right, "Colour": colour,
		"Width": cut + rest, "Cut": cut, "Rest": rest, "At": cut + 6})
}
