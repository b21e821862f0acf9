package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

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
	dir        string // where the command runs
	odd        error  // an argument that may change what the command does
	paths      []string
	reach      []place // of each statement, once it is asked for
	tooMuch    bool    // a pattern could not be followed
}

// place is where a command may be, and the words of it that may be paths.
type place struct{ dirs, words []string }

// places are those of all statements; few is false where they are too many to be judged
// in the time that a harness gives.
func (s *subject) places() (list []place, few bool) {
	count := 0
	if s.reach == nil {
		var dirs []string
		for i, st := range s.statements {
			dirs = goesTo(s.script.Commands[i], union(dirs, st.Cwds))
			if len(dirs) > maxDirs {
				return nil, false
			}
			s.reach = append(s.reach, place{dirs, operandsOf(s.script.Commands[i], s.expandGlob(dirs))})
		}
	}
	for _, p := range s.reach {
		count += len(p.dirs) * len(p.words)
	}
	return s.reach, !s.tooMuch && len(s.reach) == len(s.statements) && count*(1+len(s.Rules[Deny])+len(s.Rules[AlwaysAsk])+len(s.Rules[Ask])) <= maxCompared
}

// Judge answers a tool call: deny, ask and allow rules, what only reads, and ask;
// then the guards. The answer of a deny rule or a guard is final.
func Judge(call ToolCall, set *Set, guards []Guard) Result {
	set = set.remembering()
	s := set.about(call)
	v := s.judge()
	// A harness's own name for a tool is no way around a rule about its relatives.
	if akin := kin(call.Tool); akin != canonical(call.Tool) {
		other := call
		other.Tool = akin
		v = v.Stricter(set.about(other).strictly())
	}
	return Result{Guarded(v, call, guards), s.statements}
}

// strictly is what deny and ask rules say, and allow if they say nothing.
func (s *subject) strictly() verdict.Verdict {
	v := verdict.Verdict{Decision: verdict.Allow}
	for list, d := range map[List]verdict.Decision{Deny: verdict.Deny, AlwaysAsk: verdict.Ask, Ask: verdict.Ask} {
		if met, _ := s.strict(list, d); met.Code != "" && !(list == Ask && s.LettaAsk) {
			v = v.Stricter(met)
		}
	}
	return v
}

func (s *Set) about(call ToolCall) *subject {
	sub := &subject{Set: s, call: call, tool: canonical(call.Tool)}
	if sub.text, sub.isShell = call.command(); sub.isShell {
		sub.tool = "Bash" // Monitor with a command is one
		sub.dir, sub.odd = call.Directory()
		vars := map[string]string{}
		if s.Home != "" {
			vars["HOME"] = s.Home
		}
		sub.script, sub.err = shell.Options{POSIX: s.POSIX, Vars: vars}.Parse(sub.text)
		if sub.err == nil {
			sub.statements = s.reader(call).Script(sub.script)
		}
		return sub
	}
	sub.paths = call.paths()
	return sub
}

// reader judges what only reads: in the directories that may be read, and what an
// allow rule lets be read.
func (s *Set) reader(call ToolCall) *readonly.Judge {
	cwd := call.Cwd
	dir, _ := call.Directory()
	mayRead := func(name string) bool {
		return slices.ContainsFunc(s.Rules[Allow], func(r Rule) bool {
			return canonical(r.Tool) == "Read" && !r.Bare && s.matchPath(r, name, cwd, false)
		})
	}
	return &readonly.Judge{Cwd: dir, Home: s.Home, Roots: s.roots(cwd), MayRead: mayRead, Facts: s.Facts}
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
	case s.odd != nil:
		return verdict.Verdict{Code: "unknown-argument", Reason: s.odd.Error()}
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
	named := s.named(r)
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
		if met, known := r.argument(s.call, true); known && !met {
			return no
		}
		return yes
	}
	return no
}

// named reports whether a rule has the name of the call's tool.
func (s *subject) named(r Rule) bool {
	tool := canonical(r.Tool)
	return r.Tool == "*" || tool == s.tool || canonical(s.call.Tool) == tool || namesTool(r.Tool, s.call.Tool)
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
	best := no
	for _, p := range s.paths {
		if s.matchPath(r, p, s.call.Cwd, true) {
			return yes
		}
		if s.tool == "Glob" && wildcardsMeet(r, p) {
			return yes
		}
		if s.tool != "Glob" && reads(s.tool) {
			best = max(best, s.finds(r, p))
		}
	}
	return best
}

// finds says whether a tool that reads what a pattern matches may read what a rule
// names, which is compared by its last component if it is a pattern too.
func (s *subject) finds(r Rule, pattern string) match {
	if !strings.ContainsAny(pattern, "*?[{") {
		return no
	}
	for _, p := range s.patterns(r, s.call.Cwd, true) {
		if strings.ContainsAny(p, `*?[{\`) {
			if ok, err := path.Match(path.Base(pattern), path.Base(p)); (ok || err != nil || strings.Contains(pattern, "{")) && !strings.ContainsAny(path.Base(p), `*?[{\`) {
				return possible
			}
			continue
		}
		full := s.from(s.call.Cwd, pattern)
		for _, name := range []string{full, path.Dir(full) + "/**/" + path.Base(full)} {
			if ok, err := doublestar.Match(path.Clean(name), p); ok || err != nil {
				return yes
			}
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
	best := no
	met := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return s.matchPath(r, p, s.call.Cwd, true) })
	}
	s.script.Each(func(c shell.Command) {
		if c.Hidden || hides(c) {
			best = possible
		}
	})
	places, few := s.places()
	if !few {
		return possible
	}
	for i, st := range s.statements {
		if st.Unknown {
			best = possible
		}
		if tool != "Write" && tool != "Edit" && met(st.Reads) || (tool == "Write" || tool == "Edit") && met(st.Writes) {
			return yes
		}
		// Words of git may name a path within a commit, and a variable any.
		if argv := st.Argv; st.Decision == verdict.Allow && len(argv) > 0 && (tool == "Write" || tool == "Edit" || argv[0] != "git") {
			continue
		}
		for _, cwd := range places[i].dirs {
			for _, word := range places[i].words {
				if s.matchPath(r, word, cwd, true) || s.matchPath(r, s.from(cwd, word), s.call.Cwd, true) {
					return yes
				}
			}
		}
	}
	return best
}

// from is a name in a directory that a command went to.
func (s *Set) from(dir, name string) string {
	if name = s.expand(name); strings.HasPrefix(name, "/") {
		return name
	}
	return dir + "/" + name
}

// expandGlob returns the names that a pattern matches in any of the directories.
func (s *subject) expandGlob(cwds []string) func(string) []string {
	return func(pattern string) (out []string) {
		for _, cwd := range cwds {
			if s.Facts == nil || s.tooMuch {
				break
			}
			names, err := s.Facts.Glob(readonly.In(cwd, pattern))
			s.tooMuch = s.tooMuch || err != nil
			out = append(out, names...)
		}
		return out
	}
}
