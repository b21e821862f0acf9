//go:build linux

package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownDialect are the files of this package that may write to standard error
// beside ui.go: faces that speak as the program whose place they take, and a
// question, which ends without a newline.
var ownDialect = []string{"face_landlock_run_linux.go", "face_landlock_run_other.go", "credentials_prompt_unix.go"}

// Errors, hints and warnings are written in ui.go and nowhere else, and no text
// holds what colours a terminal.
func TestOnlyTheUIWritesToStandardError(t *testing.T) {
	writers := map[string]bool{}
	for _, src := range sources(t, ".") {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, src.name, src.text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && (pkg.Name == "os" && n.Sel.Name == "Stderr" || pkg.Name == "log") {
					writers[src.name] = true
					if src.name != "ui.go" && !slices.Contains(ownDialect, src.name) && !isRedirection(file, n) {
						t.Errorf("%s: %s.%s is used outside ui.go: call fail or warn", set.Position(n.Pos()), pkg.Name, n.Sel.Name)
					}
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "println" || f.Name == "print" || f.Name == "say" && src.name != "ui.go") {
					t.Errorf("%s: %s is called outside ui.go: call fail or warn", set.Position(n.Pos()), f.Name)
				}
			case *ast.BasicLit:
				if text, _ := strconv.Unquote(n.Value); n.Kind == token.STRING && strings.ContainsAny(text, "\x1b\u009b") {
					t.Errorf("%s: a text holds an escape sequence", set.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for _, name := range append([]string{"ui.go"}, ownDialect...) {
		if !writers[name] {
			t.Errorf("%s does not write to standard error: take it off the list", name)
		}
	}
}

// isRedirection reports whether the use hands standard error on to a child, as in
// cmd.Stderr = os.Stderr.
func isRedirection(file *ast.File, use *ast.SelectorExpr) (is bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		is = is || ok && slices.Contains(a.Rhs, ast.Expr(use))
		return !is
	})
	return is
}

// What leaves the program has one line for each text, and nothing in it controls
// the terminal, whatever the bytes of a name are.
func TestTextsAreOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb": "a b", "\x1b[31mred": " [31mred", "\u009b31m": " 31m", "\x7f": " ", "\u0085": " ", "é€": "é€", "\x9b": "\ufffd",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// Errors of many kinds keep the rules, as text and as JSON, with and without
// NO_COLOR; and both say the same.
func TestErrorsKeepTheRules(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad\x1b[31m\n.json")
	if err := os.WriteFile(bad, []byte(`{"deniedRoot":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		hint bool
	}{
		{nil, true},
		{[]string{"no-such-subcommand"}, true},
		{[]string{"--no-such-flag"}, true},
		{[]string{"--deny", "relative\x1b[31m", "--", "true"}, false},
		{[]string{"--backend", "docker\u009b31m", "--", "true"}, true},
		{[]string{"--policy", bad, "--", "true"}, true},
		{[]string{"--policy", dir + "/gone", "--", "true"}, false},
		{[]string{"--deny", "/", "--", "true"}, false},
		{[]string{"--deny", dir, "--chdir", dir, "--", "true"}, true},
		{[]string{"plan"}, true},
		{[]string{"explain"}, true},
		{[]string{"probe", "word"}, true},
		{[]string{"check"}, true},
		{[]string{"completion", "tcsh"}, true},
		{[]string{"version", "word"}, true},
	}
	run := func(env string, args []string) (stdout, stderr string, status int) {
		cmd := exec.Command(launcher(t), args...)
		cmd.Env = append(os.Environ(), env)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		cmd.Run()
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
	for _, test := range tests {
		stdout, plain, status := run("NO_COLOR=", test.args)
		_, uncoloured, _ := run("NO_COLOR=1", test.args)
		if stdout != "" || status != 125 || plain != uncoloured {
			t.Errorf("%q: status %d, standard output %q, and with NO_COLOR %q", test.args, status, stdout, uncoloured)
		}
		lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
		var texts []string
		for i, kind := range []string{"error", "hint"}[:min(2, len(lines))] {
			text, ok := strings.CutPrefix(lines[i], "letta-confine: "+kind+": ")
			if !ok || text == "" || strings.HasSuffix(text, ".") || 'A' <= text[0] && text[0] <= 'Z' || strings.ContainsAny(text, "\x1b\u009b") {
				t.Errorf("%q: line %d is %q", test.args, i+1, lines[i])
			}
			texts = append(texts, text)
		}
		if len(lines) > 2 || test.hint && len(lines) < 2 {
			t.Errorf("%q says %q; that it has a hint is %v", test.args, lines, test.hint)
		}

		// The flag stands before the dashes, and may come after what is wrong.
		args := slices.Clone(test.args)
		if i := slices.Index(args, "--"); i >= 0 {
			args = slices.Insert(args, i, "--error-format=json")
		} else {
			args = append(args, "--error-format", "json")
		}
		stdout, text, status := run("NO_COLOR=", args)
		var said struct {
			Schema, Code int
			Error, Hint  string
		}
		err := json.Unmarshal([]byte(text), &said)
		if err != nil || strings.Count(text, "\n") != 1 || stdout != "" || status != 125 || said.Schema != 1 || said.Code != 125 {
			t.Errorf("%q: status %d, %q, %v", args, status, text, err)
		}
		if len(test.args) > 0 && (said.Error != texts[0] || len(texts) > 1 && said.Hint != texts[1]) {
			t.Errorf("%q says %q, and as JSON %q", test.args, texts, text)
		}
	}
}

// No text gets out of an annotation: neither into a property nor onto a line of its own.
func TestAnnotation(t *testing.T) {
	for _, c := range []struct{ title, text, want string }{
		{"denied read", `read of "/x"`, `::error title=letta-confine%3A denied read::read of "/x"`},
		{"a,file=x::y", "100%\r\n::set-env name=PATH::x", "::error title=letta-confine%3A a%2Cfile=x%3A%3Ay::100%25%0D%0A::set-env name=PATH::x"},
	} {
		if got := annotation(c.title, c.text); got != c.want {
			t.Errorf("annotation(%q, %q) = %q, want %q", c.title, c.text, got, c.want)
		}
	}
}
