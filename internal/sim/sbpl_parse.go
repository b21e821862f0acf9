package sim

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Reasons for which ParseSBPL refuses a profile. sandbox-exec exits 65 for each:
// one form that it does not know voids the whole profile (opencode-swarm#2590).
var (
	ErrSBPLSyntax  = errors.New("not well formed")
	ErrSBPLVersion = errors.New("(version 1) does not come first")
	ErrSBPLForm    = errors.New("unknown form")
	ErrSBPLParam   = errors.New("parameter without a value")
	ErrSBPLNot     = errors.New("require-not in a deny aborts on some systems (claude-code#39635)")
)

// sbplExpr is one S-expression: a list, or an atom.
type sbplExpr struct {
	list []sbplExpr
	kind byte // '(' list, 'a' symbol or number, '"' string, '#' raw regex
	text string
}

// sbplReader walks over a profile's text once.
type sbplReader struct {
	text string
	at   int
}

func (r *sbplReader) fail(what string) error {
	line := 1 + strings.Count(r.text[:min(r.at, len(r.text))], "\n")
	return fmt.Errorf("line %d: %w: %s", line, ErrSBPLSyntax, what)
}

// skip steps over white space and comments and reports whether text is left.
func (r *sbplReader) skip() bool {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			r.at++
		case c == ';':
			end := strings.IndexByte(r.text[r.at:], '\n')
			if end < 0 {
				r.at = len(r.text)
				return false
			}
			r.at += end
		default:
			return true
		}
	}
	return false
}

func (r *sbplReader) expr() (sbplExpr, error) {
	if !r.skip() {
		return sbplExpr{}, r.fail("the text ends inside a form")
	}
	switch c := r.text[r.at]; {
	case c == '(':
		return r.listExpr()
	case c == ')':
		return sbplExpr{}, r.fail("unexpected )")
	case c == '"':
		return r.stringExpr()
	case c == '#' && strings.HasPrefix(r.text[r.at:], `#"`):
		start := r.at + 2
		end := strings.IndexByte(r.text[start:], '"')
		if end < 0 {
			return sbplExpr{}, r.fail("the regex does not end")
		}
		r.at = start + end + 1
		return sbplExpr{kind: '#', text: r.text[start : start+end]}, nil
	}
	start := r.at
	for r.at < len(r.text) && !strings.ContainsRune(" \t\r\n();\"", rune(r.text[r.at])) {
		r.at++
	}
	return sbplExpr{kind: 'a', text: r.text[start:r.at]}, nil
}

func (r *sbplReader) listExpr() (sbplExpr, error) {
	list := sbplExpr{kind: '('}
	r.at++
	for {
		if !r.skip() {
			return sbplExpr{}, r.fail("a list does not end")
		}
		if r.text[r.at] == ')' {
			r.at++
			return list, nil
		}
		e, err := r.expr()
		if err != nil {
			return sbplExpr{}, err
		}
		list.list = append(list.list, e)
	}
}

func (r *sbplReader) stringExpr() (sbplExpr, error) {
	var out strings.Builder
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case '"':
			r.at++
			return sbplExpr{kind: '"', text: out.String()}, nil
		case '\\':
			r.at++
			if r.at == len(r.text) {
				return sbplExpr{}, r.fail("the string does not end")
			}
			switch c := r.text[r.at]; c {
			case '"', '\\':
				out.WriteByte(c)
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			default:
				return sbplExpr{}, r.fail(fmt.Sprintf(`unknown escape \%c`, c))
			}
		default:
			out.WriteByte(c)
		}
	}
	return sbplExpr{}, r.fail("the string does not end")
}

// sbplRule is one (allow …) or (deny …).
type sbplRule struct {
	number  int
	allow   bool
	ops     []string
	filters []sbplFilter // alternatives; none means that the rule has no filter
}

// ParseSBPL reads a profile as sandbox-exec -p would, with params given as -D.
// It knows the forms that the notes on Seatbelt name and no other: whatever it
// does not know is an error, as one unknown form voids a profile.
func ParseSBPL(text string, params map[string]string) (*SBPL, error) {
	r := sbplReader{text: text}
	p := &SBPL{params: params, subpaths: make(map[string]bool), levels: make(map[string][]sbplLevel), filtered: make(map[string][]*sbplRule), unfiltered: make(map[string][]*sbplRule)}
	for first := true; r.skip(); first = false {
		e, err := r.expr()
		if err != nil {
			return nil, err
		}
		if first {
			if !e.isCall("version") || len(e.list) != 2 || e.list[1].text != "1" {
				return nil, ErrSBPLVersion
			}
			continue
		}
		p.rules++
		rule, err := p.rule(e)
		if err != nil {
			return nil, fmt.Errorf("rule %d: %w", p.rules, err)
		}
		index := p.filtered
		if rule.filters == nil {
			index = p.unfiltered
		}
		for _, op := range rule.ops {
			index[op] = append(index[op], &rule)
		}
	}
	if p.rules == 0 {
		return nil, ErrSBPLVersion
	}
	return p, nil
}

func (e sbplExpr) isCall(name string) bool {
	return len(e.list) > 0 && e.list[0].kind == 'a' && e.list[0].text == name
}

func (p *SBPL) rule(e sbplExpr) (sbplRule, error) {
	rule := sbplRule{number: p.rules, allow: e.isCall("allow")}
	if !rule.allow && !e.isCall("deny") {
		return rule, fmt.Errorf("%w: want (allow …) or (deny …)", ErrSBPLForm)
	}
	for _, arg := range e.list[1:] {
		switch arg.kind {
		case 'a':
			if _, ok := sbplParents[arg.text]; !ok {
				return rule, fmt.Errorf("%w: operation %q", ErrSBPLForm, arg.text)
			}
			if rule.filters != nil {
				return rule, fmt.Errorf("%w: operation after a filter", ErrSBPLForm)
			}
			rule.ops = append(rule.ops, arg.text)
		case '(':
			f, err := p.filter(arg, !rule.allow)
			if err != nil {
				return rule, err
			}
			rule.filters = append(rule.filters, f)
		default:
			return rule, fmt.Errorf("%w: %q in a rule", ErrSBPLForm, arg.text)
		}
	}
	if rule.ops == nil {
		return rule, fmt.Errorf("%w: a rule without an operation", ErrSBPLForm)
	}
	return rule, nil
}

// filter compiles one filter form. In a deny, require-not is an error.
func (p *SBPL) filter(e sbplExpr, deny bool) (sbplFilter, error) {
	if len(e.list) < 2 || e.list[0].kind != 'a' {
		return sbplFilter{}, fmt.Errorf("%w: not a filter", ErrSBPLForm)
	}
	name, args := e.list[0].text, e.list[1:]
	f := sbplFilter{kind: name}
	var err error
	switch name {
	case "literal", "subpath", "prefix":
		f.text, err = p.argument(args)
		if name == "subpath" {
			p.subpaths[f.text] = true
		}
	case "regex":
		if len(args) != 1 || args[0].kind != '#' && args[0].kind != '"' {
			return f, fmt.Errorf("%w: regex wants one pattern", ErrSBPLForm)
		}
		f.re, err = sbplRegexp(args[0].text)
	case "require-not":
		if deny {
			return f, ErrSBPLNot
		}
		if len(args) != 1 {
			return f, fmt.Errorf("%w: require-not wants one filter", ErrSBPLForm)
		}
		fallthrough
	case "require-all", "require-any":
		for _, arg := range args {
			sub, err := p.filter(arg, deny)
			if err != nil {
				return f, err
			}
			f.subs = append(f.subs, sub)
		}
	case "remote":
		// (remote unix-socket FILTER): the only form of it that speaks of paths. In
		// published profiles the exact filter is spelled path-literal there.
		if len(args) != 2 || args[0].text != "unix-socket" {
			return f, fmt.Errorf("%w: remote wants unix-socket and a path filter", ErrSBPLForm)
		}
		arg := args[1]
		if arg.isCall("path-literal") {
			arg.list = append([]sbplExpr{{kind: 'a', text: "literal"}}, arg.list[1:]...)
		}
		sub, err := p.filter(arg, deny)
		if err != nil {
			return f, err
		}
		f.subs = []sbplFilter{sub}
	default:
		return f, fmt.Errorf("%w: filter %q", ErrSBPLForm, name)
	}
	return f, err
}

// sbplRegexps holds compiled patterns. Profiles share theirs, and tests read
// many thousand profiles.
var sbplRegexps sync.Map

func sbplRegexp(pattern string) (*regexp.Regexp, error) {
	if re, ok := sbplRegexps.Load(pattern); ok {
		return re.(*regexp.Regexp), nil
	}
	re, err := regexp.CompilePOSIX(pattern)
	if err == nil {
		sbplRegexps.Store(pattern, re)
	}
	return re, err
}

// argument reads the one path of a filter: a string or (param "NAME").
func (p *SBPL) argument(args []sbplExpr) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("%w: a filter takes one path", ErrSBPLForm)
	}
	arg := args[0]
	if arg.kind == '"' {
		return arg.text, nil
	}
	if !arg.isCall("param") || len(arg.list) != 2 || arg.list[1].kind != '"' {
		return "", fmt.Errorf("%w: want a string or (param …)", ErrSBPLForm)
	}
	value, ok := p.params[arg.list[1].text]
	if !ok {
		return "", fmt.Errorf("%w: %q", ErrSBPLParam, arg.list[1].text)
	}
	return value, nil
}
