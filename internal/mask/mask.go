// Package mask hides what looks secret in the arguments of a command before they
// are written to a report, a plan or a log.
//
// It goes by names and by forms: a value whose name launch.Secret takes for a
// secret's, however it is attached (--token=V, --token V, TOKEN=V, "token": "V",
// Authorization: V), the password in a URL, and what begins as the keys of some
// vendors do. The text of "sh -c" is searched as arguments are. In doubt it hides
// more: what it writes is for people, and never run.
//
// # Limits
//
// A secret with neither a telling name nor a known form stays: "mysql -pV", or one
// that an option with a name of one letter takes, other than "-u NAME:V".
package mask

import (
	"strings"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// Mark stands in the place of what is hidden.
const Mark = "***"

// Argv returns the arguments without what looks secret in them, as many as there
// were. It does not change args.
func Argv(args []string) []string {
	if args == nil {
		return nil
	}
	out := make([]string, len(args))
	var next expect
	for i, arg := range args {
		// An argument that is hidden whole may be an option all the same, whose
		// value follows.
		masked, after := text(arg)
		switch {
		case next == secret && arg != "" && arg != "--":
			masked = Mark
		case next == userinfo:
			masked = afterColon(masked)
		}
		out[i], next = masked, after
	}
	return out
}

// expect says what the argument after an option is.
type expect int

const (
	plain    expect = iota
	secret          // hidden whole
	userinfo        // NAME:PASSWORD
)

// text hides what looks secret in one argument, and says what its last word leads
// one to expect of the next.
func text(s string) (masked string, next expect) {
	if at := strings.Index(s, "PRIVATE KEY"); at >= 0 {
		if begin := strings.Index(s, "-----BEGIN "); begin >= 0 && begin < at {
			s = s[:begin] + Mark
		}
	}
	var out strings.Builder
	for i := 0; i < len(s); {
		if n := url(s[i:], &out) + webhook(s[i:], &out); n > 0 {
			i += n
			continue
		}
		if !inName(s[i]) {
			out.WriteByte(s[i])
			i++
			continue
		}
		end := i
		for end < len(s) && inName(s[end]) {
			end++
		}
		word := s[i:end]
		if from, to := value(s, i, end); from > 0 {
			out.WriteString(s[i:from])
			out.WriteString(Mark)
			i = to
			continue
		}
		if end == len(s) {
			next = option(word)
		}
		out.WriteString(vendor(word))
		i = end
	}
	return out.String(), next
}

// inName reports whether c can be in the name of a variable, option or header, or
// in a key; so it does not end a word.
func inName(c byte) bool {
	return c == '_' || c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// value returns where the secret is that s[start:end] names, or 0.
func value(s string, start, end int) (from, to int) {
	if !secretName(s[start:end]) {
		return 0, 0
	}
	i := end
	for i < len(s) && (s[i] == '"' || s[i] == '\'' || s[i] == '\\') { // of "token": V
		i++
	}
	spaces := skipSpaces(s, i)
	colon := false
	switch {
	case spaces < len(s) && (s[spaces] == ':' || s[spaces] == '='):
		colon = s[spaces] == ':'
		i = spaces + 1
		if i < len(s) && s[i] == '=' {
			i++
		}
		if colon || spaces > end {
			i = skipSpaces(s, i)
		}
	case s[start] == '-' && spaces > i: // an option in the text of a command
		i = spaces
	default:
		return 0, 0
	}
	if i == len(s) {
		return 0, 0
	}
	switch quoted := s[i] == '"' || s[i] == '\'' || s[i] == '\\'; {
	case quoted:
		return i, shellWord(s, i)
	case start > 0 && (s[start-1] == '"' || s[start-1] == '\''): // "token=V", "token: V"
		return i, until(s, i, s[start-1])
	case start == 0 && spaces == end: // the whole argument is it
		return i, len(s)
	case colon:
		return i, until(s, i, '\n')
	}
	return i, shellWord(s, i)
}

func skipSpaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// until returns where c is in s from i on, or the end.
func until(s string, i int, c byte) int {
	if n := strings.IndexByte(s[i:], c); n >= 0 {
		return i + n
	}
	return len(s)
}

// shellWord returns the end of the word at i, as a shell would read it. A quote
// that nothing closes takes all.
func shellWord(s string, i int) int {
	for i < len(s) && !strings.ContainsRune(" \t\n;|&)}", rune(s[i])) {
		switch c := s[i]; c {
		case '"', '\'':
			i = until(s, i+1, c)
		case '\\':
			if i+1 < len(s) && s[i+1] == '"' { // of quotes inside quotes
				if n := strings.Index(s[i+2:], `\"`); n >= 0 {
					i += 2 + n
				}
			}
			i++
		}
		i++
	}
	return min(i, len(s))
}

// secretName reports whether a variable, an option or a header with this name has
// a secret for its value.
func secretName(word string) bool {
	name := strings.ToUpper(strings.TrimLeft(word, "-"))
	name = strings.NewReplacer("-", "_", ".", "_").Replace(name)
	return launch.Secret(name, "") || strings.Contains(name, "AUTHORIZATION") || name == "AUTH"
}

// option says what follows the last word of an argument.
func option(word string) expect {
	switch {
	case word[0] != '-':
		return plain
	case word == "-u" || word == "--user" || word == "--proxy-user":
		return userinfo
	case secretName(word):
		return secret
	}
	return plain
}

// afterColon hides what is behind the first colon.
func afterColon(s string) string {
	name, _, ok := strings.Cut(s, ":")
	if !ok {
		return s
	}
	return name + ":" + Mark
}

// url writes the scheme and the user of a URL that begins s, and returns how much
// of s that was, the hidden password included. It returns 0 where no URL with a
// secret begins. A user without a password is a token in a web address, and a name
// in others.
func url(s string, out *strings.Builder) int {
	if s[0] != ':' || !strings.HasPrefix(s, "://") {
		return 0
	}
	rest := s[len("://"):]
	if end := strings.IndexAny(rest, "/ \t\n\"'"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	if at <= 0 {
		return 0
	}
	user, _, ok := strings.Cut(rest[:at], ":")
	switch {
	case ok:
		out.WriteString("://" + user + ":" + Mark)
	case strings.HasSuffix(out.String(), "http") || strings.HasSuffix(out.String(), "https"):
		out.WriteString("://" + Mark)
	default:
		return 0
	}
	return len("://") + at
}
