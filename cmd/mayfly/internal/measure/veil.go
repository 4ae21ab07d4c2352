package measure

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mayfly-mcp/mayfly/core/transport"
	"github.com/mayfly-mcp/mayfly/sim/idle/profile"
)

const (
	masked = "[masked]"
	// maxReason bounds a reason, in bytes: a server may write anything to stderr.
	maxReason = 600
	// shortSecret is the length below which a word is no secret: "on" and "1" are everywhere.
	shortSecret = 4
)

var (
	// telling are parts of names whose values are secrets.
	telling = `(?i:token|secret|passw|passphrase|pwd|api-?_?key|apikey|access-?_?key|private-?_?key|auth|credential|bearer|cookie|session|signature|dsn|connection-?_?string)`
	// named is a flag, or a variable, with such a name; what follows = or : or, in a script, a
	// space is a secret.
	named = regexp.MustCompile(`([\w.-]*` + telling + `[\w.-]*["']?\s*(?:=|:)\s*|-[\w.-]*` + telling + `[\w.-]*\s+)((?i:(?:bearer|basic|token)\s+)?)("[^"]*"|'[^']*'|\S+)`)
	// bare is a flag with such a name alone: the next word is a secret.
	bare = regexp.MustCompile(`^-{1,2}[\w.-]*` + telling + `[\w.-]*$`)
	// variable is an assignment as in a shell, whose value may be anything.
	variable = regexp.MustCompile(`(\b[A-Z][A-Z0-9_]*=)("[^"]*"|'[^']*'|[^\s"']+)`)
	// scheme is an Authorization without its name.
	scheme = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)(\S+)`)
	// issued are keys whose beginning tells who issued them.
	issued = regexp.MustCompile(`\b(?:sk-|pk-|rk_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|npm_|hf_|AKIA|ASIA|AIza|eyJ|ya29\.)[\w.-]{6,}`)
	// long are words of which some are keys: see random.
	long = regexp.MustCompile(`[A-Za-z0-9+_=-]{20,}`)
	// link is a URL inside a word.
	link = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	// odd is what a name of a class cannot have.
	odd = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)
	// headerFlags and envFlags are followed by NAME: VALUE and by NAME=VALUE.
	headerFlags = []string{"-H", "--header", "--headers", "-header"}
	envFlags    = []string{"-e", "--env", "-env"}
)

// veil hides secrets of one target: in its command line, and in whatever it says.
type veil struct {
	args    []string // of the command line, without secrets
	hidden  []string // what was taken out of them, longest first
	secrets transport.Secrets
}

// newVeil finds the secrets of a target.
func newVeil(t transport.Config) veil {
	v := veil{}
	before := ""
	for _, arg := range t.Args {
		v.args = append(v.args, v.arg(before, arg))
		before = arg
	}
	if t.URL != "" {
		v.url(t.URL)
	}
	slices.SortFunc(v.hidden, func(a, b string) int { return len(b) - len(a) })
	env := map[string]string{}
	for i, s := range v.hidden {
		env["hidden"+strconv.Itoa(i)] = s
	}
	for name, value := range t.Env { // a set: the order plays no part
		env["env."+name] = value
	}
	t.Env = env
	v.secrets = transport.SecretsOf(t)
	return v
}

// hide takes a secret out.
func (v *veil) hide(secret string) string {
	if secret == "" || secret == masked {
		return secret
	}
	if bare := strings.Trim(secret, `"'`); len(bare) >= shortSecret {
		v.hidden = append(v.hidden, bare)
	}
	return masked
}

// arg hides what is secret in a word that follows another one.
func (v *veil) arg(before, arg string) string {
	switch {
	case bare.MatchString(before) && !strings.HasPrefix(arg, "-"):
		return v.hide(arg)
	case slices.Contains(headerFlags, before):
		if name, value, ok := strings.Cut(arg, ":"); ok {
			return name + ": " + v.hide(strings.TrimSpace(value))
		}
	case slices.Contains(envFlags, before):
		if name, value, ok := strings.Cut(arg, "="); ok {
			return name + "=" + v.hide(value)
		}
	}
	return v.word(arg)
}

// word hides what is secret in a word, or in a script.
func (v *veil) word(w string) string {
	w = link.ReplaceAllStringFunc(w, v.address)
	w = v.last(named, w)
	w = v.last(variable, w)
	w = v.last(scheme, w)
	w = issued.ReplaceAllStringFunc(w, v.hide)
	return long.ReplaceAllStringFunc(w, func(s string) string {
		if random(s) {
			return v.hide(s)
		}
		return s
	})
}

// last hides the last group of every match.
func (v *veil) last(re *regexp.Regexp, w string) string {
	return re.ReplaceAllStringFunc(w, func(match string) string {
		m := re.FindStringSubmatch(match)
		secret := m[len(m)-1]
		if strings.Contains(secret, masked) {
			return match // it says already which part of it was one
		}
		return strings.TrimSuffix(match, secret) + v.hide(secret)
	})
}

// url hides what is secret in the URL of a target.
func (v *veil) url(raw string) string { return v.word(raw) }

// address hides user, password, query and fragment of a URL.
func (v *veil) address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return v.hide(raw)
	}
	out := u.Scheme + "://"
	if u.User != nil {
		user, _, _ := strings.Cut(u.User.String(), ":")
		password, _ := u.User.Password()
		v.hide(user)
		v.hide(password)
		out += masked + "@"
	}
	out += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		out += "?" + v.query(u.RawQuery)
	}
	if u.Fragment != "" {
		out += "#" + v.hide(u.Fragment)
	}
	return out
}

// query hides the values of a query, and what has no name.
func (v *veil) query(raw string) string {
	parts := strings.Split(raw, "&")
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			parts[i] = v.hide(part)
			continue
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			v.hide(plain)
		}
		parts[i] = name + "=" + v.hide(value)
	}
	return strings.Join(parts, "&")
}

// random tells a word that looks like a key: letters and digits, many of each, in no word that
// is mostly one kind.
func random(s string) bool {
	letters, digits := 0, 0
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letters++
		}
	}
	return letters >= 3 && digits >= 3
}

// text makes one bounded line of what was said, without secrets, and without what would do something to a terminal.
func (v veil) text(s string) string {
	s = strings.Map(printable, strings.Join(strings.Fields(v.said(v.secrets.Mask(s))), " "))
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + " […]"
	}
	return s
}

// said hides what nobody gave and is a key all the same: a server may read its own from a file, and quote it. Words
// like "token:" alone hide nothing here, since what follows them in a sentence is its reason.
func (v veil) said(s string) string { // of a copy: what it finds is of one text
	s = link.ReplaceAllStringFunc(s, v.address)
	s = v.last(scheme, s)
	return issued.ReplaceAllStringFunc(s, v.hide)
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// launchers run what a later word names.
var launchers = []string{"npx", "uvx", "node", "bun", "bunx", "deno", "python", "python3", "pipx", "uv", "env", "docker"}

// ClassOf makes a name for a server that was given none.
func ClassOf(s profile.Server) string {
	name := "server"
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err == nil {
			name = u.Hostname()
		}
	} else {
		name = path.Base(s.Command[0])
		if slices.Contains(launchers, name) {
			name = launched(s.Command)
		}
	}
	name = strings.Trim(odd.ReplaceAllString(name, "-"), "-._+")
	if name = name[:min(len(name), 64)]; name == "" || !profile.ValidClass(name) {
		return "server"
	}
	return name
}

// launched is the last part of the first word that may name what a launcher runs.
func launched(command []string) string {
	for _, w := range command[1:] {
		if strings.HasPrefix(w, "-") || w == "run" || w == "exec" || strings.Contains(w, masked) {
			continue
		}
		name := path.Base(w)
		if cut, _, ok := strings.Cut(name, "@"); ok && cut != "" {
			name = cut
		}
		return name
	}
	return path.Base(command[0])
}
