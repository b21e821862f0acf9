// Package jsonline reads one line of JSON that another program wrote: a flat
// object of texts and whole numbers, and nothing that two readers could take for
// different things.
//
// It is a reader of its own for logs that are read at each start: with encoding/json
// a log takes more than four times as long. What is taken here that takes too, with the
// same texts; a fuzz test compares them.
//
// # Limits
//
// Half a surrogate pair in a text becomes U+FFFD, as encoding/json has it: a text
// read here is compared with words, or shown, and never names a file.
package jsonline

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Object returns the members of the object that line is, each as it is written in a
// text. A name that stands twice, a value of another kind, broken UTF-8 and
// anything behind the object are errors. Names differ by case.
func Object(line []byte) (map[string]string, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not UTF-8")
	}
	r := reader{string(line)}
	if !r.takes('{') {
		return nil, errors.New("not an object")
	}
	members := map[string]string{}
	for more := !r.takes('}'); more; {
		name, err := r.text()
		if err != nil {
			return nil, err
		}
		if !r.takes(':') {
			return nil, errJSON
		}
		value, err := r.value()
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%q stands twice", name)
		}
		members[name] = value
		if more = r.takes(','); !more && !r.takes('}') {
			return nil, errJSON
		}
	}
	if r.space(); r.rest != "" {
		return nil, errors.New("something follows the object")
	}
	return members, nil
}

var errJSON = errors.New("not JSON")

// reader reads what is left of a line.
type reader struct{ rest string }

func (r *reader) space() { r.rest = strings.TrimLeft(r.rest, " \t\r\n") }

// takes skips blanks and then c, if it is there.
func (r *reader) takes(c byte) bool {
	r.space()
	if r.rest == "" || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// value reads a text or a whole number.
func (r *reader) value() (string, error) {
	if r.space(); strings.HasPrefix(r.rest, `"`) {
		return r.text()
	}
	digits := strings.TrimPrefix(r.rest, "-")
	after := strings.TrimLeft(digits, "0123456789")
	number := r.rest[:len(r.rest)-len(after)]
	n := len(digits) - len(after)
	if n == 0 || n > 1 && digits[0] == '0' || after != "" && strings.IndexByte(".eE", after[0]) >= 0 {
		return "", errors.New("neither a text nor a whole number")
	}
	r.rest = after
	return number, nil
}

// What follows a backslash, and what that means.
const (
	escapes = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

// text reads a text in quotes.
func (r *reader) text() (string, error) {
	if !r.takes('"') {
		return "", errJSON
	}
	var before []byte // what escapes were in
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c < ' ':
			return "", errJSON
		case c == '"':
			s := string(before) + r.rest[:i]
			r.rest = r.rest[i+1:]
			return s, nil
		case c == '\\':
			before = append(before, r.rest[:i]...)
			r.rest = r.rest[i+1:]
			if r.rest == "" {
				return "", errJSON
			}
			if n := strings.IndexByte(escapes, r.rest[0]); n >= 0 {
				before = append(before, meant[n])
				r.rest = r.rest[1:]
			} else if c, ok := r.character(); ok {
				before = utf8.AppendRune(before, c)
			} else {
				return "", errJSON
			}
			i = -1
		}
	}
	return "", errJSON
}

// character reads what follows the backslash of \u0041, and the second half of a
// surrogate pair where there is one.
func (r *reader) character() (rune, bool) {
	c, ok := unit(r.rest)
	if !ok {
		return 0, false
	}
	r.rest = r.rest[5:]
	if !utf16.IsSurrogate(c) {
		return c, true
	}
	next, _ := strings.CutPrefix(r.rest, `\`)
	low, ok := unit(next)
	whole := utf16.DecodeRune(c, low)
	if ok && len(next) < len(r.rest) && whole != utf8.RuneError {
		r.rest = next[5:]
	} else {
		whole = utf8.RuneError
	}
	return whole, true
}

// unit reads u0041.
func unit(s string) (c rune, ok bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	for _, d := range []byte(s[1:5]) {
		i := strings.IndexByte("0123456789abcdefABCDEF", d)
		switch {
		case i < 0:
			return 0, false
		case i > 15:
			i -= 6
		}
		c = c<<4 | rune(i)
	}
	return c, true
}
