//go:build linux

package main

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dispatched returns the words that dispatch compares the first word with.
func dispatched(t *testing.T) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "main.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{} // the string constants of the file
	var words []string
	take := func(n ast.Node) bool {
		clause, ok := n.(*ast.CaseClause)
		if !ok {
			return true
		}
		for _, e := range clause.List {
			word := ""
			switch e := e.(type) {
			case *ast.BasicLit:
				word, _ = strconv.Unquote(e.Value)
			case *ast.Ident:
				word = named[e.Name]
			}
			if word == "" {
				t.Errorf("%s: dispatch compares with something that is no string of main.go", set.Position(e.Pos()))
			}
			if !strings.HasPrefix(word, "-") {
				words = append(words, word)
			}
		}
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok && len(c.Names) == len(c.Values) {
			for i, v := range c.Values {
				if lit, ok := v.(*ast.BasicLit); ok {
					named[c.Names[i].Name], _ = strconv.Unquote(lit.Value)
				}
			}
		}
		return true
	})
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "dispatch" {
			ast.Inspect(f, take)
		}
	}
	slices.Sort(words)
	return words
}

func TestSubcommandsAreDispatched(t *testing.T) {
	words := append(dispatched(t), "landlock-run") // main's own
	slices.Sort(words)
	if !slices.Equal(words, subcommands) {
		t.Errorf("dispatch knows %q, and subcommands in completion.go lists %q", words, subcommands)
	}
}

// complete has bash complete the last of the words.
func complete(t *testing.T, words ...string) []string {
	t.Helper()
	script := `source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_letta_confine && printf '%s\n' "${COMPREPLY[@]}"`
	file := filepath.Join(t.TempDir(), "completion")
	if err := os.WriteFile(file, []byte(bashCompletion()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--norc", "-uc", script, "bash", file, "letta-confine"}, words...)
	run := exec.Command("bash", args...)
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if code, ok := err.(*exec.ExitError); stderr.Len() > 0 || (err != nil && (!ok || code.ExitCode() != 1)) {
		t.Fatalf("bash: %v\n%s", err, &stderr)
	}
	return strings.Fields(string(out))
}

func TestBashCompletes(t *testing.T) {
	need(t, "bash")
	all := []string{"--help"}
	for _, f := range flags {
		all = append(all, "--"+f.name)
	}
	slices.Sort(all)
	tests := []struct{ words, want []string }{
		{[]string{"--back"}, []string{"--backend"}},
		{[]string{"--backend", ""}, []string{"auto", "bwrap", "landlock", "seatbelt"}},
		{[]string{"--backend", "l"}, []string{"landlock"}},
		{[]string{"--backend", "="}, []string{"auto", "bwrap", "landlock", "seatbelt"}},
		{[]string{"--backend", "=", "b"}, []string{"bwrap"}},
		{[]string{"--quiet", "--back"}, []string{"--backend"}},
		{[]string{"--deny", "--", "--back"}, []string{"--backend"}}, // "--" is the value of --deny
		{[]string{"--deny", "=", "--", "--back"}, []string{"--backend"}},
		{[]string{"--deny", ""}, nil}, // bash completes file names
		{[]string{"plan", "--back"}, []string{"--backend"}},
		{[]string{"--", "--back"}, nil},
		{[]string{"--", "letta-confine", "--back"}, nil},
		{[]string{"comp"}, []string{"completion"}},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}},
		{[]string{"--"}, all},
		{[]string{"plan", "--"}, all},
		{[]string{"check", ""}, kinds(t)},
		{[]string{"check", "rules", "--mo"}, []string{"--mode"}},
		{[]string{"check", "rules", "--back"}, nil},
		{[]string{"check", "rules", "--mode", ""}, nil}, // no mode of a run's
		{[]string{"check", "path", "--wr"}, []string{"--write", "--writable"}},
		{[]string{"check", "path", "--backend", "l"}, []string{"landlock"}},
		{[]string{"check", "hook", "--rew"}, []string{"--rewrite"}},
	}
	for _, test := range tests {
		if got := complete(t, test.words...); !slices.Equal(got, test.want) {
			t.Errorf("bash completes %q to %q, want %q", test.words, got, test.want)
		}
	}
	for _, word := range subcommands {
		if got := complete(t, word); !slices.Contains(got, word) {
			t.Errorf("bash completes %q to %q", word, got)
		}
	}
	for _, f := range flags {
		if got := complete(t, "--"+f.name, ""); !f.bool && !slices.Equal(got, f.words()) {
			t.Errorf("bash completes the value of --%s to %q, want %q", f.name, got, f.words())
		}
	}
}

func TestFishCompletes(t *testing.T) {
	need(t, "fish")
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(fishCompletion()), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"letta-confine --back":                         "--backend",
		"letta-confine --backend ":                     "auto bwrap landlock seatbelt",
		"letta-confine comp":                           "completion",
		"letta-confine completion ":                    "bash fish zsh",
		"letta-confine plan --back":                    "--backend",
		"letta-confine check sh":                       "shell",
		"letta-confine check rules --mo":               "--mode",
		"letta-confine check rules --back":             "",
		"letta-confine check path --wri":               "--writable --write",
		"letta-confine --wri":                          "--writable",
		"letta-confine --quiet -- --back":              "",
		"letta-confine --quiet -- letta-confine comp":  "completion",
		"letta-confine --deny x -- letta-confine --ba": "--backend --base-writable",
	} {
		run := exec.Command("fish", "--no-config", "-c", "source "+file+"; complete -C '"+line+"'")
		run.Dir = filepath.Dir(file)
		run.Env = append(os.Environ(), "PATH="+filepath.Dir(launcher(t))+":/usr/bin:/bin", "HOME="+filepath.Dir(file))
		out, err := run.CombinedOutput()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || got != want {
			t.Errorf("fish completes %q to %q, %v, want %q", line, got, err, want)
		}
	}
}

// Each script is one that its shell can read, and offers each flag and each word.
func TestCompletionScripts(t *testing.T) {
	forms := map[string]struct {
		script     string
		flag, word func(name, words string) string
	}{
		"zsh": {
			zshCompletion(),
			func(name, _ string) string { return "\t'*--" + name },
			func(name, words string) string { return "\t'*--" + name + "=:value:(" + words + ")'\n" },
		},
		"fish": {
			fishCompletion(),
			func(name, _ string) string { return " -l " + name },
			func(name, words string) string { return " -l " + name + " -x -a '" + words + "'\n" },
		},
		"bash": {
			bashCompletion(),
			func(name, _ string) string { return "--" + name },
			func(name, words string) string { return "\t--" + name + ") words='" + words + "' ;;\n" },
		},
	}
	for shell, form := range forms {
		t.Run(shell, func(t *testing.T) {
			for _, f := range flags {
				if !strings.Contains(form.script, form.flag(f.name, "")) {
					t.Errorf("--%s is not offered", f.name)
				}
				if words := strings.Join(f.words(), " "); words != "" && !strings.Contains(form.script, form.word(f.name, words)) {
					t.Errorf("--%s is not offered with the words %q", f.name, words)
				}
			}
			out, err := exec.Command(launcher(t), "completion", shell).Output()
			if err != nil || string(out) != form.script {
				t.Errorf("letta-confine completion %s prints something else, %v", shell, err)
			}
			need(t, shell)
			run := exec.Command(shell, "-n")
			run.Stdin = strings.NewReader(form.script)
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s -n: %v\n%s", shell, err, out)
			}
		})
	}
}

// The choices are what the flags take: some are known, so that a table that
// describes none does not pass.
func TestFlagWords(t *testing.T) {
	for name, want := range map[string][]string{
		"backend": {"auto", "bwrap", "landlock", "seatbelt"}, "tmp": {"host", "private"}, "deny": nil, "quiet": nil, "env": nil,
	} {
		i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
		if got := flags[i].words(); !slices.Equal(got, want) {
			t.Errorf("--%s takes %q, want %q", name, got, want)
		}
	}
}

// zsh completes in a terminal of its own alone. It ends once it shows what is wanted.
func TestZshCompletes(t *testing.T) {
	need(t, "zsh")
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/_letta-confine", []byte(zshCompletion()), 0o600); err != nil {
		t.Fatal(err)
	}
	const driver = `zmodload zsh/zpty
zpty z "TERM=dumb zsh -f -i"
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; print rea''dy"
zpty -r -m z said "*ready*"
for line want in "${@:2}"; do
	print -r -- "$line"
	zpty -w -n z "$line"$'\t'
	zpty -r -m z said "*$~want*"
	zpty -w -n z $'\C-u'
done`
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	run := exec.CommandContext(ctx, "zsh", "-f", "-c", driver, "zsh", dir,
		"letta-confine --back", "--backend=",
		"letta-confine --backend=", "bwrap*landlock",
		"letta-confine completion ", "bash*fish*zsh",
		"letta-confine check ", "commit*hook*path*rules*secrets*shell",
		"letta-confine check rules --mo", "--mode=",
		"letta-confine check path --disabl", "--disable-memory-guard",
		"letta-confine check shell --", "--json*--root*--shell*--writable")
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("zsh does not complete the last of these as it should: %v\n%s", err, out)
	}
}

// kinds are the words that check itself says it knows.
func kinds(t *testing.T) []string {
	t.Helper()
	out, _ := exec.Command(launcher(t), "check").CombinedOutput()
	_, after, ok := strings.Cut(string(out), "want ")
	line, _, _ := strings.Cut(after, "\n")
	if !ok {
		t.Fatalf("check says %q", out)
	}
	return strings.Split(line, ", ")
}

// The flags of each kind of check are the same in its own help, its manual and the
// completions; the kind takes each; and no source defines another.
func TestEveryFlagOfACheck(t *testing.T) {
	const page = "letta-confine-check.1"
	tags, _ := manPage(t, page)
	var words, known []string
	for _, k := range checkKinds {
		words = append(words, k.word)
		out, err := exec.Command(launcher(t), "check", k.word, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		help := map[string]string{} // each flag's values
		for _, m := range flagLine.FindAllStringSubmatch(string(out), -1) {
			help["--"+m[1]] = cmp.Or(help["--"+m[1]], strings.TrimSpace(m[2]))
		}
		var manual []string
		for _, tag := range tags["CHECK "+strings.ToUpper(k.word)] {
			name, value, _ := strings.Cut(tag, " ")
			manual = append(manual, name)
			if (strings.TrimSpace(value) == "") != (help[name] == "") {
				t.Errorf("%s gives %s of check %s the value %q, and its help %q", page, name, k.word, value, help[name])
			}
		}
		same(t, page, "flag of check "+k.word, manual, slices.Collect(maps.Keys(help)))
		var completed []string
		for word := range strings.FieldsSeq(k.flags) {
			name, takes := strings.CutSuffix(word, "=")
			completed = append(completed, name)
			args := []string{"check", k.word, name, "--help"}
			if takes {
				first, _, _ := strings.Cut(help[name], "|")
				args = []string{"check", k.word, name, first, "--help"}
			}
			if text, err := exec.Command(launcher(t), args...).CombinedOutput(); err != nil || string(text) != string(out) {
				t.Errorf("%q: %v, %s", args, err, text)
			}
			if takes != (help[name] != "") {
				t.Errorf("the completions say that %s of check %s takes a value: %v", name, k.word, takes)
			}
		}
		same(t, "the completions", "flag of check "+k.word, completed, manual)
		known = append(known, completed...)
	}
	if slices.Sort(words); !slices.Equal(words, kinds(t)) {
		t.Errorf("checkKinds are %q, and check knows %q", words, kinds(t))
	}
	defined := regexp.MustCompile(`\{"([a-z-]+)", (?:true|false), |\.(?:String|Bool)(?:Var)?\((?:&[a-zA-Z.]+, )?"([a-z-]+)"`)
	seen := 0
	for _, src := range sources(t, ".") {
		if !strings.HasPrefix(src.name, "judge_") && !strings.HasPrefix(src.name, "credentials_command_") {
			continue
		}
		for _, m := range defined.FindAllStringSubmatch(src.text, -1) {
			seen++
			if name := "--" + cmp.Or(m[1], m[2]); !slices.Contains(known, name) {
				t.Errorf("%s defines %s, which is documented nowhere", src.name, name)
			}
		}
	}
	if seen < 25 {
		t.Errorf("found %d definitions of flags in judge_*.go: the pattern is out of date", seen)
	}
}
