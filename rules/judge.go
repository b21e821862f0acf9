package rules

import (
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

// subject is a tool call with what is known of it.
type subject struct {
	*Set
	call       ToolCall
	tool       string // canonical
	isShell    bool
	text       string // of a shell command
	script     *shell.Script
	err        error // the text could not be read
	statements []readonly.Statement
	paths      []string
}

// Judge answers a tool call: deny, ask and allow rules, what only reads, and ask;
// then the guards. The answer of a deny rule or a guard is final.
func Judge(call ToolCall, set *Set, guards []Guard) Result {
	s := set.about(call)
	return Result{Guarded(s.judge(), call, guards), s.statements}
}

func (s *Set) about(call ToolCall) *subject {
	sub := &subject{Set: s, call: call, tool: canonical(call.Tool)}
	if sub.text, sub.isShell = call.command(); sub.isShell {
		sub.tool = "Bash" // Monitor with a command is one
		vars := map[string]string{}
		if s.Home != "" {
			vars["HOME"] = s.Home
		}
		sub.script, sub.err = shell.Options{POSIX: s.POSIX, Vars: vars}.Parse(sub.text)
		if sub.err == nil {
			sub.statements = s.reader(call.Cwd).Script(sub.script)
		}
		return sub
	}
	sub.paths = call.paths()
	return sub
}

// reader judges what only reads: in the directories that may be read, and what an
// allow rule lets be read.
func (s *Set) reader(cwd string) *readonly.Judge {
	mayRead := func(name string) bool {
		return slices.ContainsFunc(s.Rules[Allow], func(r Rule) bool {
			return canonical(r.Tool) == "Read" && !r.Bare && s.matchPath(r, name, cwd, false)
		})
	}
	return &readonly.Judge{Cwd: cwd, Home: s.Home, Roots: s.roots(cwd), MayRead: mayRead, Facts: s.Facts}
}

func (s *subject) judge() verdict.Verdict {
	if v, ok := s.strict(Deny, verdict.Deny); ok {
		return v
	}
	mild, asked := s.strict(AlwaysAsk, verdict.Ask)
	if !asked && !s.LettaAsk {
		mild, asked = s.strict(Ask, verdict.Ask)
	}
	if asked {
		return mild
	}
	if v, ok := s.escalates(); ok {
		return v
	}
	if v, ok := s.byMode(); ok {
		return v
	}
	if v, ok := s.allowed(); ok {
		return v
	}
	if v, ok := s.automatic(); ok {
		return v
	}
	if s.LettaAsk {
		if v, ok := s.strict(Ask, verdict.Ask); ok {
			return v
		}
	}
	switch {
	case s.err != nil:
		return verdict.Verdict{Code: "refused", Reason: s.err.Error()}
	case s.isShell:
		v := readonly.Whole(s.script, s.statements)
		if v.Decision == verdict.Allow { // strict mode
			v = verdict.Verdict{Code: "default", Reason: "no rule allows it"}
		}
		return v
	}
	return verdict.Verdict{Code: "default", Reason: "no rule allows it"}
}

// strict looks for a deny or ask rule that is met. One that may be met, by words
// that are not known, asks.
func (s *subject) strict(list List, d verdict.Decision) (verdict.Verdict, bool) {
	var doubt *Rule
	for i, r := range s.Rules[list] {
		switch s.meets(r) {
		case yes:
			return verdict.Verdict{Decision: d, Code: string(list) + "-rule", Reason: "the " + string(list) + " rule " + r.Text + " is met", Rule: r.Text}, true
		case possible:
			doubt = &s.Rules[list][i]
		}
	}
	if doubt != nil {
		return verdict.Verdict{Code: string(list) + "-rule-possible", Reason: "the " + string(list) + " rule " + doubt.Text + " may be met", Rule: doubt.Text}, list != Deny
	}
	return verdict.Verdict{}, false
}

// meets says how far a deny or ask rule is met.
func (s *subject) meets(r Rule) match {
	tool := canonical(r.Tool)
	named := r.Tool == "*" || tool == s.tool || canonical(s.call.Tool) == tool || wildcard(r.Tool, s.call.Tool)
	if r.Bare {
		switch {
		case named, tool == "Read" && reads(s.tool), tool == "Edit" && writes(s.tool):
			return yes
		}
		return no
	}
	switch {
	case tool == "Bash":
		return s.meetsShell(r)
	case tool == "Read" || tool == "Edit" || tool == "Write" || reads(tool) || writes(tool):
		return s.meetsPath(r, tool, named)
	case named:
		return yes // other tools are met by their name alone
	}
	return no
}

func (s *subject) meetsShell(r Rule) match {
	if !s.isShell {
		if s.tool == "Bash" && (r.shell.prefix && len(r.shell.commands) == 0 || s.text == "" && len(r.shell.commands) == 0) {
			return yes
		}
		if s.tool == "Bash" {
			return possible // what it runs cannot be told
		}
		return no
	}
	if s.err != nil {
		if r.shell.mentions(s.text) {
			return yes
		}
		return possible
	}
	best := no
	s.script.Each(func(c shell.Command) { best = max(best, r.shell.denies(c)) })
	if len(s.script.Commands) == 0 && len(r.shell.commands) == 0 {
		best = yes
	}
	for _, d := range s.script.Doubts { // a nested script that could not be read
		if strings.HasPrefix(d.Why, "the script of ") && r.shell.mentions(s.text) {
			best = max(best, possible)
		}
	}
	return best
}

// meetsPath compares the paths of a call with a rule. Read rules are about
// everything that reads, Edit and Write rules about everything that writes.
func (s *subject) meetsPath(r Rule, tool string, named bool) match {
	if s.isShell {
		return s.meetsShellPath(r, tool)
	}
	if s.tool == "Bash" {
		return possible
	}
	covered := named || tool == "Read" && reads(s.tool) || (tool == "Edit" || tool == "Write") && writes(s.tool)
	if !covered {
		return no
	}
	if len(s.paths) == 0 {
		return possible
	}
	for _, p := range s.paths {
		if s.matchPath(r, p, s.call.Cwd, true) {
			return yes
		}
		if s.tool == "Glob" && wildcardsMeet(r, p) {
			return yes
		}
	}
	return no
}

// wildcardsMeet compares the pattern of a search with a rule's, as texts.
func wildcardsMeet(r Rule, p string) bool { return r.Payload == p }

// meetsShellPath compares the operands and redirections of commands with a rule
// about paths. Of a command that is not known to be read-only every word counts,
// for reading and for writing.
func (s *subject) meetsShellPath(r Rule, tool string) match {
	if s.err != nil {
		return possible
	}
	met := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return s.matchPath(r, p, s.call.Cwd, true) })
	}
	for i, st := range s.statements {
		if tool != "Write" && tool != "Edit" && met(st.Reads) || (tool == "Write" || tool == "Edit") && met(st.Writes) {
			return yes
		}
		// Words of git may name a path within a commit.
		if argv := st.Argv; st.Decision == verdict.Allow && (tool == "Write" || tool == "Edit" || len(argv) == 0 || argv[0] != "git") {
			continue
		}
		words := operandsOf(s.script.Commands[i])
		for _, cwd := range st.Cwds {
			for _, word := range words {
				if s.matchPath(r, word, cwd, true) {
					return yes
				}
			}
		}
	}
	return no
}

// operandsOf are the words of a command, and of those it runs, that may be paths.
func operandsOf(c shell.Command) []string {
	var out []string
	if len(c.Argv) > 0 && (c.Argv[0].Text == "echo" || c.Argv[0].Text == "printf") {
		return nil
	}
	for i, word := range c.Argv {
		if i == 0 || word.Text == "" || !word.Known || len(word.Text) > 4096 {
			continue
		}
		out = append(out, word.Text)
		for at, c := range word.Text { // --file=x, @x, commit:x
			if strings.ContainsRune("=:@,", c) && at+1 < len(word.Text) {
				out = append(out, word.Text[at+1:])
			}
		}
		if strings.HasPrefix(word.Text, "-") && len(word.Text) > 2 && word.Text[1] != '-' { // -fx
			out = append(out, word.Text[2:])
		}
	}
	for _, inner := range c.Inner {
		out = append(out, operandsOf(inner)...)
	}
	return out
}
