package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// value is a word under evaluation.
type value struct {
	text    strings.Builder // what it is, if it is known
	pattern strings.Builder // the same with what was quoted escaped
	unknown bool
	glob    bool
	split   bool
	stream  bool
}

// words expands braces and evaluates each word.
func (w *walker) words(list []*syntax.Word) []Word {
	out := make([]Word, 0, len(list))
	for _, word := range list {
		if w.lang == syntax.LangBash && hasBrace(word) {
			out = append(out, w.braced(word)...)
			continue
		}
		out = append(out, w.word(word))
	}
	return out
}

// word evaluates a word that is not subject to brace expansion, and collects the
// commands of its substitutions.
func (w *walker) word(word *syntax.Word) Word {
	if word == nil {
		return Word{}
	}
	if len(word.Parts) == 1 { // most words
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && (lit.Value == "[" || !strings.ContainsAny(lit.Value, "\\*?[~")) {
			return Word{Text: lit.Value, Known: true}
		}
	}
	if alone, ok := w.alone(word); ok {
		return alone
	}
	var v value
	for i, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && i == 0 && strings.HasPrefix(lit.Value, "~") {
			w.tilde(&v, lit.Value, len(word.Parts) > 1)
			continue
		}
		w.part(&v, part, false)
	}
	switch {
	case v.unknown:
		return Word{Text: w.source(word), Split: v.split || v.glob, Stream: v.stream && len(word.Parts) == 1}
	case v.glob:
		return Word{Text: v.pattern.String(), Glob: true, Split: true}
	}
	return Word{Text: v.text.String(), Known: true}
}

// source is a word as it stands in the text.
func (w *walker) source(word *syntax.Word) string {
	from, to := int(word.Pos().Offset()), int(word.End().Offset())
	if from > to || to > len(w.src) {
		return ""
	}
	return w.src[from:to]
}

// alone returns the value of a word that is one loop variable and nothing else:
// a pattern that the loop goes through stays a pattern, of which quotes make one
// word.
func (w *walker) alone(word *syntax.Word) (Word, bool) {
	if len(word.Parts) != 1 {
		return Word{}, false
	}
	part := word.Parts[0]
	q, quoted := part.(*syntax.DblQuoted)
	if quoted && len(q.Parts) == 1 && !q.Dollar {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || !plain(p) {
		return Word{}, false
	}
	value, ok := w.lookup(p.Param.Value)
	value.Split, value.Resplit = !quoted, !quoted
	return value, ok && value.Glob
}

// hereDoc returns the body of a here-document.
func (w *walker) hereDoc(r *syntax.Redirect) Word {
	if r.Hdoc == nil {
		return Word{Known: true}
	}
	if body := r.Hdoc.Lit(); len(r.Hdoc.Parts) == 1 && r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), "\\") {
		return Word{Text: body, Known: true}
	}
	var v value
	for _, part := range r.Hdoc.Parts {
		w.part(&v, part, true)
	}
	return Word{Text: v.text.String(), Known: !v.unknown}
}

func (v *value) literal(s string, quoted bool) {
	v.text.WriteString(s)
	if !quoted {
		v.pattern.WriteString(s)
		return
	}
	for i := range len(s) {
		if strings.IndexByte(`*?[]\{}`, s[i]) >= 0 {
			v.pattern.WriteByte('\\')
		}
		v.pattern.WriteByte(s[i])
	}
}

// part evaluates a part of a word, in double quotes or not.
func (w *walker) part(v *value, part syntax.WordPart, quoted bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		v.lit(p.Value, quoted)
	case *syntax.SglQuoted:
		if !p.Dollar {
			v.literal(p.Value, true)
		} else if s, ok := ansiC(p.Value); ok {
			v.literal(s, true)
		} else {
			v.unknown = true
		}
	case *syntax.DblQuoted:
		v.unknown = v.unknown || p.Dollar // the text is looked up in a catalogue
		for _, inner := range p.Parts {
			w.part(v, inner, true)
		}
	case *syntax.ParamExp:
		w.param(v, p, quoted)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			w.doubt(p, "a substitution of another shell")
		}
		w.stmts(p.Stmts)
		v.expand(quoted)
	case *syntax.ProcSubst:
		if p.Op != syntax.CmdIn {
			w.doubt(p, "a process substitution that takes input")
		}
		w.stmts(p.Stmts)
		v.unknown, v.stream = true, p.Op == syntax.CmdIn
	case *syntax.ArithmExp:
		if !constant(p) {
			w.doubt(p, "arithmetic evaluates what its variables hold")
			w.substitutions(p)
		}
		v.unknown = true
	default:
		w.doubt(p, "an extended pattern")
		v.expand(quoted)
	}
}

// expand notes an expansion whose value is not known.
func (v *value) expand(quoted bool) {
	v.unknown = true
	v.split = v.split || !quoted
}

// lit evaluates a literal: outside quotes a backslash quotes any character, in
// double quotes only some.
func (v *value) lit(s string, quoted bool) {
	if !quoted && (strings.Contains(s, "=~") || strings.Contains(s, ":~")) {
		v.unknown = true // bash expands a tilde in what looks like an assignment
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\", s[i+1]) >= 0):
			i++
			v.literal(s[i:i+1], true)
		case quoted:
			v.literal(s[i:i+1], true)
		default:
			v.glob = v.glob || c == '*' || c == '?' || c == '['
			v.literal(s[i:i+1], false)
		}
	}
}

func (w *walker) tilde(v *value, s string, more bool) {
	home, ok := w.lookup("HOME")
	rest := s[1:]
	if !ok || !home.Known || home.Text == "" || rest == "" && more || rest != "" && rest[0] != '/' {
		v.unknown = true
	}
	v.literal(home.Text, true)
	v.lit(rest, false)
}

func (w *walker) lookup(name string) (Word, bool) {
	word, ok := w.vars[name]
	return word, ok && !w.anyVar && !slices.Contains(w.tainted, name)
}

func (w *walker) param(v *value, p *syntax.ParamExp, quoted bool) {
	if !plain(p) {
		w.paramParts(p)
		v.expand(quoted && p.Index == nil && p.Names == 0 && !manyWords(p))
		return
	}
	word, ok := w.lookup(p.Param.Value)
	switch {
	case !ok:
		v.expand(quoted && !manyWords(p))
	case !word.Known:
		v.expand(quoted)
	case !quoted && (word.Text == "" || strings.ContainsAny(word.Text, " \t\n*?[\\")):
		v.expand(false)
	default:
		v.literal(word.Text, true)
	}
}

// plain reports whether p is $name or ${name}.
func plain(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Flags == nil && p.NestedParam == nil &&
		p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil && len(p.Modifiers) == 0
}

// manyWords reports whether p is "$@" or the like, which quotes do not join.
func manyWords(p *syntax.ParamExp) bool {
	return p.Param == nil || p.Param.Value == "@" || p.Param.Value == "*"
}

// paramParts looks at the words within ${ }, and at what evaluates a value as a
// program text.
func (w *walker) paramParts(p *syntax.ParamExp) {
	if p.Excl || p.Exp != nil && p.Exp.Op == syntax.OtherParamOps || p.NestedParam != nil {
		w.doubt(p, "an expansion that evaluates a value")
	}
	if p.Exp != nil && (p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull) {
		w.doubt(p, "an expansion that sets a variable")
	}
	if p.Index != nil && !constant(p.Index) || p.Slice != nil && !constantSlice(p.Slice) {
		w.doubt(p, "a subscript that is evaluated")
	}
	w.substitutions(p)
	if p.Exp != nil && p.Exp.Word != nil {
		w.unevaluated(p.Exp.Word)
	}
	if p.Repl != nil {
		w.unevaluated(p.Repl.Orig)
		w.unevaluated(p.Repl.With)
	}
}

func constantSlice(s *syntax.Slice) bool {
	return (s.Offset == nil || constant(s.Offset)) && (s.Length == nil || constant(s.Length))
}

// unevaluated notes the doubts in a word that is not evaluated: its commands have
// been collected already.
func (w *walker) unevaluated(word *syntax.Word) {
	if word == nil {
		return
	}
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			if !constant(n) {
				w.doubt(n, "arithmetic evaluates what its variables hold")
			}
		case *syntax.ParamExp:
			if n.Excl || n.Exp != nil || n.Index != nil || n.Slice != nil || n.Repl != nil {
				w.doubt(n, "an expansion within an expansion")
			}
		case *syntax.ProcSubst, *syntax.ExtGlob:
			w.doubt(n, "a substitution within an expansion")
		}
		return true
	})
}

// ansiC decodes what stands in $' '. It is false for what it does not know, and
// for a NUL, which ends the word in bash.
func ansiC(s string) (string, bool) {
	const simple, means = `abeEfnrtv\'"?`, "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		if at := strings.IndexByte(simple, s[i]); at >= 0 {
			out.WriteByte(means[at])
			continue
		}
		base, digits, from := 16, 0, i+1
		switch s[i] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			base, digits, from = 8, 3, i
		}
		end := from
		for end < len(s) && end < from+digits && isDigit(s[end], base) {
			end++
		}
		n, err := strconv.ParseUint(s[from:end], base, 32)
		wide := s[i] == 'u' || s[i] == 'U'
		if err != nil || n == 0 || !wide && byte(n) == 0 || wide && n >= 0x80 { // \400 is a NUL too, and \u80 up to the locale
			return "", false
		}
		if wide {
			out.WriteRune(rune(n))
		} else {
			out.WriteByte(byte(n))
		}
		i = end - 1
	}
	return out.String(), true
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}
