package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapper is a command that runs the rest of its words. Options are spelled as in
// getopt: a letter or a long name, with a colon if it takes a value.
type wrapper struct {
	name  string
	short string
	long  []string
	skip  int  // operands before the command
	plain bool // running it is running the command and no more
}

// wrappers is the closed list; what is not in it runs itself only. It is no map,
// so that a start that parses nothing does not build it.
var wrappers = []wrapper{
	{"env", "i0u:", []string{"ignore-environment", "null", "unset:"}, 0, true},
	{"command", "p", nil, 0, true},
	{"builtin", "", nil, 0, true},
	{"exec", "cla:", nil, 0, false},
	{"nohup", "", nil, 0, true},
	{"nice", "n:", []string{"adjustment:"}, 0, true},
	{"ionice", "c:n:t", []string{"class:", "classdata:", "ignore"}, 0, true},
	{"timeout", "fpvk:s:", []string{"foreground", "preserve-status", "verbose", "kill-after:", "signal:"}, 1, true},
	{"time", "pv", []string{"portability", "verbose"}, 0, true},
	{"stdbuf", "i:o:e:", []string{"input:", "output:", "error:"}, 0, true},
	{"setsid", "cfw", []string{"ctty", "fork", "wait"}, 0, true},
	{"sudo", "AbEHnPSku:g:h:p:C:D:R:T:U:r:t:", []string{"user:", "group:", "non-interactive", "preserve-env", "stdin", "set-home"}, 0, false},
	{"doas", "nsu:C:", nil, 0, false},
	{"xargs", "0rtxn:P:I:L:d:s:E:", []string{"null", "no-run-if-empty", "verbose", "exit", "max-args:", "max-procs:", "max-lines:", "delimiter:", "max-chars:"}, 0, true},
	{"busybox", "", nil, 0, false},
	{"toybox", "", nil, 0, false},
}

// runners run a command that is somewhere among their words, or a script that is
// one of them. Where is not told apart: a rule that denies one must see it.
var runners = []string{
	"watch", "unbuffer", "chroot", "flock", "parallel", "script", "su", "runuser", "pkexec", "ssh", "strace", "ltrace", "unshare", "nsenter",
	"setpriv", "chronic", "entr", "firejail", "bwrap", "systemd-run", "taskset", "chrt", "numactl", "catchsegv", "setarch", "fakeroot", "proot",
	"choom", "prlimit", "linux32", "linux64", "arch", "caffeinate", "sandbox-exec", "runcon", "sg", "cgexec", "cpulimit", "chpst", "gosu", "su-exec",
	"tini", "dumb-init", "systemd-inhibit", "systemd-nspawn", "hyperfine", "valgrind", "gdb", "perf", "tmux", "screen", "dtach", "xvfb-run",
	"direnv", "doppler", "aws-vault", "nix-shell", "npx", "uv", "poetry", "pipenv", "mise", "letta-confine", "landrun", "eatmydata", "faketime",
	"mapfile", "readarray", "complete", "compgen", "gtimeout", "genv", "gnice", "gnohup", "gstdbuf", "gxargs", "gtime",
	"fd", "fdfind", "rlwrap", "torsocks", "proxychains", "dbus-run-session", "start-stop-daemon", "daemonize", "sshpass",
}

// Name is what a command word is compared by: its base name in small letters, which
// the file systems of some systems do not tell from large ones.
func Name(word string) string { return strings.ToLower(path.Base(word)) }

// shells are the programs that take a script after -c, the modelled ones first.
var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "csh", "tcsh", "yash", "pwsh"}

// assigns reports whether a word has the form of an assignment.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && syntax.ValidName(strings.TrimSuffix(name, "+"))
}

// stream reports whether a word names what another command writes, or standard input.
func stream(word Word) bool {
	return word.Stream || word.Known && (word.Text == "/dev/stdin" || strings.HasPrefix(word.Text, "/dev/fd/") || strings.HasPrefix(word.Text, "/proc/self/fd/"))
}

// unwrap finds what c runs. Where an option of a wrapper is not known, every rest
// of its words may be the command: a rule that denies one must see it.
func (w *walker) unwrap(c *Command) {
	if len(c.Argv) == 0 || w.depth >= maxDepth {
		return
	}
	if !c.Argv[0].Known { // it may be any of them
		w.guess(c)
		return
	}
	w.unwrapAssigns(c)
	name := Name(c.Argv[0].Text)
	defer func() { // by a name that only some systems take for it, nothing is known
		c.Wrapper = c.Wrapper && name == path.Base(c.Argv[0].Text)
	}()
	switch {
	case slices.Contains(shells, name):
		w.unwrapShell(c, name)
	case name == "eval" || name == "trap":
		w.unwrapText(c, name)
	case (name == "." || name == "source") && len(c.Argv) > 1:
		c.Hidden = c.Hidden || stream(c.Argv[1])
	case name[0] == '-':
		w.unwrapTime(c)
	case assigns(c.Argv[0].Text): // after coproc, where the parser takes it for a command
		w.inner(c, c.Argv[1:], nil)
	case strings.HasPrefix(name, "git-"):
		w.inner(c, append([]Word{{Text: "git", Known: true}, {Text: name[len("git-"):], Known: true}}, c.Argv[1:]...), nil)
	case name == "git":
		w.unwrapGit(c)
	case name == "find" || name == "gfind":
		w.unwrapFind(c)
	case slices.Contains(runners, name) || strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld.so") || strings.HasPrefix(name, "ld-musl"):
		w.guess(c)
	default:
		w.unwrapOptions(c)
		if i := slices.IndexFunc(wrappers, func(k wrapper) bool { return k.name == name }); i >= 0 && len(c.Argv) > 1 {
			w.unwrapWrapper(c, wrappers[i])
		}
	}
}

// unwrapTime finds what the shell's time runs, which the parser takes for the command
// itself where it has -- too, or options with values after a |.
func (w *walker) unwrapTime(c *Command) {
	for i, left := 1, 3; i < len(c.Argv) && left > 0; i++ {
		if !strings.HasPrefix(c.Argv[i].Text, "-") {
			w.inner(c, c.Argv[i:], nil)
			left--
		}
	}
}

// unwrapWrapper finds what a command runs that k describes, and that has words.
func (w *walker) unwrapWrapper(c *Command, k wrapper) {
	if k.name == "command" && (c.Argv[1].Text == "-v" || c.Argv[1].Text == "-V") {
		return
	}
	at, plain := k.options(c.Argv)
	if !plain {
		for i, word := range c.Argv[1:] {
			w.inner(c, c.Argv[i+1:], nil)
			if k.name == "env" {
				w.splitString(c, word.Text)
			}
		}
		return
	}
	c.Wrapper = k.plain
	var assigns []Assign
	if k.name == "env" && at < len(c.Argv) && c.Argv[at].Text == "-" { // as -i
		at++
	}
	for (k.name == "env" || k.name == "sudo") && at < len(c.Argv) && strings.Contains(c.Argv[at].Text, "=") {
		n, v, _ := strings.Cut(c.Argv[at].Text, "=")
		value := Word{Text: v, Known: c.Argv[at].Known}
		assigns = append(assigns, Assign{n, value})
		at++
	}
	if at+k.skip >= len(c.Argv) {
		c.Wrapper = false
		return
	}
	at += k.skip
	argv := c.Argv[at:]
	if k.name == "xargs" {
		argv = withInput(argv, replaced(c.Argv[1:at]))
	}
	w.inner(c, argv, assigns)
}

// splitString reads a word that may be what env -S takes.
func (w *walker) splitString(c *Command, word string) {
	text := strings.TrimPrefix(word, "-S")
	if _, value, ok := strings.Cut(text, "="); ok { // --split-string=
		w.nested(c, value, "sh")
	} else if strings.Contains(word, " ") {
		w.nested(c, text, "sh")
	}
}

// withInput are the words of a command that xargs runs: those it reads come last, and
// in the place of each text of by.
func withInput(argv []Word, by []string) []Word {
	argv = append(slices.Clone(argv), Word{Text: "(standard input)", Split: true})
	for i := range argv {
		argv[i].Known = argv[i].Known && !slices.ContainsFunc(by, func(text string) bool { return strings.Contains(argv[i].Text, text) })
	}
	return argv
}

// guess takes every word for where a command may begin, and for a script.
func (w *walker) guess(c *Command) {
	doubts := len(w.doubts)
	for i, word := range c.Argv[1:] {
		w.inner(c, c.Argv[i+1:], nil)
		if word.Known && strings.Contains(word.Text, " ") {
			w.guessed(c, word.Text)
		}
	}
	w.doubts = w.doubts[:doubts] // of guesses
}

// replaced are the texts that xargs -I may replace in the words of its command. An
// I that is the value of another option counts too.
func replaced(options []Word) (by []string) {
	for i, word := range options {
		_, rest, ok := strings.Cut(word.Text, "I")
		switch {
		case !ok || word.Text[0] != '-':
		case rest != "":
			by = append(by, rest)
		case i+1 < len(options):
			by = append(by, options[i+1].Text)
		}
	}
	return by
}

// options returns where the options of argv end, and whether all are known.
func (k wrapper) options(argv []Word) (int, bool) {
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		if !word.Known {
			return 0, false
		}
		text := word.Text
		switch {
		case text == "--":
			return i + 1, true
		case text == "-" || text == "" || text[0] != '-':
			return i, true
		case strings.HasPrefix(text, "--"):
			name, _, attached := strings.Cut(text[2:], "=")
			switch {
			case slices.Contains(k.long, name+":"):
				if !attached {
					i++
				}
			case !slices.Contains(k.long, name) || attached:
				return 0, false
			}
		case k.short == "n:" && strings.Trim(text[1:], "0123456789") == "": // nice -5
		default:
			for j := 1; j < len(text); j++ {
				at := strings.IndexByte(k.short, text[j])
				if at < 0 || text[j] == ':' {
					return 0, false
				}
				if at+1 < len(k.short) && k.short[at+1] == ':' {
					if j+1 == len(text) {
						i++
					}
					break
				}
			}
		}
	}
	return len(argv), true
}

// inner adds a command that c runs.
func (w *walker) inner(c *Command, argv []Word, assigns []Assign) {
	if len(argv) == 0 || !w.options.spend() {
		return
	}
	inner := Command{Argv: argv, Assigns: assigns, Start: c.Start, End: c.End, Repeats: c.Repeats}
	w.depth++
	w.unwrap(&inner)
	w.depth--
	c.Inner = append(c.Inner, inner)
}

// unwrapShell reads the script of sh -c, and a here-document that is the script.
func (w *walker) unwrapShell(c *Command, name string) {
	at, script := 1, false
	for ; at < len(c.Argv) && c.Argv[at].Known && strings.HasPrefix(c.Argv[at].Text, "-") && !script; at++ {
		flags := c.Argv[at].Text
		if slices.Contains([]string{"--norc", "--noprofile", "--login", "--posix"}, flags) && name == "bash" {
			continue
		}
		if len(flags) < 2 || strings.Trim(flags[1:], "celuxfn") != "" {
			break
		}
		script = strings.Contains(flags, "c")
	}
	switch {
	case script && at < len(c.Argv) && c.Argv[at].Known && !strings.HasPrefix(c.Argv[at].Text, "-"):
		c.Wrapper = w.nested(c, c.Argv[at].Text, name)
	default:
		// A script that is not known, and standard input that is not, may be anything.
		c.Hidden = script || at == len(c.Argv) || c.Argv[at].Text == "-s" || stream(c.Argv[at])
		for i, word := range c.Argv[1:] { // a script that an unknown option hides
			if word.Known && strings.HasPrefix(word.Text, "-") && strings.Contains(word.Text, "c") && i+2 < len(c.Argv) && c.Argv[i+2].Known {
				w.nested(c, c.Argv[i+2].Text, name)
			}
		}
		for _, r := range c.Redirs {
			if strings.HasPrefix(r.Op, "<<") && r.Target.Known {
				c.Hidden = script
				w.nested(c, r.Target.Text, name)
			}
		}
	}
}

// unwrapText reads what eval and trap run. They change the shell itself, so they
// are no plain wrappers.
func (w *walker) unwrapText(c *Command, name string) {
	words := c.Argv[1:]
	if len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	if name == "trap" && len(words) > 1 {
		words = words[:1]
	}
	texts := make([]string, len(words))
	for i, word := range words {
		if !word.Known {
			c.Hidden = true
			return
		}
		texts[i] = word.Text
	}
	w.nested(c, strings.Join(texts, " "), "bash")
}

// nested reads a script within the script, and reports whether its commands are
// all there is to know about it.
func (w *walker) nested(c *Command, src, name string) bool {
	if !w.options.spend() {
		return false
	}
	o := Options{POSIX: name != "bash", Vars: map[string]string{}, budget: w.options.budget}
	if len(c.Assigns) == 0 && !w.anyVar {
		for n, v := range w.options.Vars {
			if !slices.Contains(w.tainted, n) {
				o.Vars[n] = v
			}
		}
	}
	s, err := o.parse(src, w.depth+1)
	if err != nil {
		w.doubts = append(w.doubts, Doubt{c.Start, c.End, "the script of " + name + ": " + err.Error()})
		return false
	}
	for _, d := range s.Doubts {
		w.doubts = append(w.doubts, Doubt{c.Start, c.End, "the script of " + name + ": " + d.Why})
	}
	if slices.Index(shells, name) > 3 {
		w.doubts = append(w.doubts, Doubt{c.Start, c.End, "the script of a shell that is not modelled"})
	}
	for _, inner := range s.Commands {
		inner.place(c.Start, c.End)
		c.Inner = append(c.Inner, inner)
	}
	return true
}

// guessed reads a word that may be a script. Where it is none that can be read, any of
// its words may be a command.
func (w *walker) guessed(c *Command, text string) {
	if !w.nested(c, text, "sh") {
		var words []Word
		for _, field := range strings.Fields(strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(text)) {
			words = append(words, Word{Text: field, Known: true})
		}
		for i := range words {
			w.inner(c, words[i:], nil)
		}
	}
}

// place gives a command and what it runs the place of the text that holds them.
func (c *Command) place(start, end int) {
	c.Start, c.End = start, end
	c.Inner = slices.Clone(c.Inner)
	for i := range c.Inner {
		c.Inner[i].place(start, end)
	}
}
