package guard

import (
	"errors"
	"net/url"
	"path"
	"strings"
)

// maxAlternatives bounds what the braces of a pattern multiply to.
const maxAlternatives = 256

var errPattern = errors.New("the pattern has too many alternatives")

// glob adds the directories below which a pattern of paths can match.
func (t *collector) glob(pattern string) error {
	bases := t.bases
	if len(bases) == 0 {
		bases = []string{t.call.Cwd}
	}
	alternatives, ok := Alternatives(pattern)
	if !ok {
		return errPattern
	}
	for _, alternative := range alternatives {
		start := Start(strings.TrimSpace(alternative))
		for _, base := range bases {
			text := start
			if !isPathText(start) || strings.HasPrefix(start, ".") {
				text = strings.TrimSuffix(base, "/") + "/" + start
			}
			t.add(pattern, text, true)
			if len(t.found) > maxTargets {
				return errLarge
			}
		}
	}
	return nil
}

// Start returns the directory that everything lies below which a pattern without
// braces matches: its components before the first that has a wildcard. Each ".."
// after one leads up again, and so may a wildcard that matches "..".
func Start(pattern string) string {
	parts := strings.Split(pattern, "/")
	n := 0
	for n < len(parts) && !strings.ContainsAny(parts[n], `*?[]{}()!+@\`) {
		n++
	}
	start := strings.Join(parts[:n], "/")
	if n > 0 && start == "" {
		start = "/"
	}
	for _, part := range parts[n:] {
		matches, err := path.Match(part, "..")
		switch {
		case extended(part):
			return "/" // alternatives that can hold anything
		case part == "..", err != nil, matches && strings.ContainsAny(part[:1], `.[\`):
			if start == "" {
				start = "."
			}
			start += "/.."
		}
	}
	if start == "" {
		return "."
	}
	return start
}

// extended reports whether a component has the alternatives of an extended pattern,
// @(a|b) and the like. The parentheses of a name, as in app/(site)/page.tsx, are none.
func extended(part string) bool {
	for i := range len(part) {
		if part[i] == '|' || part[i] == '(' && (i > 0 && strings.IndexByte("@?*+!", part[i-1]) >= 0 || strings.Contains(part[i:], "..")) {
			return true
		}
	}
	return false
}

// Alternatives returns what a pattern with {a,b} stands for; ok is whether it is not too
// much. A brace that is not closed stands for itself.
func Alternatives(pattern string) (all []string, ok bool) {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}, true
	}
	var parts []string
	depth, from := 0, open+1
	for i := open; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 1 {
				parts, from = append(parts, pattern[from:i]), i+1
			}
		}
		if depth > 0 {
			continue
		}
		for _, part := range append(parts, pattern[from:i]) {
			more, ok := Alternatives(pattern[:open] + part + pattern[i+1:])
			if all = append(all, more...); !ok || len(all) > maxAlternatives {
				return nil, false
			}
		}
		return all, true
	}
	return []string{pattern}, true
}

// isURI reports whether a text is the URI of a file.
func isURI(s string) bool {
	s = Trimmed(s)
	return len(s) >= 5 && strings.EqualFold(s[:5], "file:")
}

// uriPaths returns the paths that tools make of a file URI: decoded, or with only
// the scheme taken away. The empty path, which is refused, stands for what cannot
// be decoded.
func uriPaths(s string) []string {
	rest := s[len("file:"):]
	authority, ok := strings.CutPrefix(rest, "//")
	if ok {
		_, after, _ := strings.Cut(authority, "/")
		rest = "/" + after
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil {
		return []string{""}
	}
	return []string{decoded, authority}
}
