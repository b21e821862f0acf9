package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraced bounds the words that the braces of one word make.
const maxBraced = 256

func hasBrace(word *syntax.Word) bool {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			return true
		}
	}
	return false
}

// braced expands the braces of a word and evaluates what comes of it. Braces that
// the parser leaves alone and that bash might expand make the word unknown.
func (w *walker) braced(word *syntax.Word) []Word {
	from, to := word.Pos(), word.End()
	unknown := []Word{{Text: w.src[from.Offset():to.Offset()], Split: true}}
	split := &syntax.Word{Parts: append([]syntax.WordPart(nil), word.Parts...)}
	syntax.SplitBraces(split)
	lists, ok := expand(split.Parts)
	if !ok {
		w.word(word) // for its substitutions
		return unknown
	}
	var out []Word
	for _, parts := range lists {
		if joined(parts) {
			w.word(word)
			out = append(out, unknown...)
			continue
		}
		for _, part := range parts {
			if lit, ok := part.(*syntax.Lit); ok && maybeBrace(lit.Value) {
				w.word(word)
				return unknown
			}
		}
		out = append(out, w.word(&syntax.Word{Parts: parts}))
	}
	return out
}

// joined reports whether a part continues the name of the variable before it, which
// it does not in the text: bash expands braces first, and $x{1,2} is $x1 $x2.
func joined(parts []syntax.WordPart) bool {
	for i, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || i == 0 || lit.Value == "" {
			continue
		}
		if p, ok := parts[i-1].(*syntax.ParamExp); ok && p.Short && syntax.ValidName("_"+lit.Value[:1]) {
			return true
		}
	}
	return false
}

// maybeBrace reports whether a literal has what could be taken for a brace
// expansion.
func maybeBrace(s string) bool {
	at := strings.IndexByte(s, '{')
	return at >= 0 && (strings.Contains(s[at:], ",") || strings.Contains(s[at:], ".."))
}

// expand returns the lists of parts that the braces among parts make.
func expand(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	lists := [][]syntax.WordPart{nil}
	for _, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			for i := range lists {
				lists[i] = append(lists[i][:len(lists[i]):len(lists[i])], part)
			}
			continue
		}
		options, ok := elements(brace)
		if !ok || len(lists)*len(options) > maxBraced {
			return nil, false
		}
		var next [][]syntax.WordPart
		for _, list := range lists {
			for _, option := range options {
				next = append(next, append(list[:len(list):len(list)], option...))
			}
		}
		lists = next
	}
	return lists, true
}

func elements(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	var out [][]syntax.WordPart
	if !b.Sequence {
		for _, elem := range b.Elems {
			lists, ok := expand(elem.Parts)
			if !ok {
				return nil, false
			}
			out = append(out, lists...)
		}
		return out, len(out) <= maxBraced
	}
	if len(b.Elems) != 2 {
		return nil, false
	}
	from, err := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	padded := len(b.Elems[0].Lit()) > 1 && strings.ContainsAny(b.Elems[0].Lit()[:1], "0-+")
	if err != nil || err2 != nil || padded || from < 0 || to < from || to-from >= maxBraced {
		return nil, false
	}
	for n := from; n <= to; n++ {
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: strconv.Itoa(n)}})
	}
	return out, true
}
