package shell

import (
	"slices"
	"strings"
)

// told are the ends of the names of variables by which a program is told what to run.
var told = []string{"PAGER", "EDITOR", "VISUAL", "BROWSER", "_COMMAND", "ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_SSH", "LESSOPEN", "LESSCLOSE", "PS4"}

// unwrapAssigns finds what the variables before a command name.
func (w *walker) unwrapAssigns(c *Command) {
	for _, a := range c.Assigns {
		if a.Value.Stream && (a.Name == "BASH_ENV" || a.Name == "ENV") {
			c.Hidden = true
		}
		if slices.ContainsFunc(told, func(end string) bool { return strings.HasSuffix(a.Name, end) }) {
			w.tell(c, a.Value)
		}
	}
}

// tell takes a value for a command, which may be a script too.
func (w *walker) tell(c *Command, value Word) {
	doubts := len(w.doubts)
	w.inner(c, []Word{value}, nil)
	if value.Known && strings.ContainsAny(value.Text, " ;&|$`") {
		w.guessed(c, strings.TrimLeft(value.Text, "!|-"))
	}
	w.doubts = w.doubts[:doubts] // of guesses
}

// unwrapOptions finds the commands that options of tar and rsync name.
func (w *walker) unwrapOptions(c *Command) {
	for i, word := range c.Argv[1:] {
		for _, option := range []string{"--to-command=", "--checkpoint-action=exec=", "--use-compress-program=", "--rsh="} {
			if text, ok := strings.CutPrefix(word.Text, option); ok && word.Known {
				w.nested(c, text, "sh")
			}
		}
		if name := Name(c.Argv[0].Text); (name == "rsync" && word.Text == "-e" || name == "tar" && (word.Text == "-I" || word.Text == "-F")) &&
			i+2 < len(c.Argv) && c.Argv[i+2].Known {
			w.nested(c, c.Argv[i+2].Text, "sh")
		}
	}
}

// unwrapGit finds what git is told to run, and its commands by other names.
func (w *walker) unwrapGit(c *Command) {
	for i, word := range c.Argv[1:] {
		rest := c.Argv[i+2:]
		switch key, value, set := strings.Cut(word.Text, "="); {
		case set && strings.HasPrefix(strings.ToLower(strings.TrimPrefix(key, "-c")), "alias."):
			if script, ok := strings.CutPrefix(value, "!"); ok {
				w.nested(c, script, "sh")
				continue
			}
			argv := []Word{c.Argv[0]}
			for _, field := range strings.Fields(value) {
				argv = append(argv, Word{Text: field, Known: word.Known})
			}
			w.inner(c, append(argv, rest...), nil)
		case set && (c.Argv[i].Text == "-c" || strings.HasPrefix(key, "-c")) && !strings.Contains(key, "user."):
			w.tell(c, Word{Text: value, Known: word.Known})
		case set && key == "--exec":
			w.nested(c, value, "sh")
		case (word.Text == "-x" || word.Text == "--exec" || word.Text == "foreach") && len(rest) > 0 && rest[0].Known:
			w.nested(c, rest[0].Text, "sh")
			w.inner(c, rest, nil)
		case word.Text == "run" || word.Text == "foreach" || word.Text == "--recursive":
			w.inner(c, rest, nil)
		}
	}
}

// unwrapFind finds what find runs for each file.
func (w *walker) unwrapFind(c *Command) {
	runs := []string{"-exec", "-execdir", "-ok", "-okdir"}
	for i := 1; i < len(c.Argv); i++ {
		if !c.Argv[i].Known || !slices.Contains(runs, c.Argv[i].Text) {
			continue
		}
		end := FindEnd(c.Argv, i)
		argv := slices.Clone(c.Argv[i+1 : end])
		for j, word := range argv {
			if strings.Contains(word.Text, "{}") {
				argv[j] = Word{Text: word.Text, Split: end < len(c.Argv) && c.Argv[end].Text == "+"}
			}
		}
		w.inner(c, argv, nil)
		i = end
	}
}

// FindEnd returns where the command ends that the find action at i runs: at a ; or
// at a + that follows {}. Any other + is a word of the command.
func FindEnd(argv []Word, i int) int {
	for i++; i < len(argv) && argv[i].Text != ";" && (argv[i].Text != "+" || argv[i-1].Text != "{}"); i++ {
	}
	return min(i, len(argv))
}
