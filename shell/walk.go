package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker collects the simple commands of one parsed text.
type walker struct {
	src      string
	options  Options
	lang     syntax.LangVariant
	depth    int
	steps    int
	loops    int // loops around here that are not unrolled
	vars     map[string]Word
	tainted  []string // variables that some command of the text may set
	anyVar   bool     // a command that is not known may set any variable
	commands []Command
	doubts   []Doubt
}

func (w *walker) doubt(n syntax.Node, why string) {
	d := Doubt{int(n.Pos().Offset()), int(n.End().Offset()), why}
	if !slices.Contains(w.doubts, d) {
		w.doubts = append(w.doubts, d)
	}
}

// setters are the commands that set the variables their operands name. What they
// leave in them is unknown, and so it is wherever the text uses it.
var setters = []string{"read", "printf", "mapfile", "readarray", "getopts", "unset", "wait", "let", "declare", "local", "export", "readonly", "typeset"}

// taint notes the variables that the text may set by other means than a loop.
func (w *walker) taint(file *syntax.File) {
	set := func(name string) { w.tainted = append(w.tainted, name) }
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				w.taintByCall(n, set)
			} else {
				for _, a := range n.Assigns {
					set(a.Name.Value)
				}
			}
		case *syntax.ForClause:
			// A variable that is known from outside cannot be a loop's too.
			if loop, ok := n.Loop.(*syntax.WordIter); ok {
				if _, known := w.vars[loop.Name.Value]; known {
					set(loop.Name.Value)
				}
			}
		case *syntax.DeclClause, *syntax.LetClause, *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.CoprocClause, *syntax.FuncDecl:
			w.anyVar = w.anyVar || !constant(n)
		case *syntax.ArrayExpr:
			// What the parser takes for a comment, bash does for the rest of the word.
			if at := int(n.End().Offset()); at < len(w.src) && w.src[at] == '#' {
				w.doubt(n, "an array that goes on after its parenthesis")
				w.add(Command{Hidden: true, Start: int(n.Pos().Offset()), End: len(w.src)})
			}
		case *syntax.ParamExp:
			if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
				set(n.Param.Value)
			}
		}
		return true
	})
}

func (w *walker) taintByCall(n *syntax.CallExpr, set func(string)) {
	command, ok := static(n.Args[0])
	if !ok || slices.Contains([]string{"eval", "source", ".", "builtin", "command"}, command) {
		w.anyVar = true
		return
	}
	if !slices.Contains(setters, command) {
		return
	}
	for _, arg := range n.Args[1:] {
		text, ok := static(arg)
		if !ok {
			w.anyVar = true
		}
		name, _, _ := strings.Cut(text, "=")
		set(name)
		if len(name) > 2 && name[0] == '-' { // -vname
			set(name[2:])
		}
	}
}

// static is the value of a word without expansions.
func static(word *syntax.Word) (string, bool) {
	var v value
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			v.lit(p.Value, false)
		case *syntax.SglQuoted:
			v.literal(p.Value, true)
			v.unknown = v.unknown || p.Dollar
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				v.lit(lit.Value, true)
			}
		default:
			return "", false
		}
	}
	return v.text.String(), !v.unknown && !hasBrace(word)
}

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if w.steps++; w.steps > maxSteps { // loops in loops multiply
		return
	}
	if s.Coprocess || s.Disown {
		w.doubt(s, "an operator of another shell")
	}
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.call(s, call)
		return
	}
	if s.Cmd != nil {
		w.command(s.Cmd)
	}
	if len(s.Redirs) > 0 {
		redirs := w.redirs(s.Redirs)
		w.add(Command{Redirs: redirs, Hidden: w.misread(s.Redirs, redirs), Start: int(s.Pos().Offset()), End: int(s.End().Offset())})
	}
}

func (w *walker) add(c Command) {
	c.Repeats = w.loops > 0
	w.commands = append(w.commands, c)
}

// command takes the compound commands. What is not among them is in doubt, but
// its commands are collected all the same: a rule that denies one must see it.
func (w *walker) command(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.BinaryCmd:
		w.stmt(c.X)
		w.stmt(c.Y)
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.stmts(c.Stmts)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.stmt(c.Stmt)
		}
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond)
			w.stmts(c.Then)
		}
	case *syntax.WhileClause:
		w.loops++
		w.stmts(c.Cond)
		w.stmts(c.Do)
		w.loops--
	case *syntax.ForClause:
		w.loop(c)
	case *syntax.CaseClause:
		w.word(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.word(p)
			}
			w.stmts(item.Stmts)
		}
	case *syntax.TestClause:
		w.test(c.X)
	case *syntax.FuncDecl:
		w.doubt(c, "a function can stand for any command")
		w.stmt(c.Body)
	default:
		w.doubt(c, "a declaration or an arithmetic command")
		w.substitutions(c)
	}
}

// substitutions collects the commands of the substitutions in a node that is not
// looked at otherwise.
func (w *walker) substitutions(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			w.stmts(n.Stmts)
			return false
		case *syntax.ProcSubst:
			w.stmts(n.Stmts)
			return false
		case *syntax.CoprocClause:
			w.stmt(n.Stmt)
			return false
		}
		return true
	})
}

// loop unrolls a loop over literal words, and takes the body of any other once.
func (w *walker) loop(c *syntax.ForClause) {
	iter, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select {
		w.doubt(c, "a loop of another kind than for name in words")
		w.substitutions(c.Loop)
		w.loops++
		w.stmts(c.Do)
		w.loops--
		return
	}
	name := iter.Name.Value
	values := w.words(iter.Items)
	if !(Assign{Name: name}).Ordinary() {
		w.doubt(iter.Name, "a loop that sets a variable with a meaning")
	}
	static := iter.InPos.IsValid() && len(values) > 0
	for _, v := range values {
		static = static && v.Known
	}
	if !static {
		w.loops++
		defer func() { w.loops-- }()
	}
	if len(values) == 0 {
		values = []Word{{Text: "$" + name, Split: true}}
	}
	for _, v := range values {
		if w.steps > maxSteps {
			break
		}
		w.vars[name] = v
		w.stmts(c.Do)
	}
	delete(w.vars, name)
}

func (w *walker) call(s *syntax.Stmt, call *syntax.CallExpr) {
	c := Command{Start: int(s.Pos().Offset()), End: int(call.End().Offset())}
	for _, r := range s.Redirs {
		c.End = max(c.End, int(r.End().Offset()))
	}
	for _, a := range call.Assigns {
		c.Assigns = append(c.Assigns, w.assign(a))
	}
	c.Argv = w.words(call.Args)
	c.Redirs = w.redirs(s.Redirs)
	if len(c.Argv) == 0 && slices.ContainsFunc(c.Assigns, func(a Assign) bool { return !a.Ordinary() }) {
		w.doubt(call, "an assignment that stays in force")
	}
	w.unwrap(&c)
	c.Hidden = w.misread(s.Redirs, c.Redirs) || c.Hidden
	w.add(c)
}

// misread reports whether a target after >& or <& is one that bash does not take for
// what it looks like: it ends the redirection after a dash that comes first, so that
// the rest is a word of the command, and it expands a name that was quoted, or that
// was the value of a variable, once more (measured: bash 5.2, >&'$(id)' runs id).
func (w *walker) misread(list []*syntax.Redirect, redirs []Redir) (found bool) {
	for i, r := range list {
		if r.Op != syntax.DplIn && r.Op != syntax.DplOut || redirs[i].Effect == Dups {
			continue
		}
		if lit := r.Word.Lit(); lit == "" || lit[0] == '-' || strings.ContainsAny(lit, `\*?[{~`) {
			w.doubt(r, "a redirection that bash reads otherwise than it looks")
			found = true
		}
	}
	return found
}

func (w *walker) assign(a *syntax.Assign) Assign {
	if a.Name == nil || a.Index != nil || a.Array != nil || a.Naked {
		w.doubt(a, "an assignment to an array")
		w.substitutions(a)
	}
	out := Assign{}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Append {
		out.Name += "+"
	}
	if a.Value != nil {
		out.Value = w.word(a.Value)
		// ~ after a colon is expanded in an assignment, and nowhere else.
		if strings.Contains(out.Value.Text, ":~") {
			out.Value.Known = false
		}
	} else {
		out.Value.Known = true
	}
	return out
}

func (w *walker) redirs(list []*syntax.Redirect) []Redir {
	var out []Redir
	for _, r := range list {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			w.doubt(r, "a redirection that sets a variable")
		}
		redir := Redir{Op: r.Op.String(), Effect: Writes}
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			redir.Target = w.hereDoc(r)
		} else {
			redir.Target = w.target(r.Word)
		}
		switch r.Op {
		case syntax.RdrIn:
			redir.Effect = Reads
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			redir.Effect = Dups
		case syntax.DplIn, syntax.DplOut:
			if t := redir.Target; t.Known && (t.Text == "-" || t.Text != "" && strings.Trim(t.Text, "0123456789") == "") {
				redir.Effect = Dups
			}
		}
		out = append(out, redir)
	}
	return out
}

// target evaluates the word of a redirection, in which bash expands braces too, to
// one word or an error.
func (w *walker) target(word *syntax.Word) Word {
	if words := w.words([]*syntax.Word{word}); len(words) == 1 {
		return words[0]
	}
	return Word{Text: w.source(word)}
}

// test takes [[ ]]. Its numeric operators evaluate their operands, which can run
// commands, so they are in doubt but between numbers.
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		w.word(x)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.doubt(x, "a test that evaluates a subscript")
		}
		w.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			if !constant(x.X) || !constant(x.Y) {
				w.doubt(x, "a test that evaluates arithmetic")
			}
		}
		w.test(x.X)
		w.test(x.Y)
	}
}

// constant reports whether everything in n is a decimal number or an operator.
func constant(n syntax.Node) bool {
	ok := true
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Word, *syntax.ArithmExp, *syntax.BinaryArithm, *syntax.UnaryArithm, *syntax.ParenArithm:
		case *syntax.Lit:
			ok = ok && strings.Trim(n.Value, "0123456789") == ""
		default:
			ok = false
		}
		return ok
	})
	return ok
}
