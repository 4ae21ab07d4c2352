package stdio

import (
	"maps"
	"slices"
	"strings"
)

// inherited names the daemon's variables that a peer gets (SPEC SE-1). Everything else,
// the daemon's own credentials above all, stays with the daemon.
var inherited = []string{
	// Where things are and who runs them.
	"HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER",
	// How text looks. LC_* is admitted by its prefix.
	"LANG", "TERM", "TZ",
	// How to get out of the network, in both spellings that tools read.
	"ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY",
	"all_proxy", "https_proxy", "http_proxy", "no_proxy",
	// Whom to trust.
	"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE",
}

// Environ returns the environment of a peer: the allowed variables of base, in the form
// of os.Environ, and own on top. The result is sorted by name and has one entry per name;
// of several in base the last one counts, as it does for a shell.
func Environ(base []string, own map[string]string) []string {
	vars := make(map[string]string, len(own)+len(inherited))
	for _, entry := range base {
		name, value, ok := strings.Cut(entry, "=")
		if ok && allowed(name) {
			vars[name] = value
		}
	}
	maps.Copy(vars, own)
	out := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		out = append(out, name+"="+vars[name])
	}
	return out
}

// allowed reports whether a variable of the daemon reaches its peers.
func allowed(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")
}

// lookupEnv returns the value of name in an environment that Environ made.
func lookupEnv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
