package commit

import (
	"slices"
	"strings"
)

// head is the frontmatter of a memory file: what stands between "---" in the first
// line and the next line of that kind.
type head struct {
	lines  []string
	opened bool
	closed bool
}

func headOf(text []byte) head {
	lines := strings.Split(string(text), "\n")
	if lines[0] != "---" {
		return head{}
	}
	end := slices.Index(lines[1:], "---")
	if end < 0 {
		return head{opened: true}
	}
	return head{lines: lines[1 : 1+end], opened: true, closed: true}
}

// values are what a key that begins its line is given, once for each such line.
func (h head) values(key string) []string {
	var list []string
	for _, line := range h.lines {
		if k, v, ok := field(line); ok && k == key {
			list = append(list, v)
		}
	}
	return list
}

// field splits a line. Lines that begin with a blank continue the one before.
func field(line string) (key, value string, ok bool) {
	if strings.TrimSpace(line) == "" || line[0] == ' ' || line[0] == '\t' {
		return "", "", false
	}
	key, value, _ = strings.Cut(line, ":")
	return strings.ReplaceAll(key, " ", ""), strings.TrimSpace(value), true
}

// isReadOnly reports whether a committed file says that it is read-only, in any
// spelling that a YAML reader takes for true, with line ends of either kind.
func isReadOnly(text []byte) bool {
	h := headOf([]byte(strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r", "")))
	for _, line := range h.lines {
		key, value, _ := field(line)
		value, _, _ = strings.Cut(value, " #")
		value = strings.ToLower(strings.Trim(value, " \t\"'"))
		if strings.Trim(key, "\"'") == "read_only" && slices.Contains([]string{"true", "yes", "on", "1"}, value) {
			return true
		}
	}
	return false
}

// frontmatter returns what is wrong with that of a memory file, as letta-code has
// it. Old is the file as it is committed, or nil for a new one.
func frontmatter(old, text []byte) []string {
	h := headOf(text)
	switch {
	case !h.opened:
		return []string{"the frontmatter is missing: the first line must be ---"}
	case !h.closed:
		return []string{"the frontmatter is not closed by a line ---"}
	}
	var wrong []string
	if strings.ContainsAny(strings.Join(h.lines, "\n"), "\r\x00\u0085\u2028\u2029") {
		wrong = append(wrong, "the frontmatter holds a line break that is no newline, or a NUL")
	}
	described := false
	for i, line := range h.lines {
		key, value, ok := field(line)
		if !ok {
			continue
		}
		switch key {
		case "description":
			described = true
			if strings.Trim(value, `"' `) == "" || isBlock(value) && !continued(h.lines[i+1:]) {
				wrong = append(wrong, "the description is empty")
			}
		case "limit", "read_only":
		default:
			wrong = append(wrong, "the frontmatter has an unknown key; it may have description, limit and read_only")
		}
	}
	if !described {
		wrong = append(wrong, "the frontmatter has no description")
	}
	was, is := headOf(old).values("read_only"), h.values("read_only")
	if !slices.Equal(was, is) {
		wrong = append(wrong, "read_only may not be added, changed or removed")
	}
	return wrong
}

// isBlock reports whether a value is a YAML block scalar's sign, so that the text
// follows below.
func isBlock(value string) bool {
	return value != "" && (value[0] == '|' || value[0] == '>') && strings.Trim(value[1:], "+-0123456789") == ""
}

func continued(lines []string) bool {
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case line[0] == ' ' || line[0] == '\t':
			return true
		default:
			return false
		}
	}
	return false
}
