// Package readonly says of a command line whether all it does is read what it
// may: each command and each of its options must be known, or the answer is ask.
// It never says deny. The answer saves a prompt; the kernel's policy is the
// boundary.
//
// # Limits
//
// What it asks the file system about can change before the command runs. Options
// are those of GNU, git and gh; that a command word means the usual program is
// taken for granted, and so are the person's own configuration files.
package readonly

import (
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/verdict"
)

// Facts is what the file system says. Paths are absolute and not cleaned: a link
// before a ".." leads where the kernel goes.
type Facts interface {
	// Real resolves every link as the kernel does; what does not exist is kept as
	// it is after the last thing that does.
	Real(path string) (string, error)
	// Glob returns the names that a pattern matches.
	Glob(pattern string) ([]string, error)
	// ReadFile reads a small regular file. It fails with fs.ErrNotExist for one
	// that is not there.
	ReadFile(path string) ([]byte, error)
	// Exists reports whether anything has the name, a dangling link too; it is
	// true in doubt.
	Exists(path string) bool
	// Escapes reports whether a link beneath the directory leads out of it; it is
	// true in doubt.
	Escapes(dir string) bool
}

// Judge is what a command line is judged by.
type Judge struct {
	Cwd string
	// Home is where cd goes without a word.
	Home string
	// Roots are where file contents may be read. Names and metadata may be read
	// anywhere.
	Roots []string
	// Writable are where redirections may write; none by default.
	Writable []string
	// MayRead lets a path outside the roots be read, if it is not nil.
	MayRead func(path string) bool
	// AnyRoot lets contents be read anywhere.
	AnyRoot bool
	Facts   Facts
}

// Statement is the answer for one simple command.
type Statement struct {
	Argv []string `json:"argv"`
	Span [2]int   `json:"span"`
	verdict.Verdict
	// Rewrite is a call that does the same and is sure to run no program that the
	// repository names; empty if there is none.
	Rewrite string `json:"rewrite,omitempty"`
	// Reads and Writes are the paths whose contents the command and its redirections
	// use, absolute and clean, as far as they are known.
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"`
	// Unknown says that the command, or a redirection, uses the contents of a path
	// that is not known.
	Unknown bool `json:"-"`
	// Around is the answer but for what the command itself does: its variables and
	// redirections, but for those that write to Writes.
	Around verdict.Verdict `json:"-"`
	// Cwds are the directories that the current one may be.
	Cwds []string `json:"-"`
}

// Script judges every simple command of s in turn; what one leaves behind, the
// current directory, counts for the next.
func (j *Judge) Script(s *shell.Script) []Statement {
	next := j.Start()
	out := make([]Statement, 0, len(s.Commands))
	for _, c := range s.Commands {
		out = append(out, next(c))
	}
	return out
}

// Start returns a function that judges the commands of one script one by one.
func (j *Judge) Start() func(shell.Command) Statement {
	return (&run{Judge: j, cwds: []string{path.Clean(j.Cwd)}}).statement
}

// Whole is the answer for the script: its strictest statement's, and ask for a
// doubt or for no command at all.
func Whole(s *shell.Script, statements []Statement) verdict.Verdict {
	if len(s.Doubts) > 0 {
		return ask("not-understood", s.Doubts[0].Why)
	}
	if len(statements) == 0 {
		return ask("empty", "there is no command")
	}
	v := statements[0].Verdict
	for _, st := range statements[1:] {
		v = v.Stricter(st.Verdict)
	}
	return v
}

func ask(code, reason string) verdict.Verdict {
	return verdict.Verdict{Decision: verdict.Ask, Code: code, Reason: reason}
}

var allowed = verdict.Verdict{Decision: verdict.Allow, Code: "read-only", Reason: "it only reads"}

// run is the state of judging one script.
type run struct {
	*Judge
	// cwds are the directories the current one may be: cd may fail, so each new
	// one joins those before.
	cwds          []string
	lost          bool // a cd went where it is not known
	reads, writes []string
	unknown       bool
	rewrite       string
	around        verdict.Verdict
}

func (r *run) statement(c shell.Command) Statement {
	r.reads, r.writes, r.rewrite, r.unknown = nil, nil, "", false
	cwds := slices.Clone(r.cwds)
	v := r.command(c)
	st := Statement{Argv: []string{}, Span: [2]int{c.Start, c.End}, Verdict: v, Reads: r.reads, Writes: r.writes, Unknown: r.unknown, Around: r.around, Cwds: cwds}
	if v.Decision != verdict.Allow {
		st.Rewrite = r.rewrite
	}
	for _, word := range c.Argv {
		st.Argv = append(st.Argv, word.Text)
	}
	return st
}

// command judges one simple command. All of it is looked at even after a reason
// to ask, so that the paths it uses are complete.
func (r *run) command(c shell.Command) verdict.Verdict {
	v := allowed
	for _, a := range c.Assigns {
		alone := len(c.Argv) == 0 && a.Ordinary()
		fields := a.Name == "IFS" && len(c.Argv) > 0 && c.Argv[0].Known && c.Argv[0].Text == "read"
		if !Harmless(a) && !alone && !fields {
			v = v.Stricter(ask("environment", "the variable "+a.Name+" can change what a program does"))
		}
	}
	r.around = v
	for _, redir := range c.Redirs {
		answer := r.redirection(redir)
		v = v.Stricter(answer)
		if redir.Effect != shell.Writes || !redir.Target.Known || r.lost {
			r.around = r.around.Stricter(answer)
		}
	}
	if len(c.Argv) == 0 {
		return v
	}
	around := r.around
	defer func() { r.around = around }() // a wrapped command has its own
	if why := r.call(c); why != "" {
		v = v.Stricter(ask("not-read-only", why))
	}
	return v
}

// Harmless reports whether a variable changes at most how things are
// shown.
func Harmless(a shell.Assign) bool {
	if a.Name == "TZ" && a.Value.Known { // a file beneath the system's, unless it says otherwise
		return !strings.HasPrefix(strings.TrimPrefix(a.Value.Text, ":"), "/") && !strings.Contains(a.Value.Text, "..")
	}
	if !a.Value.Known || strings.Contains(a.Value.Text, "/") {
		return false
	}
	switch a.Name {
	case "LANG", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI":
		return true
	case "PAGER", "GIT_PAGER", "GH_PAGER":
		return a.Value.Text == "cat" || a.Value.Text == ""
	case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT":
		return a.Value.Text == "0"
	}
	return strings.HasPrefix(a.Name, "LC_")
}

func (r *run) redirection(redir shell.Redir) verdict.Verdict {
	target := redir.Target
	switch redir.Effect {
	case shell.Dups:
		return allowed
	case shell.Reads:
		if why := r.content(target, true); why != "" {
			return ask("outside", why)
		}
		return allowed
	}
	if target.Known && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr"}, target.Text) {
		return allowed
	}
	if target.Known && target.Text != "" {
		ok := len(r.Writable) > 0
		for _, cwd := range r.cwds {
			full := absolute(cwd, target.Text)
			r.writes = append(r.writes, path.Clean(full))
			ok = ok && r.within(full, r.Writable)
		}
		if ok {
			return allowed
		}
	}
	r.unknown = r.unknown || !target.Known
	return ask("writes", "the redirection "+redir.Op+target.Text+" writes a file")
}

// call judges what a command runs. It returns why it is not read-only.
func (r *run) call(c shell.Command) string {
	word := c.Argv[0]
	if !word.Known {
		return "the command word is not known"
	}
	name := word.Text
	if dir, base := path.Split(name); dir == "/bin/" || dir == "/usr/bin/" {
		name = base
	} else if dir != "" {
		return "the program " + name + " is not one of the system's"
	}
	args := c.Argv[1:]
	if grammar := special(name); grammar != nil {
		return grammar(r, c, args)
	}
	if c.Wrapper && name != "nohup" {
		return r.wrapped(c)
	}
	for _, m := range models {
		if m.name == name {
			return r.model(name, m.model, args)
		}
	}
	return "the command " + name + " is not known to be read-only"
}

// wrapped judges what a wrapper runs.
func (r *run) wrapped(c shell.Command) string {
	for _, inner := range c.Inner {
		if v := r.command(inner); v.Decision != verdict.Allow {
			return v.Reason
		}
	}
	return ""
}

// special returns the grammar of a command that has one of its own.
func special(name string) func(*run, shell.Command, []shell.Word) string {
	switch name {
	case "cd":
		return func(r *run, c shell.Command, args []shell.Word) string {
			why := cd(r, c, args)
			r.lost = r.lost || why != ""
			return why
		}
	case "sed":
		return sed
	case "awk", "gawk", "mawk":
		return awk
	case "set":
		return set
	case "find":
		return find
	case "git":
		return git
	case "gh":
		return gh
	case "letta":
		return letta
	case "jq", "yq":
		return query
	case "test", "[":
		return test
	case "strings":
		return strs
	case "tar", "unzip":
		return archive
	case "node", "python", "python3", "ruby", "perl", "gcc", "g++", "clang", "make", "cmake", "psql", "sqlite3":
		return version
	case "printf":
		return printf
	case "date":
		return date
	case "read":
		return read
	case "env", "command":
		return bare
	}
	return nil
}
