package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/shell"
)

// fileTools open the files that their words name, and readonly says nothing of them.
var fileTools = []string{"cp", "mv", "ln", "dd", "install", "tee", "truncate", "touch", "rm", "rsync", "scp", "source", ".", "awk", "gawk", "mawk"}

// hides reports whether a command opens a file whose name is not known.
func hides(c shell.Command) bool {
	return len(c.Argv) > 0 && slices.Contains(fileTools, path.Base(c.Argv[0].Text)) &&
		slices.ContainsFunc(c.Argv[1:], func(w shell.Word) bool { return !w.Known && !w.Glob && !w.Stream && atHome(w) == "" })
}

// atHome is a word that is a path in the home directory, where the text may set HOME
// so that the word is not known.
func atHome(w shell.Word) string {
	text := strings.Trim(w.Text, `"`)
	for _, home := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(text, home); ok && !strings.ContainsAny(rest, "$`*?[{\"'\\") {
			return "~/" + rest
		}
	}
	return ""
}

// operandsOf are the words of a command, and of those it runs, that may be paths, and
// the values that it gives variables.
func operandsOf(c shell.Command, glob func(string) []string) []string {
	var out []string
	for _, a := range c.Assigns {
		if a.Value.Known && a.Value.Text != "" {
			out = append(out, a.Value.Text)
		}
	}
	for _, r := range c.Redirs {
		if r.Op == "<<<" && r.Target.Known && r.Target.Text != "" {
			out = append(out, r.Target.Text)
		}
		if r.Target.Glob {
			out = append(out, glob(r.Target.Text)...)
		}
	}
	if len(c.Argv) > 0 && strings.HasPrefix(folded(path.Base(c.Argv[0].Text)), "applypatch") { // Codex takes it for its tool
		texts := slices.Clone(c.Argv)
		for _, r := range c.Redirs {
			texts = append(texts, r.Target)
		}
		for _, w := range texts {
			out = append(out, guard.Patched(w.Text, false)...)
		}
	}
	if len(c.Argv) > 0 && (c.Argv[0].Text == "echo" || c.Argv[0].Text == "printf") {
		return out
	}
	for i, word := range c.Argv {
		if word.Glob && i > 0 {
			out = append(out, glob(word.Text)...)
			continue
		}
		if home := atHome(word); home != "" && !word.Known {
			out = append(out, home)
		}
		for _, here := range []string{`$PWD/`, `${PWD}/`, `$(pwd)/`} {
			if _, rest, ok := strings.Cut(word.Text, here); ok && !word.Known {
				out = append(out, strings.Trim(rest, `"`))
			}
		}
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
		out = append(out, operandsOf(inner, glob)...)
	}
	return out
}

// maxDirs bounds the directories that commands may be in, and maxCompared how often a
// path that their words may mean there is compared with a rule.
const (
	maxDirs     = 64
	maxCompared = 100000
)

// goesTo adds to the directories that a command may be started in those to which it, or
// what it runs, may go: by cd, which may fail, and by options such as git's -C.
func goesTo(c shell.Command, dirs []string) []string {
	for i := 1; i < len(c.Argv) && len(dirs) <= maxDirs; i++ {
		name, before := c.Argv[i].Text, c.Argv[i-1].Text
		switch {
		case slices.Contains([]string{"cd", "chdir", "pushd"}, c.Argv[0].Text), slices.Contains(dirOptions, before):
		case strings.HasPrefix(name, "-C"), strings.HasPrefix(name, "--"):
			option, value, found := strings.Cut(name, "=")
			if name = value; !found && strings.HasPrefix(option, "-C") {
				name = option[2:]
			} else if !slices.Contains(dirOptions, option) {
				continue
			}
		default:
			continue
		}
		if name == "" || !c.Argv[i].Known {
			continue
		}
		for _, dir := range slices.Clone(dirs) {
			if !strings.HasPrefix(name, "/") {
				dir += "/" + name
			} else {
				dir = name
			}
			dirs = union(dirs, []string{dir})
		}
	}
	for _, inner := range c.Inner {
		dirs = goesTo(inner, dirs)
	}
	return dirs
}

// dirOptions take the directory to go to first.
var dirOptions = []string{"-C", "--chdir", "--directory", "--cwd", "--prefix"}
