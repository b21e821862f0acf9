package guard

import (
	"strconv"
	"strings"
)

// Patched returns the paths that a patch names: by the directives of apply_patch, and
// by the headers of a unified diff where there are none, or where it is not known which
// of them the tool reads.
func Patched(text string, either bool) (paths []string) {
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

// header returns the paths of "+++ b/path" and the like.
func header(line string) []string {
	if names, ok := strings.CutPrefix(line, "diff --git "); ok { // all that names what is binary, or has no text
		first, second := gitNames(names)
		return append(named(first), named(second)...)
	}
	for _, prefix := range []string{"+++ ", "--- ", "rename from ", "rename to ", "copy from ", "copy to "} {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			return named(name)
		}
	}
	return nil
}

// gitNames cuts the two names of a line of git's, which are as long as each other but
// for renamed files.
func gitNames(names string) (first, second string) {
	at := len(names) / 2
	if quoted, err := strconv.QuotedPrefix(names); err == nil {
		at = len(quoted)
	} else if i := strings.Index(names, ` "`); i >= 0 {
		at = i
	} else if at == len(names) || names[at] != ' ' {
		at = max(strings.LastIndexByte(names, ' '), 0)
	}
	return names[:at], names[at:]
}

// named returns a name of a diff, with and without what git puts before it.
func named(name string) []string {
	name, _, _ = strings.Cut(name, "\t")
	name = strings.TrimSpace(name)
	if plain, err := strconv.Unquote(name); err == nil { // git quotes as C does
		name = plain
	}
	name = strings.Trim(name, `"`)
	switch {
	case name == "" || name == "/dev/null":
		return nil
	case len(name) > 1 && name[1] == '/' && strings.IndexByte("abciow12", name[0]) >= 0: // diff.mnemonicPrefix
		return []string{name, name[2:]}
	}
	return []string{name}
}
