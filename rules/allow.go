package rules

import (
	"path"
	"slices"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
	"github.com/letta-confine/letta-confine/verdict"
)

func allow(code, reason, rule string) (verdict.Verdict, bool) {
	return verdict.Verdict{Decision: verdict.Allow, Code: code, Reason: reason, Rule: rule}, true
}

// escalates asks for a call that wants to leave the sandbox: no rule allows that.
func (s *subject) escalates() (verdict.Verdict, bool) {
	for _, key := range []string{"sandbox_permissions", "with_escalated_permissions", "justification", "dangerouslyDisableSandbox"} {
		if value, ok := s.call.Input[key]; ok && value != nil && value != false && value != "" && value != "use_default" {
			return verdict.Verdict{Code: "escalation", Reason: "the call asks to leave the sandbox, by " + key}, true
		}
	}
	return verdict.Verdict{}, false
}

// byMode is what the mode allows whatever the allow rules say, but not if a deny
// rule may be met.
func (s *subject) byMode() (verdict.Verdict, bool) {
	if v, _ := s.strict(Deny, verdict.Deny); v.Code != "" {
		return v, true
	}
	switch {
	case s.Mode == "unrestricted":
		return allow("mode", "the mode is unrestricted", "")
	case s.Mode == "acceptEdits" && (writes(s.tool) || s.tool == "memory"):
		return allow("mode", "the mode accepts edits", "")
	}
	return verdict.Verdict{}, false
}

// allowed looks for allow rules that are met: all simple commands and all paths
// must be.
func (s *subject) allowed() (verdict.Verdict, bool) {
	if s.isShell {
		return s.allowedShell()
	}
	for _, r := range s.Rules[Allow] {
		tool := canonical(r.Tool)
		named := s.named(r)
		isPath := reads(s.tool) || writes(s.tool)
		covered := named || tool == "Read" && reads(s.tool) || tool == "Edit" && writes(s.tool)
		switch {
		case r.Bare && named, !isPath && named && s.tool != "Bash" && tool != "Bash" && r.allowsArgument(s.call):
			return allow("allow-rule", "the allow rule "+r.Text+" is met", r.Text)
		case !isPath || !covered || r.Bare:
			continue
		}
		if len(s.paths) > 0 && !slices.ContainsFunc(s.paths, func(p string) bool {
			return !s.matchPath(r, p, s.call.Cwd, false) && !(s.tool == "Glob" && wildcardsMeet(r, p))
		}) {
			return allow("allow-rule", "the allow rule "+r.Text+" is met", r.Text)
		}
	}
	return verdict.Verdict{}, false
}

func (s *subject) allowedShell() (verdict.Verdict, bool) {
	if s.err != nil {
		return verdict.Verdict{}, false
	}
	var used *Rule
	strange := s.odd != nil || s.dir != s.call.Cwd && !s.inside(s.dir, s.call.Cwd) // as cd to there would be
	for _, r := range s.Rules[Allow] {
		switch tool := canonical(r.Tool); {
		case r.Bare && (r.Tool == "*" || tool == "Bash" || r.Tool == s.call.Tool):
			return allow("allow-rule", "the allow rule "+r.Text+" is met", r.Text)
		case tool == "Bash" && !r.Bare && len(r.shell.commands) == 0 && r.shell.prefix:
			return allow("allow-rule", "the allow rule "+r.Text+" is met", r.Text)
		case tool == "Bash" && !r.Bare && !strange && len(s.script.Doubts) == 0 && r.shell.allowsAll(s.script):
			return allow("allow-rule", "the allow rule "+r.Text+" is met", r.Text)
		}
	}
	if strange || len(s.script.Doubts) > 0 || len(s.script.Commands) == 0 {
		return verdict.Verdict{}, false
	}
	judge := s.reader(s.call).Start()
	for _, c := range s.script.Commands {
		ok, rule := s.allowsCommand(c, judge, s.Mode != "strict")
		if !ok {
			return verdict.Verdict{}, false
		}
		if rule != nil {
			used = rule
		}
	}
	if used == nil {
		return verdict.Verdict{}, false // it only reads
	}
	return allow("allow-rule", "every command meets an allow rule, as "+used.Text+", or only reads", used.Text)
}

// allowsCommand reports whether a command only reads or meets an allow rule, and
// the rule.
func (s *subject) allowsCommand(c shell.Command, judge func(shell.Command) readonly.Statement, reading bool) (bool, *Rule) {
	st := judge(c)
	if st.Decision == verdict.Allow && reading {
		return true, nil
	}
	if st.Around.Decision != verdict.Allow {
		return false, nil
	}
	var writing *Rule
	for _, p := range st.Writes {
		if writing = s.mayWrite(p); writing == nil {
			return false, nil
		}
	}
	if len(c.Argv) == 0 {
		return true, writing
	}
	inside := func(dir string) bool {
		return !slices.ContainsFunc(st.Cwds, func(cwd string) bool { return !s.insideFrom(dir, cwd) })
	}
	for i, r := range s.Rules[Allow] {
		if canonical(r.Tool) == "Bash" && !r.Bare && r.shell.allows(c, inside) && s.allowsRun(c, r.shell, judge, reading) {
			return true, &s.Rules[Allow][i]
		}
	}
	if st := judge(shell.Command{Argv: c.Argv, Inner: c.Inner, Wrapper: c.Wrapper, Repeats: c.Repeats}); st.Decision == verdict.Allow && reading {
		return true, writing // only its redirections need a rule, and have it
	}
	if !c.Wrapper || len(c.Inner) == 0 {
		return false, nil
	}
	var used *Rule
	for _, inner := range c.Inner {
		ok, rule := s.allowsCommand(inner, judge, reading)
		if !ok {
			return false, nil
		}
		if rule != nil {
			used = rule
		}
	}
	return true, used
}

// allowsRun reports whether what find and xargs run is allowed where a rule is met
// that allows these: each is a command of its own, unless the rule names it.
func (s *subject) allowsRun(c shell.Command, r *shellRule, judge func(shell.Command) readonly.Statement, reading bool) bool {
	if name := path.Base(c.Argv[0].Text); name != "find" && name != "xargs" || !r.prefix || len(r.commands) == 0 {
		return true
	}
	named := min(len(r.commands[0]), len(c.Argv))
	for _, inner := range c.Inner {
		if len(inner.Argv) == 0 || slices.ContainsFunc(c.Argv[1:named], func(w shell.Word) bool { return w.Text == inner.Argv[0].Text }) {
			continue
		}
		if ok, _ := s.allowsCommand(inner, judge, reading); !ok {
			return false
		}
	}
	return !c.Hidden
}

// insideFrom is inside for a directory that is relative to another than the
// call's.
func (s *subject) insideFrom(dir, cwd string) bool {
	if dir == "" {
		return false
	}
	if dir[0] != '/' && dir[0] != '~' {
		dir = cwd + "/" + dir
	}
	return s.inside(dir, s.call.Cwd)
}

// mayWrite returns the allow rule that lets a redirection write a path.
func (s *subject) mayWrite(p string) *Rule {
	for i, r := range s.Rules[Allow] {
		tool := canonical(r.Tool)
		if (tool == "Edit" || tool == "Write") && (r.Bare || s.matchPath(r, p, s.call.Cwd, false)) {
			return &s.Rules[Allow][i]
		}
	}
	return nil
}

// automatic is what goes without a rule: commands and tools that read in the
// directories that may be read, and tools that do nothing to files.
func (s *subject) automatic() (verdict.Verdict, bool) {
	if s.Mode == "strict" {
		return verdict.Verdict{}, false
	}
	switch {
	case s.isShell:
		if s.err != nil || s.odd != nil {
			return verdict.Verdict{}, false
		}
		v := readonly.Whole(s.script, s.statements)
		return v, v.Decision == verdict.Allow
	case reads(s.tool):
		for _, p := range s.paths {
			if !s.inside(p, s.call.Cwd) {
				return verdict.Verdict{Code: "outside", Reason: "it reads outside the current directory"}, true
			}
		}
		if len(s.paths) == 0 {
			return verdict.Verdict{}, false
		}
		return allow("inside", "it reads in the current directory", "")
	case slices.Contains([]string{"TodoWrite", "TaskOutput", "memory", "MessageChannel", "update_plan", "Skill"}, s.tool) || s.call.Tool == "memory_apply_patch":
		return allow("harmless-tool", "the tool touches no file of the host", "")
	case s.tool == "Task":
		if kind, _ := s.call.Input["subagent_type"].(string); slices.Contains([]string{"recall", "reflection", "history-analyzer"}, kind) {
			return allow("harmless-tool", "the agent only reads its history", "")
		}
	}
	return verdict.Verdict{}, false
}
