package launch

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// What Scrub looks for in the name of a variable, in upper case. A name is secret
// that holds one of secretWords anywhere, is one of secretNames, or ends in one of
// secretEnds; and then not where harmlessNames or harmlessWords has it.
var (
	// DSH's rule is the first four. PASSWD, PASSPHRASE and CREDENTIAL are words as
	// plain as these.
	secretWords = []string{"KEY", "PASSWORD", "SECRET", "TOKEN", "PASSWD", "PASSPHRASE", "CREDENTIAL", "COOKIE"}

	// Names that lead to a secret or to somebody who signs with one, and names that
	// say nothing.
	secretNames = []string{
		"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "KUBECONFIG", "DOCKER_AUTH_CONFIG", "PGPASSFILE", "NETRC",
		"DATABASE_URL", "REDIS_URL", "MONGODB_URI", "MONGO_URL", "AMQP_URL", "PASS", "DSN",
	}
	secretEnds = []string{"_ASKPASS", "_PASS", "_PWD", "_PEM", "_AUTH", "_DSN", "_DATABASE_URL"}

	// Harmless in spite of the word in them.
	harmlessNames = []string{
		"TOKENIZERS_PARALLELISM", "LESSKEY", "LESSKEYIN", "LESSKEY_SYSTEM", "LESSKEYIN_SYSTEM", "KEYTIMEOUT", "GPG_KEYID", "GPGKEY",
	}
	harmlessWords = []string{"KEYBOARD", "KEYMAP", "MONKEY", "TURKEY", "SECRETARY"}
)

// Scrub says which variables a command does not get.
type Scrub struct {
	// Keep holds patterns of names that stay in spite of all. They are those of
	// path.Match, but a slash is a character like any other: npm's names hold some.
	Keep []string
}

// CheckPattern fails on a pattern that Scrub cannot use.
func CheckPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return errors.New("not a pattern of names")
	}
	return nil
}

// Apply returns env without what looks secret, and the names of what is missing,
// sorted and each once. It does not change env. An entry without a name or without
// an equals sign is dropped unnamed: it may be all value.
func (s Scrub) Apply(env []string) (kept, dropped []string) {
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
		case s.keeps(name) || !Secret(name, value):
			kept = append(kept, entry)
		case !slices.Contains(dropped, name):
			dropped = append(dropped, name)
		}
	}
	slices.Sort(dropped)
	return kept, dropped
}

func (s Scrub) keeps(name string) bool {
	return slices.ContainsFunc(s.Keep, func(pattern string) bool {
		plain := strings.NewReplacer("/", "\x01")
		ok, err := path.Match(plain.Replace(pattern), plain.Replace(name))
		return err == nil && ok
	})
}

// Secret reports whether a variable looks as if it held a secret, led to one, or
// belonged to DSH. It goes by the name, and by the value only where that is a URL
// with a password.
func Secret(name, value string) bool {
	upper := strings.ToUpper(name)
	if strings.HasPrefix(upper, "DSH_") {
		return true
	}
	if hasPassword(value) {
		return true
	}
	if slices.Contains(harmlessNames, upper) {
		return false
	}
	for _, word := range harmlessWords {
		upper = strings.ReplaceAll(upper, word, "")
	}
	return slices.Contains(secretNames, upper) ||
		slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(upper, word) }) ||
		slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(upper, end) })
}

// hasPassword reports whether value holds scheme://user:password@.
func hasPassword(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return false
	}
	if end := strings.IndexAny(rest, "/?# \t\n"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return false
	}
	_, password, ok := strings.Cut(rest[:at], ":")
	return ok && password != ""
}
