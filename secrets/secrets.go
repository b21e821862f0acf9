// Package secrets finds what looks like a secret in a text: private keys, tokens
// with a vendor's prefix, passwords in URLs, and assignments that look like one.
//
// It goes by patterns. A secret in a form that none of them knows passes, and so
// does one that was encoded or cut in pieces.
package secrets

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/verdict"
)

// Finding is a place in a text that looks like a secret. It never holds the secret.
type Finding struct {
	// Line and Column count from 1, Column in bytes. Both are 0 where the name of
	// the file is what was found.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Length is that of the match in bytes.
	Length   int              `json:"length"`
	Kind     string           `json:"kind"`
	Decision verdict.Decision `json:"decision"`
}

// Scanner looks for secrets. The zero value finds nothing; see [New].
type Scanner struct {
	rules   []rule
	allowed map[[32]byte]bool
}

// New returns a Scanner for the kinds that this package knows.
func New() *Scanner { return &Scanner{rules: builtinRules(), allowed: make(map[[32]byte]bool)} }

// Allow lets a match, or the value in it, pass whose SHA-256 is sum.
func (s *Scanner) Allow(sum [32]byte) { s.allowed[sum] = true }

// Scan returns what looks like a secret in text, in the order of the places.
// Path is the name of the file, or "", and is itself looked at too. A text with
// NUL bytes, such as UTF-16, is looked at a second time without them; lines are
// right in both cases, columns in the first.
func (s *Scanner) Scan(path string, text []byte) []Finding {
	found := s.scan(path, text)
	if bytes.IndexByte(text, 0) >= 0 {
		found = append(found, s.scan(path, bytes.ReplaceAll(text, []byte{0}, nil))...)
	}
	for _, f := range s.scan("", []byte(path)) {
		f.Line, f.Column = 0, 0
		found = append(found, f)
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return slices.Compact(found)
}

// maxFindings is where a text that is denied already is read no further.
const maxFindings = 1000

// span is a match, by its bytes in the text.
type span struct{ from, to int }

func (s *Scanner) scan(path string, text []byte) []Finding {
	var found []Finding
	var claimed []span // by a kind that came before, as a secret or as none
	lower := lowered(text)
	for i := range s.rules {
		r := &s.rules[i]
		if r.path != nil && path != "" && !r.path.MatchString(path) {
			continue
		}
		if r.nameOnly {
			if path != "" {
				found = append(found, Finding{Kind: r.kind, Decision: r.decision})
			}
			continue
		}
		for _, w := range r.windows(lower) {
			for _, m := range r.pattern().FindAllSubmatchIndex(text[w.from:w.to], -1) {
				at := span{w.from + m[0], w.from + m[1]}
				if at.from == at.to || slices.ContainsFunc(claimed, func(c span) bool { return c.from <= at.from && at.to <= c.to }) {
					continue
				}
				claimed = append(claimed, at)
				value := text[w.from+r.valueFrom(m) : w.from+r.valueTo(m)]
				if s.passes(r, text[at.from:at.to], value) {
					continue
				}
				line, column := position(text, at.from)
				found = append(found, Finding{Line: line, Column: column, Length: at.to - at.from, Kind: r.kind, Decision: r.decision})
				if len(found) == maxFindings && r.decision == verdict.Deny {
					return found
				}
			}
		}
	}
	return found
}

// valueFrom and valueTo are the ends of the value in the match m.
func (r *rule) valueFrom(m []int) int { return m[2*r.valueGroup(m)] }
func (r *rule) valueTo(m []int) int   { return m[2*r.valueGroup(m)+1] }

func (r *rule) valueGroup(m []int) int {
	if r.group > 0 && 2*r.group < len(m) && m[2*r.group] >= 0 {
		return r.group
	}
	for g := len(m)/2 - 1; g > 0; g-- {
		if m[2*g] >= 0 {
			return g
		}
	}
	return 0
}

// passes reports whether a match is no secret: a placeholder, or allowed by name.
func (s *Scanner) passes(r *rule, match, value []byte) bool {
	if len(s.allowed) > 0 && (s.allowed[Sum(match)] || s.allowed[Sum(value)]) {
		return true
	}
	if r.entropy > 0 && entropy(value) < r.entropy {
		return true
	}
	if r.class == structure {
		return false
	}
	v := string(value)
	if crossedOut(v) || r.class != prefix && placeholder(v) {
		return true
	}
	return r.class == assignment && r.entropy > 0 && speaksOfNone(v)
}

// crossedOut reports whether a value is written as xxx or ***.
func crossedOut(v string) bool {
	return strings.Trim(v, "xX*-_.") == "" && strings.ContainsAny(v, "xX*")
}

// placeholder reports whether a value stands for another: $NAME, ${NAME}, <...>,
// or the word password.
func placeholder(v string) bool {
	if name, ok := strings.CutPrefix(v, "$"); ok {
		if inner, ok := strings.CutPrefix(name, "{"); ok {
			name, ok = strings.CutSuffix(inner, "}")
			return ok && isName(name)
		}
		return isName(name)
	}
	return len(v) > 2 && v[0] == '<' && v[len(v)-1] == '>' || strings.EqualFold(v, "password")
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if c != '_'|0x20 && (c < 'a' || c > 'z') && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}

// speaksOfNone reports whether the value of an assignment is a word or a note to
// the reader. A generated value of 16 characters without any digit is rare.
func speaksOfNone(v string) bool {
	if !strings.ContainsAny(v, "0123456789") {
		return true
	}
	v = strings.ToLower(v)
	return slices.ContainsFunc([]string{"example", "placeholder", "changeme", "your-", "your_", "redacted"},
		func(word string) bool { return strings.Contains(v, word) })
}

// entropy is Shannon's, in bits a character.
func entropy(v []byte) float64 {
	var counts [256]int
	for _, c := range v {
		counts[c]++
	}
	var bits float64
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// lowered is text with ASCII letters in lower case, byte for byte.
func lowered(text []byte) []byte {
	lower := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return lower
}

// windows are the parts of a text in which a rule can match: each line that holds
// a keyword and the one after it, because a value may follow its name there.
func (r *rule) windows(lower []byte) []span {
	if len(r.keywords) == 0 {
		return []span{{0, len(lower)}}
	}
	var list []span
	for _, word := range r.keywords {
		for at := 0; ; {
			i := bytes.Index(lower[at:], []byte(word))
			if i < 0 {
				break
			}
			if r.whole {
				return []span{{0, len(lower)}}
			}
			from := bytes.LastIndexByte(lower[:at+i], '\n') + 1
			line := lineEnd(lower, at+i)
			list = append(list, span{from, lineEnd(lower, line+1)})
			at = line
		}
	}
	slices.SortFunc(list, func(a, b span) int { return a.from - b.from })
	joined := list[:0]
	for _, w := range list {
		if n := len(joined); n > 0 && w.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, w.to)
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

// lineEnd is the end of the line that at is in: at its newline, or the text's end.
func lineEnd(text []byte, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

func position(text []byte, at int) (line, column int) {
	before := text[:at]
	return 1 + bytes.Count(before, []byte{'\n'}), at - bytes.LastIndexByte(before, '\n')
}
