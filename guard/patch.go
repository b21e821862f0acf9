package guard

import "strings"

// patched returns the paths that a patch names: by the directives of apply_patch, or
// by the headers of a unified diff where there are none.
func patched(text string) (paths []string) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		if p := directive(line); p != "" {
			paths = append(paths, p)
		}
	}
	if len(paths) > 0 {
		return paths // a line "--- x" of such a patch takes away "-- x"
	}
	for _, line := range lines {
		paths = append(paths, header(line)...)
	}
	return paths
}

// directive returns the path of "*** Update File: path" and the like.
func directive(line string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "***")
	if !ok {
		return ""
	}
	what, name, _ := strings.Cut(rest, ":")
	switch strings.Join(strings.Fields(strings.ToLower(what)), " ") {
	case "add file", "update file", "delete file", "move to", "move file", "rename to":
		return strings.TrimSpace(name)
	}
	return ""
}

// header returns the path of "+++ b/path" and the like, with and without what git
// puts before it.
func header(line string) []string {
	for _, prefix := range []string{"+++ ", "--- ", "rename from ", "rename to ", "copy from ", "copy to "} {
		name, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, "\t")
		name = strings.Trim(strings.TrimSpace(name), `"`)
		switch {
		case name == "" || name == "/dev/null":
			return nil
		case strings.HasPrefix(name, "a/"), strings.HasPrefix(name, "b/"):
			return []string{name, name[2:]}
		}
		return []string{name}
	}
	return nil
}
