package credential

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseStore reads a store: that of this program, or DSH's .credentials.yaml, whose
// form it has. Either all lines are NAME: value, as DSH wrote them first, or there
// are the sections
//
//	version: 1
//	refs:
//	  NAME: value
//
// and beside them records, which hold no references and are passed over. Values are
// plain, or in single or double quotes, on one line. All else that YAML allows is an
// error that names the line: a value is better missing than misread.
func ParseStore(text []byte) (map[string]string, error) {
	p := storeParser{refs: map[string]string{}, seen: map[string]bool{}}
	if !utf8.Valid(text) {
		return nil, &lineError{1, "not UTF-8"}
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		p.line++
		if err := p.read(strings.TrimSuffix(line, "\r")); err != nil {
			return nil, err
		}
	}
	if p.seen["refs"] && !p.seen["version"] {
		return nil, &lineError{p.line, "no version"}
	}
	return p.refs, nil
}

type storeParser struct {
	line    int
	section string // in which indented lines are, or ""
	indent  int    // of the lines of refs, once there is one
	flat    bool   // a reference stands at the margin
	refs    map[string]string
	seen    map[string]bool // the keys at the margin
}

func (p *storeParser) fail(what string) error { return &lineError{p.line, what} }

func (p *storeParser) read(line string) error {
	body := strings.TrimLeft(line, " ")
	indent := len(line) - len(body)
	switch {
	case body == "" || body[0] == '#':
		return nil
	case p.section == "records" && indent > 0:
		return nil
	case strings.ContainsFunc(body, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return p.fail("a control character")
	}
	key, value, ok := strings.Cut(body, ":")
	if !ok || value != "" && value[0] != ' ' {
		return p.fail("want NAME: value")
	}
	value = strings.TrimSpace(value)
	if indent == 0 {
		return p.margin(key, value)
	}
	if p.section != "refs" || p.indent != 0 && p.indent != indent {
		return p.fail("an indentation that does not fit")
	}
	p.indent = indent
	return p.reference(key, value)
}

// margin reads a line that is not indented.
func (p *storeParser) margin(key, value string) error {
	if p.seen[key] {
		return p.fail("a name that is there twice")
	}
	p.seen[key], p.section = true, ""
	switch {
	case p.flat || key != "version" && key != "refs" && key != "records":
		if p.seen["version"] || p.seen["refs"] || p.seen["records"] {
			return p.fail("a reference outside refs")
		}
		p.flat = true
		return p.reference(key, value)
	case key == "version" && value != "1":
		return p.fail("not version 1")
	case key == "version" || value == "{}":
	case value == "" || value[0] == '#':
		p.section = key
	default:
		return p.fail("want the entries on lines of their own")
	}
	return nil
}

func (p *storeParser) reference(name, value string) error {
	if !ValidName(name) {
		return p.fail("the name is not that of a reference")
	}
	if _, twice := p.refs[name]; twice {
		return p.fail("a name that is there twice")
	}
	text, ok := scalar(value)
	if !ok {
		return p.fail("the value is not plain text, or text in quotes, on one line")
	}
	p.refs[name] = text
	return nil
}

// scalar reads a YAML scalar that is a string, on one line.
func scalar(s string) (string, bool) {
	if s == "" {
		return "", false
	}
	if s[0] == '\'' || s[0] == '"' {
		body, rest, ok := quotedScalar(s)
		return body, ok && (rest == "" || rest[0] == ' ' && strings.HasPrefix(strings.TrimLeft(rest, " "), "#"))
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimRight(s[:i], " ")
	}
	// Indicators, which begin something else, and what is not a string to YAML.
	if strings.ContainsRune("-?:,[]{}#&*!|>%@`", rune(s[0])) || strings.Contains(s, ": ") || strings.HasSuffix(s, ":") {
		return "", false
	}
	if _, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64); err == nil {
		return "", false
	}
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return "", false
	}
	return s, !slices.Contains([]string{"~", "null", "true", "false", "yes", "no", "on", "off", ".inf", ".nan"}, strings.ToLower(s))
}

// quotedScalar reads a scalar in quotes, and returns what follows it.
func quotedScalar(s string) (body, rest string, ok bool) {
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case s[0] == '\'' && strings.HasPrefix(s[i:], "''"):
			out.WriteByte('\'')
			i++
		case c == s[0]:
			return out.String(), s[i+1:], true
		case s[0] == '"' && c == '\\':
			r, width := escape(s[i:])
			if width == 0 {
				return "", "", false
			}
			out.WriteRune(r)
			i += width - 1
		default:
			out.WriteByte(c)
		}
	}
	return "", "", false
}

// escape reads one of the escapes that JSON and YAML share.
func escape(s string) (r rune, width int) {
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/nrt`, s[1]); i >= 0 {
		return rune("\"\\/\n\r\t"[i]), 2
	}
	if s[1] != 'u' || len(s) < 6 {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
		return 0, 0 // a surrogate: the writers of these files have no need of one
	}
	return rune(n), 6
}

// FormatStore writes the references as a store, which ParseStore and YAML read.
func FormatStore(refs map[string]string) []byte {
	out := []byte("version: 1\nrefs:")
	if len(refs) == 0 {
		return append(out, " {}\n"...)
	}
	out = append(out, '\n')
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		out = append(out, "  "+name+": \""...)
		for _, r := range refs[name] {
			switch {
			case r == '"' || r == '\\':
				out = append(out, '\\', byte(r))
			case r == '\n':
				out = append(out, '\\', 'n')
			case r < ' ' || 0x7f <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
				digits := strconv.FormatUint(uint64(r), 16)
				out = append(out, `\u`+"0000"[len(digits):]+digits...)
			default:
				out = utf8.AppendRune(out, r)
			}
		}
		out = append(out, "\"\n"...)
	}
	return out
}
