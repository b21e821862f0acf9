package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Reasons for which Parse refuses a text. A [*SyntaxError] wraps one of them, or
// one of the reasons of a [*RootError].
var (
	ErrJSON         = errors.New("not valid JSON")
	ErrType         = errors.New("wrong type")
	ErrUnknownField = errors.New("unknown field")
	ErrTwice        = errors.New("field given twice")
	ErrVersion      = errors.New("unknown version")
	ErrUTF8         = errors.New("not valid UTF-8")
	ErrTrailing     = errors.New("text after the policy")
)

// Parse reads a policy file. The text is one JSON object whose members are
// "version" (1), the four lists and "restrictWrites", each at most once and
// spelled exactly so. Everything else is refused with a [*SyntaxError] that
// names the place: an unknown or repeated field, a null, a wrong type, text
// after the object, invalid UTF-8 or half a surrogate pair, and a path that is
// relative, or that holds a NUL or one of the characters * ? [ $ ~, which are
// shorthand in a shell and are never expanded here.
//
// The standard decoder cannot be asked for this: it matches names without
// regard to case, keeps the last of two equal names, takes null for "leave it",
// turns broken UTF-8 into U+FFFD, and knows no lines (docs/decisions/0002).
func Parse(text []byte) (Policy, error) {
	d := decoder{text: string(text)}
	var p Policy
	if err := d.policy(&p); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// decoder walks over the text once; at is the next byte.
type decoder struct {
	text string // what is read from it are parts of it
	at   int
}

// fail makes the error for the byte at offset.
func (d *decoder) fail(offset int, field string, err error, fix string) error {
	before := d.text[:offset]
	line := 1
	start := 0
	for i := range len(before) {
		if before[i] == '\n' {
			line++
			start = i + 1
		}
	}
	return &SyntaxError{Line: line, Column: offset - start + 1, Field: field, Err: err, Fix: fix}
}

func (d *decoder) policy(p *Policy) error {
	if d.peek() != '{' {
		return d.fail(d.at, "", fmt.Errorf("%w: want { and found %s", ErrJSON, d.found()), "a policy is one JSON object")
	}
	d.at++
	var seen []string
	for first := true; ; first = false {
		if d.peek() == '}' && first {
			break
		}
		start := d.at
		name, err := d.string("")
		if err != nil {
			return err
		}
		if slices.Contains(seen, name) {
			return d.fail(start, name, ErrTwice, "keep one of them")
		}
		seen = append(seen, name)
		if !isField(name) {
			return d.fail(start, name, ErrUnknownField, suggest(name))
		}
		if d.peek() != ':' {
			return d.fail(d.at, name, fmt.Errorf("%w: want : and found %s", ErrJSON, d.found()), "")
		}
		d.at++
		if err := d.member(p, name); err != nil {
			return err
		}
		end, err := d.more('}', name)
		if err != nil {
			return err
		}
		if end {
			break
		}
	}
	d.at++
	if d.peek() != 0 || d.at < len(d.text) {
		return d.fail(d.at, "", fmt.Errorf("%w: %s", ErrTrailing, d.found()), "a policy file holds one object and nothing else")
	}
	return nil
}

// more steps over a comma, or stops before the closing byte.
func (d *decoder) more(closing byte, field string) (end bool, err error) {
	switch d.peek() {
	case ',':
		d.at++
		return false, nil
	case closing:
		return true, nil
	}
	return false, d.fail(d.at, field, fmt.Errorf("%w: want , or %c and found %s", ErrJSON, closing, d.found()), "")
}

func (d *decoder) member(p *Policy, name string) error {
	d.peek()
	start := d.at
	switch name {
	case "version":
		word := d.word()
		if _, err := strconv.ParseInt(word, 10, 64); err != nil {
			return d.fail(start, name, fmt.Errorf("%w: want the number %d", ErrType, Version), "")
		}
		if word != strconv.Itoa(Version) {
			return d.fail(start, name, fmt.Errorf("%w %s", ErrVersion, word), fmt.Sprintf("this program knows version %d", Version))
		}
		return nil
	case "restrictWrites":
		switch d.word() {
		case "true":
			p.RestrictWrites = true
		case "false":
		default:
			return d.fail(start, name, fmt.Errorf("%w: want true or false", ErrType), "")
		}
		return nil
	}
	for _, l := range Lists() {
		if name == l.String() {
			return d.roots(p.list(l), name)
		}
	}
	panic("policy: field without a reader: " + name)
}

func (d *decoder) roots(into *[]string, field string) error {
	if d.peek() != '[' {
		return d.fail(d.at, field, fmt.Errorf("%w: want a list of paths", ErrType), `write ["/path"], or [] for none`)
	}
	d.at++
	for first := true; ; first = false {
		if d.peek() == ']' && first {
			break
		}
		if d.peek() != '"' {
			return d.fail(d.at, field, fmt.Errorf("%w: want a path in quotes and found %s", ErrType, d.found()), "")
		}
		start := d.at
		path, err := d.string(field)
		if err != nil {
			return err
		}
		if err, fix := checkWritten(path); err != nil {
			return d.fail(start, field, fmt.Errorf("%q: %w", path, err), fix)
		}
		*into = append(*into, path)
		end, err := d.more(']', field)
		if err != nil {
			return err
		}
		if end {
			break
		}
	}
	d.at++
	return nil
}

// peek steps over white space and returns the next byte, or 0 at the end.
func (d *decoder) peek() byte {
	for d.at < len(d.text) {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n':
			d.at++
		default:
			return c
		}
	}
	return 0
}

// found describes what stands at the current place, for an error.
func (d *decoder) found() string {
	if d.at >= len(d.text) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRuneInString(d.text[d.at:])
	return strconv.QuoteRune(r)
}

// word reads a run of the bytes that numbers and the three literals are made of.
func (d *decoder) word() string {
	start := d.at
	for d.at < len(d.text) {
		c := d.text[d.at]
		if c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			break
		}
		d.at++
	}
	return d.text[start:d.at]
}

// string reads a JSON string (RFC 8259, 7). Bytes that are not UTF-8 and
// escapes that name half a surrogate pair are refused: a path that was mangled
// on the way would protect a path that nobody meant.
func (d *decoder) string(field string) (string, error) {
	if d.peek() != '"' {
		return "", d.fail(d.at, field, fmt.Errorf("%w: want a quoted name and found %s", ErrJSON, d.found()), "")
	}
	d.at++
	start := d.at // of what has no escape in it
	var out []byte
	for d.at < len(d.text) {
		c := d.text[d.at]
		switch {
		case c == '"':
			rest := d.text[start:d.at]
			d.at++
			if out == nil {
				return rest, nil
			}
			return string(append(out, rest...)), nil
		case c == '\\':
			out = append(out, d.text[start:d.at]...)
			r, err := d.escape(field)
			if err != nil {
				return "", err
			}
			out = utf8.AppendRune(out, r)
			start = d.at
		case c < ' ':
			return "", d.fail(d.at, field, fmt.Errorf("%w: control byte %#02x in a string", ErrJSON, c), `write it as an escape, as in "\n"`)
		case c < utf8.RuneSelf:
			d.at++
		default:
			r, n := utf8.DecodeRuneInString(d.text[d.at:])
			if r == utf8.RuneError && n <= 1 {
				return "", d.fail(d.at, field, ErrUTF8, "give a path that is not UTF-8 by a flag, where it is taken byte by byte")
			}
			d.at += n
		}
	}
	return "", d.fail(d.at, field, fmt.Errorf("%w: the string does not end", ErrJSON), "")
}

const simpleEscapes = `""\\//b` + "\b" + `f` + "\f" + `n` + "\n" + `r` + "\r" + `t` + "\t"

// escape reads one escape sequence; d.at is at the backslash.
func (d *decoder) escape(field string) (rune, error) {
	start := d.at
	bad := func() (rune, error) {
		return 0, d.fail(start, field, fmt.Errorf("%w: unknown escape in a string", ErrJSON), "")
	}
	if d.at+1 >= len(d.text) {
		return bad()
	}
	c := d.text[d.at+1]
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == c {
			d.at += 2
			return rune(simpleEscapes[i+1]), nil
		}
	}
	r, ok := d.hex4()
	if !ok {
		return bad()
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	low, ok := d.hex4()
	if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
		return pair, nil
	}
	return 0, d.fail(start, field, fmt.Errorf("%w: half a surrogate pair", ErrUTF8), "")
}

// hex4 reads \uXXXX.
func (d *decoder) hex4() (rune, bool) {
	if d.at+6 > len(d.text) || d.text[d.at] != '\\' || d.text[d.at+1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range d.text[d.at+2 : d.at+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	d.at += 6
	return r, true
}

func fields() []string {
	names := []string{"version", "restrictWrites"}
	for _, l := range Lists() {
		names = append(names, l.String())
	}
	return names
}

func isField(name string) bool { return slices.Contains(fields(), name) }

// suggest names the field that was most likely meant.
func suggest(name string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", "Roots", "", "roots", "").Replace(s))
	}
	for _, f := range fields() {
		if plain(f) == plain(name) {
			return fmt.Sprintf("write %q", f)
		}
	}
	return "the fields are " + strings.Join(fields(), ", ")
}

// AppendJSON appends p as a policy file that Parse reads back to an equal
// policy. It fails with a [*RootError] on a path that a policy file cannot
// carry: one that is not UTF-8, or that Parse would take for shorthand.
func (p Policy) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"version":`...)
	dst = strconv.AppendInt(dst, Version, 10)
	for _, l := range Lists() {
		dst = append(dst, `,"`...)
		dst = append(dst, l.String()...)
		dst = append(dst, `":[`...)
		for i, path := range p.Roots(l) {
			err, fix := checkWritten(path)
			if err == nil && !utf8.ValidString(path) {
				err, fix = ErrUTF8, "give it by a flag"
			}
			if err != nil {
				return nil, &RootError{List: l, Path: path, Err: err, Fix: fix}
			}
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendQuoted(dst, path)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"restrictWrites":`...)
	dst = strconv.AppendBool(dst, p.RestrictWrites)
	return append(dst, '}'), nil
}

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD: use it for what people read, and AppendJSON for what is read back.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
