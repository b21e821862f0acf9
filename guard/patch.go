package guard

import (
	"strconv"
	"strings"
)

// patched returns the paths that a patch names: by the directives of apply_patch, and
// by the headers of a unified diff where there are none, or where it is not known which
// of them the tool reads.
func patched(text string, either bool) (paths []string) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	for _, line := range lines {
		if p := directive(line); p != "" {
			paths = append(paths, p)
		}
	}
	if len(paths) > 0 && !either {
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
		name = strings.TrimSpace(name)
		if plain, err := strconv.Unquote(name); err == nil { // git quotes as C does
			name = plain
		}
		name = strings.Trim(name, `"`)
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
