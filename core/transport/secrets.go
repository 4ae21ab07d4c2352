package transport

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
)

const (
	// minSecret is the length from which a configured value is masked. Shorter ones, such
	// as "1" or "en", would turn every text into noise and protect nothing.
	minSecret = 4
	// mask replaces a secret.
	mask = "[masked]"
)

// Secrets hides the values of one Config in texts that leave the transport (SPEC ID-5).
// The zero value hides nothing. It knows literal values only: a peer that prints a secret
// in another encoding defeats it.
type Secrets struct {
	values []string // longest first, so that a value inside another one does not break it
}

// SecretsOf collects what must not be shown: every env value, every line of a value that
// has several, the auth header, its credential without the scheme, and what the query of
// the URL holds.
func SecretsOf(cfg Config) Secrets {
	var all []string
	add := func(v string) {
		if v = strings.TrimSpace(v); len(v) >= minSecret {
			all = append(all, v)
		}
	}
	for _, v := range cfg.Env {
		add(v)
		for line := range strings.Lines(v) {
			add(line)
		}
	}
	add(cfg.Auth)
	if _, credential, ok := strings.Cut(strings.TrimSpace(cfg.Auth), " "); ok {
		add(credential)
	}
	if u, err := url.Parse(cfg.URL); err == nil {
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return Secrets{values: slices.Compact(all)}
}

// Mask replaces every secret in text.
func (s Secrets) Mask(text string) string {
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, mask)
	}
	return text
}

// MaskCut is Mask for a text whose beginning was cut off somewhere: an end of a secret
// that the cut left standing at the front is hidden as well.
func (s Secrets) MaskCut(text string) string {
	longest := 0
	for _, v := range s.values {
		for cut := 1; cut <= len(v)-minSecret; cut++ {
			if rest := v[cut:]; len(rest) > longest && strings.HasPrefix(text, rest) {
				longest = len(rest)
			}
		}
	}
	if longest == 0 {
		return s.Mask(text)
	}
	return mask + s.Mask(text[longest:])
}
