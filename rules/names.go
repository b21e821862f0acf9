package rules

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/guard"
)

// paths are the paths that a call names, as it names them; none where that cannot be
// told.
func (c ToolCall) paths() []string {
	n := &names{tool: canonical(c.Tool)}
	collect(c.Input, "", n.value)
	dir := ""
	switch {
	case n.tool == "read_many_files":
	case len(n.paths) > 0:
		dir = n.paths[0]
	case n.tool == "Grep":
		dir = "."
		n.add(dir)
	}
	for _, pattern := range n.patterns {
		if !n.pattern(dir, pattern) {
			return nil
		}
	}
	if len(n.workdirs) > maxWorkdirs {
		return nil
	}
	if len(n.paths) == 0 && (n.tool == "Glob" || n.tool == "Grep" || n.tool == "ListDir") {
		n.add(".")
	}
	for _, p := range slices.Clone(n.paths) {
		for _, dir := range n.workdirs {
			if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "$") {
				n.put(dir + "/" + p)
			}
		}
	}
	if len(n.paths) > maxPaths {
		return nil
	}
	return n.paths
}

// maxPaths bounds the paths of one call, and maxWorkdirs the directories that it wants
// to work in.
const (
	maxPaths    = 1000
	maxWorkdirs = 8
)

// names gathers the paths of one call.
type names struct {
	tool     string
	paths    []string
	patterns []string // of paths
	workdirs []string // directories that the call itself wants to work in
}

// value takes one text of a call's input.
func (n *names) value(key, value string) {
	if guard.WorkdirKey(key) && value != "" {
		n.workdirs = append(n.workdirs, value)
		return
	}
	isPattern, isPath := n.isPattern(folded(key)), isPathName(folded(key))
	var list any // some models write a list as a text
	if text := strings.TrimSpace(value); (isPattern || isPath) && strings.HasPrefix(text, "[") && json.Unmarshal([]byte(text), &list) == nil {
		collect(list, key, n.value)
	}
	switch {
	case isPattern:
		n.patterns = append(n.patterns, value)
	case isPath:
		n.add(value)
	}
	if n.tool == "apply_patch" || !reads(n.tool) && n.tool != "Write" && n.tool != "Edit" {
		for _, p := range guard.Patched(value, false) {
			n.add(p)
		}
	}
}

// isPathName reports whether an argument is a path, by its folded name at any harness.
func isPathName(key string) bool {
	for _, part := range []string{"path", "file", "folder", "directory", "uri", "notebook"} {
		if strings.Contains(key, part) && key != "filetext" {
			return true
		}
	}
	return strings.HasPrefix(key, "dir") || strings.HasPrefix(key, "target") ||
		slices.Contains([]string{"root", "source", "src", "destination", "dest", "dst", "from", "to", "location", "url"}, key)
}

// isPattern reports whether an argument of a search is a pattern of paths.
func (n *names) isPattern(key string) bool {
	switch key {
	case "pattern", "patterns":
		return n.tool == "Glob"
	case "glob", "globs", "globpattern", "includepattern":
		return n.tool == "Glob" || n.tool == "Grep"
	case "include", "includes":
		return n.tool == "Glob" || n.tool == "Grep" || n.tool == "read_many_files"
	}
	return false
}

// add adds a path, and what a URI stands for.
func (n *names) add(p string) {
	p = guard.Trimmed(p)
	if len(p) <= 5 || !strings.EqualFold(p[:5], "file:") {
		n.put(p)
		return
	}
	rest := p[5:]
	if host := "//localhost"; len(rest) > len(host) && strings.EqualFold(rest[:len(host)], host) {
		rest = rest[len(host):]
	}
	p = "/" + strings.TrimLeft(rest, "/")
	bare := p
	if i := strings.IndexAny(p, "?#"); i >= 0 {
		bare = p[:i]
	}
	for _, form := range []string{p, bare} {
		if decoded, err := url.PathUnescape(form); err == nil {
			n.put(decoded)
		}
		n.put(form)
	}
}

func (n *names) put(p string) {
	if p != "" && len(n.paths) <= maxPaths && !slices.Contains(n.paths, p) {
		n.paths = append(n.paths, p)
	}
}

// pattern adds what a pattern of paths below dir stands for; false is that it is too
// much. That of a search in texts may be a list, and what begins with a ! there only
// takes from what is found.
func (n *names) pattern(dir, pattern string) bool {
	list := []string{pattern}
	if n.tool == "Grep" {
		list = append(list, split(pattern)...)
	}
	for _, one := range list {
		one = strings.TrimSpace(one)
		alternatives, ok := guard.Alternatives(one)
		if !ok {
			return false
		}
		for _, p := range alternatives {
			rooted := n.tool != "Grep" && (strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~"))
			switch start := guard.Start(p); {
			case n.tool == "Grep" && strings.HasPrefix(one, "!"):
			case start == "/":
				n.add(start)
				fallthrough
			case rooted, dir == "":
				n.add(p)
				if strings.Contains(start, "..") {
					n.add(start)
				}
			default:
				n.add(dir + "/" + p)
				if strings.Contains(start, "..") {
					n.add(dir + "/" + start)
				}
			}
		}
	}
	return true
}

// split cuts a list of patterns at blanks and commas, but not those in braces.
func split(list string) []string {
	depth := 0
	return strings.FieldsFunc(list, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		}
		return depth <= 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	})
}

// collect calls f with every string in an input and the key that it stands under.
func collect(v any, key string, f func(key, value string)) {
	switch v := v.(type) {
	case string:
		f(key, v)
	case []any:
		for _, e := range v {
			collect(e, key, f)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			collect(v[k], k, f)
		}
	}
}
