package rules

import (
	"errors"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/shell/readonly"
)

// memo keeps what is asked many times about one call: a hook that takes longer than its
// harness waits is none, and the call then runs.
type memo struct {
	readonly.Facts
	real     map[string]realPath
	patterns map[patternKey][]pattern
	names    map[nameKey]spelled
	globs    int
}

type (
	realPath struct {
		path string
		err  error
	}
	patternKey struct {
		text, project, cwd string
		claude, strict     bool
	}
	nameKey struct{ name, cwd string }
)

// remembering is a set for one call.
func (s *Set) remembering() *Set {
	own := *s
	own.memo = &memo{s.Facts, map[string]realPath{}, map[patternKey][]pattern{}, map[nameKey]spelled{}, 0}
	if s.Facts != nil {
		own.Facts = own.memo
	}
	return &own
}

// Real is that of the facts.
func (m *memo) Real(name string) (string, error) {
	real, ok := m.real[name]
	if !ok {
		real.path, real.err = m.Facts.Real(name)
		m.real[name] = real
	}
	return real.path, real.err
}

// Glob is that of the facts, for a few patterns.
func (m *memo) Glob(pattern string) ([]string, error) {
	if m.globs++; m.globs > maxGlobs {
		return nil, errors.New("there are too many patterns")
	}
	return m.Facts.Glob(pattern)
}

// maxGlobs bounds the patterns of one call that are followed.
const maxGlobs = 200

// form is a clean absolute path.
type form struct{ text, lower string }

func formsOf(paths []string) (forms []form) {
	for _, p := range paths {
		forms = append(forms, form{p, strings.ToLower(p)})
	}
	return forms
}

// spelled is the forms of a name in a directory.
type spelled struct {
	forms   []form
	slashed []form // of a name with backslashes, written for another system
	known   bool
}

func (s *Set) spelled(name, cwd string) (n spelled) {
	if s.memo != nil {
		if n, ok := s.memo.names[nameKey{name, cwd}]; ok {
			return n
		}
	}
	paths, known := s.spellings(name, cwd)
	n.forms, n.known = formsOf(paths), known
	if strings.Contains(name, `\`) {
		paths, _ = s.spellings(strings.ReplaceAll(name, `\`, "/"), cwd)
		n.slashed = formsOf(paths)
	}
	if s.memo != nil {
		s.memo.names[nameKey{name, cwd}] = n
	}
	return n
}

// pattern is one that a rule stands for.
type pattern struct {
	text, lower string
	start       string // what every match begins with, in lower case
	real        string // the real path of what is no pattern, or ""
}

func (s *Set) compiled(r Rule, cwd string, strict bool) (list []pattern) {
	key := patternKey{r.Payload, r.Project, cwd, r.claude, strict}
	if s.memo != nil {
		if list, ok := s.memo.patterns[key]; ok {
			return list
		}
	}
	for _, text := range s.patterns(r, cwd, strict) {
		p := pattern{text: text, lower: strings.ToLower(text)}
		p.start = p.lower
		if i := strings.IndexAny(p.lower, `*?[{\`); i >= 0 {
			if p.start = strings.TrimSuffix(p.lower[:i], "/"); !doublestar.ValidatePattern(text) { // ** may be nothing
				p.start = ""
			}
		} else if strict && s.Facts != nil {
			if real, err := s.Facts.Real(text); err == nil {
				p.real = real
			}
		}
		list = append(list, p)
	}
	if s.memo != nil {
		s.memo.patterns[key] = list
	}
	return list
}

// match reports whether the pattern of a rule is met. Some file systems do not tell small
// letters from large; a pattern that is none is met by an error.
func (p pattern) match(f form, strict bool) bool {
	if strings.HasPrefix(f.lower, p.start) {
		ok, err := doublestar.Match(p.text, f.text)
		if !ok && strict && (p.lower != p.text || f.lower != f.text) {
			ok, _ = doublestar.Match(p.lower, f.lower)
		}
		if ok || err != nil && strict {
			return true
		}
	}
	return p.real != "" && policy.Holds(p.real, f.text)
}

// union is a list with what is missing there.
func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
