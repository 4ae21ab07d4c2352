package transport

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
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
// The zero value hides nothing. A peer that prints a secret in an encoding of its own choice
// defeats it.
type Secrets struct {
	values []string // longest first, so that a value inside another one does not break it
}

// SecretsOf collects what must not be shown: every env value, every line of a value that
// has several, the auth header, its credential without the scheme, user and password of a
// Basic one, and what the query of the URL holds. Each is known in the spellings that it
// takes inside JSON and inside a URL as well.
func SecretsOf(cfg Config) Secrets {
	var all spellings
	for _, v := range cfg.Env {
		all.add(v)
		for line := range strings.Lines(v) {
			all.add(line)
		}
	}
	all.addAuth(cfg.Auth)
	if u, err := url.Parse(cfg.URL); err == nil {
		password, _ := u.User.Password()
		all.add(u.User.Username())
		all.add(password)
		all.add(u.RawQuery)
		for _, values := range u.Query() {
			for _, v := range values {
				all.add(v)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return Secrets{values: slices.Compact(all)}
}

// spellings collects secrets.
type spellings []string

// add takes a value, as it is and as others may write it.
func (s *spellings) add(v string) {
	if v = strings.TrimSpace(v); len(v) < minSecret {
		return
	}
	*s = append(*s, v, url.QueryEscape(v), url.PathEscape(v))
	for _, html := range []bool{true, false} { // Go escapes <, > and &, others do not
		var quoted strings.Builder
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(html)
		if enc.Encode(v) == nil {
			text := strings.TrimSuffix(quoted.String(), "\n")
			*s = append(*s, text[1:len(text)-1])
		}
	}
}

// addAuth takes an Authorization header apart.
func (s *spellings) addAuth(auth string) {
	s.add(auth)
	scheme, credential, ok := strings.Cut(strings.TrimSpace(auth), " ")
	if !ok {
		return
	}
	s.add(credential)
	if plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credential)); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		s.add(string(plain))
		s.add(password)
	}
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
