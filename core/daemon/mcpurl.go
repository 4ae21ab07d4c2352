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
	case u.User != nil, strings.Contains(u.Opaque, "@"):
		return errors.New("key url holds a user or a password; put them into auth, " +
			`as "Basic " and user:password in base64, or into a header's token as "Bearer …"`)
	}
	return nil
}

// maskURL is a url as listings show it: its query has the names of its values alone, which
// are where servers take tokens. The path is shown, for it is the address.
func maskURL(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return mask
	case u.Opaque != "":
		return u.Scheme + ":" + mask
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
	if strings.Contains(written, mask) && written == maskURL(written) {
		return "", maskError(key)
	}
	return written, nil
}
