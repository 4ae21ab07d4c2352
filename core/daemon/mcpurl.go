package daemon

import (
	"errors"
	"net/url"
	"strings"
)

// checkURL refuses what a url must not hold, for edits: a store of an earlier daemon may still
// have it, and is read. Neither the error nor the parser's is allowed to repeat the text.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("key url cannot be read as a URL; write it as https://host/path")
	case u.User != nil, strayUser(u):
		return errors.New("key url holds a user or a password; put them into auth, " +
			`as "Basic " and user:password in base64, or into a header's token as "Bearer …"`)
	}
	return nil
}

// strayUser reports whether a URL without a host, which leads nowhere, looks like one with a user
// that was written with a slash more or less.
func strayUser(u *url.URL) bool { return u.Host == "" && strings.Contains(u.Opaque+u.Path, "@") }

// maskURL is a url as listings show it: its query has the names of its values alone, which
// are where servers take tokens. The path is shown, for it is the address.
func maskURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return mask
	case u.Opaque != "":
		return u.Scheme + ":" + mask
	case strayUser(u):
		return mask
	case u.User == nil && u.RawQuery == "" && u.Fragment == "":
		return raw
	}
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment, shown.RawFragment = nil, maskQuery(u.RawQuery), "", ""
	text := shown.String()
	if u.User != nil {
		text = strings.Replace(text, "//", "//"+mask+"@", 1)
	}
	if u.Fragment != "" {
		text += "#" + mask
	}
	return text
}

// maskQuery hides the values of a query. A part that is no name=value is a value as a whole.
func maskQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, pair := strings.Cut(part, "=")
		switch {
		case pair && value != "":
			parts[i] = name + "=" + mask
		case !pair && part != "":
			parts[i] = mask
		}
	}
	return strings.Join(parts, "&")
}

// unmaskURL gives the stored url back where its mask was written. A mask in another url is
// refused: what was stored for one address is not sent to another.
func unmaskURL(written, stored, key string) (string, error) {
	if stored != "" && written == maskURL(stored) {
		return stored, nil
	}
	if holdsMask(written) {
		return "", maskError(key)
	}
	return written, nil
}

// holdsMask reports whether a mask is written anywhere where a listing would put one, be it
// encoded: beside a part that is new it would be stored as if it were the value.
func holdsMask(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return raw == mask
	}
	masked := u.Opaque == mask || u.Fragment == mask || u.User != nil && u.User.String() == mask
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, pair := strings.Cut(part, "=")
		if !pair {
			value = name
		}
		plain, err := url.QueryUnescape(value)
		masked = masked || err == nil && plain == mask
	}
	return masked
}
