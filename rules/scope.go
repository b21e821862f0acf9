package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/verdict"
)

// Scope is what a restriction file says of the tools of an agent. Scopes are nested:
// a tool is there if every one of them has it.
type Scope struct {
	allow  []string // nil for all
	deny   []string
	Guards []Objector
}

// Objector is a guard of a scope: a pattern, or a program. It objects to a call or
// says nothing; none can allow.
type Objector struct {
	tools   []string // nil for all
	pattern *regexp.Regexp
	reason  string

	Program []string      // of a guard that is a program: its absolute path, and arguments
	Timeout time.Duration // of the program
}

// Times that a guard's program may take, in all.
const (
	usualGuardTime = 5 * time.Second
	maxGuardTime   = time.Minute
)

// scopeFile is the JSON of a scope.
type scopeFile struct {
	Version int
	Allow   *[]string
	Deny    []string
	Guards  []struct {
		Tools   *[]string
		Pattern string
		Reason  string
		Program []string
		Timeout string
	}
}

// ParseScope reads a restriction file. A name that is no tool's is an error, because
// a tool whose name is misspelt would stay; so is a file that restricts nothing.
func ParseScope(text []byte, known func(tool string) bool) (Scope, error) {
	if err := (strict{exactMembers, errNull}).check(text); err != nil {
		return Scope{}, err
	}
	var f scopeFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return Scope{}, err
	}
	if f.Version != 1 {
		return Scope{}, errors.New("want \"version\": 1")
	}
	if f.Allow == nil && len(f.Deny) == 0 && len(f.Guards) == 0 {
		return Scope{}, errors.New("it restricts nothing")
	}
	s := Scope{deny: f.Deny}
	names := slices.Clone(f.Deny)
	if f.Allow != nil {
		s.allow = append([]string{}, *f.Allow...)
		names = append(names, s.allow...)
	}
	for i, g := range f.Guards {
		o := Objector{reason: g.Reason, Program: g.Program}
		if g.Tools != nil {
			o.tools = append([]string{}, *g.Tools...)
			names = append(names, o.tools...)
		}
		if err := o.fill(g.Pattern, g.Timeout); err != nil {
			return Scope{}, fmt.Errorf("guard %d: %w", i+1, err)
		}
		s.Guards = append(s.Guards, o)
	}
	for _, name := range names {
		if !known(name) && !strings.HasPrefix(name, "mcp__") {
			return Scope{}, fmt.Errorf("unknown tool %q", name)
		}
	}
	return s, nil
}

func (o *Objector) fill(pattern, timeout string) (err error) {
	switch {
	case (pattern == "") == (len(o.Program) == 0):
		return errors.New("want a pattern or a program")
	case pattern != "" && timeout != "" || len(o.Program) > 0 && o.reason != "":
		return errors.New("a pattern has a reason, and a program a timeout")
	case pattern != "":
		o.pattern, err = regexp.Compile(pattern)
		return err
	case !path.IsAbs(o.Program[0]):
		return errors.New("the program's path is not absolute")
	}
	o.Timeout = usualGuardTime
	if timeout != "" {
		if o.Timeout, err = time.ParseDuration(timeout); err != nil || o.Timeout <= 0 || o.Timeout > maxGuardTime {
			return fmt.Errorf("timeout %q: want a time up to %v", timeout, maxGuardTime)
		}
	}
	return nil
}

var errNull = errors.New("null says nothing")

// members are the names that a restriction file has, at any depth.
var members = []string{"version", "allow", "deny", "guards", "tools", "pattern", "reason", "program", "timeout"}

// exactMembers refuses any other name, one in another case, and one that is there twice.
func exactMembers(_ int, name string, twice bool) error {
	if !slices.Contains(members, name) || twice {
		return fmt.Errorf("the name %q is not known, or there twice", name)
	}
	return nil
}

// KnownTool reports whether one of the harnesses has a tool of that name.
func KnownTool(tool string) bool {
	return slices.ContainsFunc(families, func(names []string) bool { return slices.Contains(names, tool) })
}

// Has reports whether the tool is there for the scope. Names are compared without
// case, underscores and hyphens, and by the tool that they mean; a name that is denied
// stands for its relatives, so that whoever denies Bash or Edit denies what else runs
// commands or edits. One that is allowed stands for none.
func (s Scope) Has(tool string, isShell func(string) bool) bool {
	denied := func(name string) bool { return related(name, tool, isShell) }
	if slices.ContainsFunc(s.deny, denied) {
		return false
	}
	return s.allow == nil || slices.ContainsFunc(s.allow, func(name string) bool { return sameTool(name, tool) })
}

// sameTool reports whether a name in a scope means a tool. Only of MCP tools is it a
// pattern.
func sameTool(name, tool string) bool {
	if strings.HasPrefix(name, "mcp__") {
		return namesTool(name, tool)
	}
	if folded(name) == folded(tool) {
		return true
	}
	of := canonical(name)
	return of == canonical(tool) && of != "Edit" // whose relatives are tools of their own
}

// related reports whether a name that takes something away, or watches over it,
// stands for a tool.
func related(name, tool string, isShell func(string) bool) bool {
	return sameTool(name, tool) || kin(name) == kin(tool) || isShell(name) && isShell(tool)
}

// kin is the name that stands for a tool and its relatives, in any spelling, those of
// harnesses too for which there are no rules.
func kin(tool string) string {
	name := strings.TrimSuffix(folded(tool), "gemini")
	switch name {
	case "view", "viewimage", "notebookread", "openfile", "cat":
		return "Read"
	case "create", "createfile", "createdirectory", "delete", "deletefile", "movefile", "renamefile", "copyfile":
		return "Write"
	case "editfile", "editnotebook", "strreplace", "searchreplace", "strreplacebasededittool", "strreplaceeditor":
		return "Edit"
	case "globfiles", "globfilesearch", "findfiles", "filesearch":
		return "Glob"
	case "grepsearch", "ripgrep", "searchfiles":
		return "Grep"
	case "listfiles":
		return "ListDir"
	case "runterminalcmd", "runterminalcommand", "terminal":
		return "Bash"
	case "fetch", "fetchwebpage":
		return "WebFetch"
	}
	for _, family := range families {
		if slices.ContainsFunc(family, func(n string) bool { return folded(n) == name }) {
			return family[0]
		}
	}
	return tool
}

func folded(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// UnknownTool is the answer to a call of a tool that is not there, whether it never
// was or a scope has taken it away: nobody can tell the one from the other.
func UnknownTool(tool string) verdict.Verdict {
	return verdict.Verdict{Decision: verdict.Deny, Code: "unknown-tool", Reason: fmt.Sprintf("unknown tool %q", tool)}
}

// About reports whether the guard is asked about a tool: a name stands for its
// relatives, as a denied one does.
func (o Objector) About(tool string, isShell func(string) bool) bool {
	return o.tools == nil || slices.ContainsFunc(o.tools, func(name string) bool { return related(name, tool, isShell) })
}

// Match is the answer of a guard that is a pattern. It looks at every text in the
// call, and at the words of every simple command of a shell command, however they are
// quoted. It asks where a command cannot be taken apart, or where it is not known what
// runs. isShell says that the tool runs commands.
func (o Objector) Match(call ToolCall, isShell bool) (v verdict.Verdict, ok bool) {
	var texts []string
	collect(call.Input, "", func(_, value string) { texts = append(texts, value) })
	doubt := false
	if isShell {
		call.Tool = "Bash" // whatever it is called
		text, ok := call.command()
		script, err := shell.Options{}.Parse(text)
		doubt = err != nil || !ok && strings.Join(texts, "") != ""
		if err == nil {
			script.Each(func(c shell.Command) {
				doubt = doubt || len(c.Argv) > 0 && !c.Argv[0].Known
				var words []string
				for _, w := range c.Argv {
					words = append(words, w.Text)
				}
				texts = append(texts, strings.Join(words, " "))
			})
		}
	}
	if slices.ContainsFunc(texts, o.pattern.MatchString) {
		reason := o.reason
		if reason == "" {
			reason = "it matches " + o.pattern.String()
		}
		return o.Object(reason), true
	}
	if doubt {
		return verdict.Verdict{Decision: verdict.Ask, Code: "guard", Reason: "a guard cannot tell what the command is", Rule: o.pattern.String()}, true
	}
	return verdict.Verdict{}, false
}

// Object is the guard's objection.
func (o Objector) Object(reason string) verdict.Verdict {
	rule := strings.Join(o.Program, " ")
	if o.pattern != nil {
		rule = o.pattern.String()
	}
	return verdict.Verdict{Decision: verdict.Deny, Code: "guard", Reason: "a guard objects: " + reason, Rule: rule}
}

// Guarded is the answer of the guards on top of another one, which they can only make
// stricter. What is denied already is not put to them.
func Guarded(v verdict.Verdict, call ToolCall, guards []Guard) verdict.Verdict {
	for _, guard := range guards {
		if v.Decision == verdict.Deny {
			return v
		}
		if objection, ok := guard(call); ok {
			v = v.Stricter(objection)
		}
	}
	return v
}
