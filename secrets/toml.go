package secrets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The part of TOML that gitleaks configurations are written in: tables, arrays of
// tables, bare keys, strings of all four kinds, numbers, booleans, and arrays of
// strings. All else is an error (docs/decisions/0016).

// table is one [name] or [[name]] and the keys below it. A value is a string, a
// float64, a bool or a []string.
type table struct {
	name   string
	list   bool // [[name]]
	line   int
	values map[string]any
}

// reader is what is left of a text.
type reader struct {
	rest string
	all  string
}

func (r *reader) line() int { return 1 + strings.Count(r.all[:len(r.all)-len(r.rest)], "\n") }

func parseTOML(text string) ([]table, error) {
	r := &reader{rest: text, all: text}
	tables := []table{{line: 1, values: make(map[string]any)}}
	for r.space(true); r.rest != ""; r.space(true) {
		if err := r.statement(&tables); err != nil {
			return nil, fmt.Errorf("line %d: %w", r.line(), err)
		}
	}
	return tables, nil
}

// space skips blanks, and with lines also newlines and comments.
func (r *reader) space(lines bool) {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t")
		switch {
		case lines && strings.HasPrefix(r.rest, "#"):
			end := strings.IndexByte(r.rest, '\n')
			if end < 0 {
				end = len(r.rest)
			}
			r.rest = r.rest[end:]
		case lines && (strings.HasPrefix(r.rest, "\n") || strings.HasPrefix(r.rest, "\r\n")):
			r.rest = r.rest[strings.IndexByte(r.rest, '\n')+1:]
		default:
			return
		}
	}
}

// statement reads one table header, or one key and its value, to the line's end.
func (r *reader) statement(tables *[]table) error {
	if strings.HasPrefix(r.rest, "[") {
		t := table{line: r.line(), values: make(map[string]any), list: strings.HasPrefix(r.rest, "[[")}
		open, end := "[", "]"
		if t.list {
			open, end = "[[", "]]"
		}
		r.rest = r.rest[len(open):]
		t.name = r.word(".")
		if t.name == "" || !r.next(end) {
			return errors.New("want the name of a table")
		}
		for _, other := range *tables {
			if !t.list && other.name == t.name && !strings.Contains(t.name, ".") {
				return fmt.Errorf("table %q stands here twice", t.name)
			}
		}
		*tables = append(*tables, t)
		return r.lineEnd()
	}
	key := r.word("")
	r.space(false)
	if key == "" || !r.next("=") {
		return errors.New("want a key and a value")
	}
	values := (*tables)[len(*tables)-1].values
	if _, twice := values[key]; twice {
		return fmt.Errorf("key %q stands here twice", key)
	}
	r.space(false)
	v, err := r.value()
	if err != nil {
		return err
	}
	values[key] = v
	return r.lineEnd()
}

func (r *reader) next(s string) bool {
	rest, ok := strings.CutPrefix(r.rest, s)
	r.rest = rest
	return ok
}

func (r *reader) lineEnd() error {
	r.space(false)
	if r.rest != "" && !strings.HasPrefix(r.rest, "#") && !strings.HasPrefix(r.rest, "\n") && !strings.HasPrefix(r.rest, "\r\n") {
		return errors.New("want the end of the line")
	}
	return nil
}

// word reads a bare key; also names the characters that it may hold beside.
func (r *reader) word(also string) string {
	end := strings.IndexFunc(r.rest, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && !strings.ContainsRune(also, c)
	})
	if end < 0 {
		end = len(r.rest)
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	return word
}

func (r *reader) value() (any, error) {
	switch {
	case strings.HasPrefix(r.rest, "["):
		return r.array()
	case strings.HasPrefix(r.rest, `"`), strings.HasPrefix(r.rest, "'"):
		return r.text()
	}
	switch word := r.word(".+"); word {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		if n, err := strconv.ParseFloat(word, 64); err == nil && strings.Trim(word, "0123456789.") == "" {
			return n, nil
		}
		return nil, errors.New("want a string, a number, a boolean or a list of strings")
	}
}

func (r *reader) array() (any, error) {
	r.next("[")
	list := []string{}
	for r.space(true); !r.next("]"); r.space(true) {
		s, err := r.text()
		if err != nil {
			return nil, err
		}
		list = append(list, s)
		r.space(true)
		if !r.next(",") && !strings.HasPrefix(r.rest, "]") {
			return nil, errors.New("want a comma or the end of the list")
		}
	}
	return list, nil
}

func (r *reader) text() (string, error) {
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if !r.next(quote) {
			continue
		}
		if len(quote) == 3 && !r.next("\n") {
			r.next("\r\n")
		}
		end := r.closing(quote)
		if end < 0 {
			return "", errors.New("the string has no end")
		}
		s := r.rest[:end]
		r.rest = r.rest[end+len(quote):]
		if quote[0] == '"' {
			return unescaped(s)
		}
		return s, nil
	}
	return "", errors.New("want a string")
}

// closing is where the string ends, or -1. Three quotes take those that follow
// into the string, as TOML has it.
func (r *reader) closing(quote string) int {
	for i := 0; i < len(r.rest); i++ {
		switch {
		case quote[0] == '"' && r.rest[i] == '\\':
			i++
		case len(quote) == 1 && r.rest[i] == '\n':
			return -1
		case strings.HasPrefix(r.rest[i:], quote):
			for len(quote) == 3 && strings.HasPrefix(r.rest[i+1:], quote) {
				i++
			}
			return i
		}
	}
	return -1
}

func unescaped(s string) (string, error) {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		n, c := 2, rune(0)
		switch s[i+1] {
		case 'b', 't', 'n', 'f', 'r', '"', '\\':
			c = rune("\b\t\n\f\r\"\\"[strings.IndexByte(`btnfr"\`, s[i+1])])
		case 'u', 'U':
			if n = 6; s[i+1] == 'U' {
				n = 10
			}
			if i+n > len(s) {
				return "", errors.New("a cut escape")
			}
			v, err := strconv.ParseUint(s[i+2:i+n], 16, 31)
			if err != nil {
				return "", errors.New("an escape that is no number")
			}
			c = rune(v)
		default:
			return "", fmt.Errorf("unknown escape %q", s[i:i+2])
		}
		b.WriteRune(c)
		s = s[i+n:]
	}
	return b.String(), nil
}
