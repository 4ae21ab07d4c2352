package conformance

import (
	"path/filepath"
	"strings"
)

// rerun is the command line that runs a check of this target again, up to the flag -check, for
// whoever gave none. It shows neither the values of variables and of flags that hold secrets nor
// the directories of this machine. A driver is Go code and has no command line.
func (t Target) rerun() string {
	words := []string{"mayfly certify"}
	add := func(flag, value string) { words = append(words, flag, "'"+strings.ReplaceAll(value, "'", `'\''`)+"'") }
	switch {
	case t.Driver != nil, t.Name == "embedded":
		return words[0]
	case t.Address != "":
		add("-target", t.Network+":"+t.Address)
		if t.Model != "" {
			add("-model", t.Model)
		}
	case t.Adapter:
		add("-target", "adapter:"+t.written())
	default:
		add("-target", "exec:"+t.written())
		if t.Socket != DefaultSocket {
			add("-socket", t.Socket)
		}
		if t.Config != "" && t.Config != "config.toml" {
			add("-config", t.Config)
		}
		if t.Template != "" && t.Template != DefaultTemplate {
			words = append(words, "-template", "FILE")
		}
	}
	return strings.Join(words, " ")
}

// written is the target's command, with its variables.
func (t Target) written() string {
	var words []string
	for _, v := range t.Vars {
		key, value, _ := strings.Cut(v, "=")
		if !strings.Contains(value, "{") {
			value = "***"
		}
		words = append(words, key+"="+value)
	}
	secret := false // the word before says so
	for _, w := range t.Argv {
		flag, value, assigned := strings.Cut(w, "=")
		switch {
		case secret && !strings.Contains(w, "{"):
			w = "***"
		case assigned && namesSecret(flag) && !strings.Contains(value, "{"):
			w = flag + "=***"
		case filepath.IsAbs(w):
			w = filepath.Base(w)
		}
		secret = !assigned && strings.HasPrefix(flag, "-") && namesSecret(flag)
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// namesSecret says whether a flag or a variable is of the kind that holds a secret.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "secret", "password", "passwd", "key", "auth", "credential", "bearer"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
