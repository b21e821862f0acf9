package secrets

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/verdict"
)

// AddGitleaks adds the rules of a gitleaks configuration. What matches one of them
// is denied. Allow lists are read and not obeyed, and so are rules that it
// disables: both could only let more pass. An error is returned, and no rule is
// added, for anything else that this package does not know.
func (s *Scanner) AddGitleaks(config string) error {
	tables, err := parseTOML(config)
	if err != nil {
		return err
	}
	var rules []rule
	for _, t := range tables {
		r, err := fromGitleaks(t)
		if err != nil {
			return fmt.Errorf("line %d: %w", t.line, err)
		}
		if r != nil {
			rules = append(rules, *r)
		}
	}
	if len(rules) == 0 {
		return errors.New("it has no rules")
	}
	s.rules = append(s.rules, rules...)
	return nil
}

// known are the keys that a table may have, or nil for an unknown table.
func known(name string) []string {
	switch name {
	case "":
		return []string{"title", "description", "minVersion"}
	case "extend":
		return []string{"useDefault", "disabledRules"}
	case "rules":
		return []string{"id", "description", "regex", "secretGroup", "entropy", "keywords", "path", "tags"}
	case "allowlist", "allowlists", "rules.allowlist", "rules.allowlists":
		return []string{"id", "description", "regexes", "regexTarget", "paths", "stopwords", "commits", "condition", "targetRules"}
	}
	return nil
}

// fromGitleaks returns the rule in a table, or nil for a table that holds none.
func fromGitleaks(t table) (*rule, error) {
	keys := known(t.name)
	if keys == nil || t.list != (t.name == "rules" || strings.HasSuffix(t.name, "allowlists")) {
		return nil, fmt.Errorf("unknown table %q", t.name)
	}
	for key := range t.values {
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("unknown key %q in %q", key, t.name)
		}
	}
	if t.name != "rules" {
		return nil, nil
	}
	var id, pattern, path string
	var group, gate float64
	var keywords []string
	for _, err := range []error{
		take(t, "id", &id), take(t, "regex", &pattern), take(t, "path", &path),
		take(t, "secretGroup", &group), take(t, "entropy", &gate), take(t, "keywords", &keywords),
	} {
		if err != nil {
			return nil, err
		}
	}
	if id == "" || pattern == "" && path == "" {
		return nil, errors.New("a rule needs an id, and a regex or a path")
	}
	r := &rule{kind: id, decision: verdict.Deny, entropy: gate, group: int(group), nameOnly: pattern == "", whole: true}
	for _, word := range keywords {
		if word == "" {
			return nil, fmt.Errorf("rule %q: an empty keyword", id)
		}
		r.keywords = append(r.keywords, string(lowered([]byte(word))))
	}
	if path != "" {
		re, err := regexp.Compile(path)
		if err != nil {
			return nil, fmt.Errorf("rule %q: path: %w", id, err)
		}
		r.path = re
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("rule %q: regex: %w", id, err)
	}
	if float64(r.group) != group || r.group < 0 || r.group > re.NumSubexp() {
		return nil, fmt.Errorf("rule %q: the regex has no group %v", id, group)
	}
	r.pattern = func() *regexp.Regexp { return re }
	return r, nil
}

// take stores the value of a key, if it is there, and is an error if it has
// another type.
func take[T any](t table, key string, at *T) error {
	v, ok := t.values[key]
	if !ok {
		return nil
	}
	if *at, ok = v.(T); !ok {
		return fmt.Errorf("%s has the wrong type", key)
	}
	return nil
}
