package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/policy"
)

// spellings are the clean absolute forms of a path: as it is written, and with
// its links resolved. known is false if the second cannot be told.
func (s *Set) spellings(name, cwd string) (forms []string, known bool) {
	full := s.expand(name)
	if w, ok := windows(full); ok {
		return []string{w}, true
	}
	if !strings.HasPrefix(full, "/") {
		if w, ok := windows(cwd); ok {
			return []string{path.Join(w, strings.ToLower(strings.ReplaceAll(full, `\`, "/")))}, true
		}
		full = cwd + "/" + full
	}
	forms = []string{path.Clean(full)}
	if moved, ok := ownPlace(full, cwd); ok { // of the process that opens it, not of this one
		forms, full = append(forms, path.Clean(moved)), moved
	}
	if s.Facts == nil {
		return forms, false
	}
	real, err := s.Facts.Real(full)
	if err != nil {
		return forms, false
	}
	return append(forms, real), true
}

// ownPlace is what /proc/self/cwd/x and the like mean to a process in cwd.
func ownPlace(name, cwd string) (string, bool) {
	parts := strings.SplitN(strings.TrimLeft(path.Clean(name), "/"), "/", 4)
	if len(parts) < 3 || parts[0] != "proc" {
		return "", false
	}
	rest := strings.Join(parts[3:], "/")
	switch parts[2] {
	case "cwd":
		return path.Join(cwd, rest), true
	case "root":
		return "/" + rest, true
	}
	return "", false
}

// expand replaces a leading ~ or $HOME.
func (s *Set) expand(name string) string {
	for _, prefix := range []string{"~", "$HOME"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] == '/') && s.Home != "" {
			return s.Home + rest
		}
	}
	return name
}

// windows returns a path of Windows in one spelling: lower case, with slashes.
func windows(p string) (string, bool) {
	slashed := strings.ReplaceAll(p, `\`, "/")
	if strings.Contains(p, `\`) {
		slashed = strings.TrimPrefix(slashed, "//?/")
	}
	bare := strings.TrimLeft(slashed, "/")
	drive := len(bare) >= 2 && bare[1] == ':' && (len(bare) == 2 || bare[2] == '/')
	if !drive && !strings.HasPrefix(p, `\\`) {
		return "", false
	}
	return "/" + path.Clean(strings.ToLower(bare)), true
}

// pattern returns the patterns that a rule's payload stands for, against clean
// absolute paths.
func (s *Set) patterns(r Rule, cwd string, strict bool) []string {
	raw := strings.ReplaceAll(strings.TrimSpace(r.Payload), `\`, "/")
	p := s.expand(raw)
	here := escape(cwd)
	if w, ok := windows(cwd); ok {
		here = escape(w)
		p = strings.ToLower(p)
	}
	var out []string
	w, isWindows := windows(p)
	switch {
	case isWindows:
		out = []string{w}
	case strings.HasPrefix(p, "//"):
		out = []string{p[1:]}
	case strings.HasPrefix(raw, "/") && r.claude && r.Project != "":
		out = []string{escape(r.Project) + p}
	case strings.HasPrefix(p, "/"):
		out = []string{p}
	default:
		p = strings.TrimPrefix(p, "./")
		from := []string{here}
		if strict && r.Project != "" && r.Project != cwd { // to go elsewhere is no way around a rule
			from = append(from, escape(r.Project))
		}
		for _, dir := range from {
			out = append(out, dir+"/"+p)
			if r.claude && strict && !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
				out = append(out, dir+"/**/"+p)
			}
		}
		if strings.HasPrefix(p, "**") && (strict || !r.claude) {
			out = append(out, "/"+p)
		}
	}
	for i := range out {
		out[i] = path.Clean(out[i])
		if !strict {
			continue
		}
		if real, ok := s.realStart(out[i]); ok {
			out = append(out, real, real+"/**")
		}
		out = append(out, out[i]+"/**") // what lies beneath a denied directory is denied
	}
	return out
}

// realStart is a pattern with the links resolved of the directory that it begins with,
// if these are any.
func (s *Set) realStart(pattern string) (string, bool) {
	parts := strings.Split(pattern, "/")
	n := 0
	for n < len(parts) && !strings.ContainsAny(unescape.Replace(parts[n]), `*?[{`) {
		n++
	}
	start := strings.ReplaceAll(strings.Join(parts[:n], "/"), `\`, "")
	if s.Facts == nil || n == len(parts) || start == "" {
		return "", false
	}
	real, err := s.Facts.Real(start)
	return escape(real) + "/" + strings.Join(parts[n:], "/"), err == nil && real != start
}

// unescape takes away the characters that escape wrote.
var unescape = strings.NewReplacer(`\*`, "", `\?`, "", `\[`, "", `\]`, "", `\{`, "", `\}`, "", `\\`, "")

// escape makes the characters of a directory's name stand for themselves.
func escape(dir string) string {
	var out strings.Builder
	for i := range len(dir) {
		if strings.IndexByte(`*?[]{}\`, dir[i]) >= 0 {
			out.WriteByte('\\')
		}
		out.WriteByte(dir[i])
	}
	return out.String()
}

// matchPath reports whether a rule about paths is met by name. strict is for deny
// and ask rules, which one spelling meets; an allow rule must be met by all.
func (s *Set) matchPath(r Rule, name, cwd string, strict bool) bool {
	n, patterns := s.spelled(name, cwd), s.compiled(r, cwd, strict)
	forms := n.forms
	if strict {
		forms = append(forms[:len(forms):len(forms)], n.slashed...)
	}
	for _, f := range forms {
		met := slices.ContainsFunc(patterns, func(p pattern) bool { return p.match(f, strict) })
		if met == strict {
			return met
		}
	}
	return !strict && n.known
}

// inside reports whether every spelling of a path is in the current directory or
// another that may be read.
func (s *Set) inside(name, cwd string) bool {
	forms, known := s.spellings(name, cwd)
	if !known {
		return false
	}
	for _, form := range forms {
		held := false
		for _, root := range s.roots(cwd) {
			rootForms, _ := s.spellings(root, cwd)
			for _, rootForm := range rootForms {
				held = held || policy.Holds(rootForm, form)
			}
		}
		if !held {
			return false
		}
	}
	return true
}

// roots are the directories that may be read without asking.
func (s *Set) roots(cwd string) []string {
	out := []string{cwd}
	for _, dir := range s.Directories {
		dir = s.expand(dir)
		if !strings.HasPrefix(dir, "/") {
			dir = path.Join(cwd, dir)
		}
		out = append(out, path.Clean(dir))
	}
	return out
}
