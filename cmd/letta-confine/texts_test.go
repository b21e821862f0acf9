//go:build linux

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// speaking are the functions whose texts a user reads, and which argument has it.
var speaking = map[string]int{
	"errors.New": 0, "fmt.Errorf": 0, "usageError": 0, "withHint": 1, "warn": 0, "in.warn": 0,
}

// capital is a word that is written with a capital wherever it stands: a variable,
// an acronym, or a name of a product.
var capital = regexp.MustCompile(`^([A-Z][A-Z0-9_]+|Landlock|Linux|Seatbelt|SysProcAttr)\b`)

// The texts of errors, hints and warnings, here and in the packages whose errors
// reach a user as they are: lower case, one line, no full stop, no "failed to".
func TestTextsKeepTheRules(t *testing.T) {
	seen := 0
	for _, dir := range []string{
		".", "../../policy", "../../landlock", "../../bwrap", "../../seatbelt", "../../probe", "../../profile", "../../guard", "../../hook",
		"../../commit", "../../secrets", "../../rules", "../../shell", "../../confine", "../../denial", "../../internal/launch",
		"../../internal/hostfs", "../../internal/inner", "../../internal/supervise", "../../internal/harden",
	} {
		for _, src := range sources(t, dir) {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, dir+"/"+src.name, src.text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				at, ok := speaking[nameOf(call.Fun)]
				if !ok || at >= len(call.Args) {
					return true
				}
				text, whole := literal(call.Args[at])
				if text == "" {
					return true
				}
				seen++
				where := set.Position(call.Pos())
				if first := text[0]; 'A' <= first && first <= 'Z' && !capital.MatchString(text) {
					t.Errorf("%s: %q begins with a capital", where, text)
				}
				if whole && (strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "...") || strings.HasSuffix(text, "!")) {
					t.Errorf("%s: %q ends in a full stop", where, text)
				}
				if strings.ContainsAny(text, "\n\r\t") || strings.Contains(text, "failed to") {
					t.Errorf("%s: %q", where, text)
				}
				return true
			})
		}
	}
	if seen < 300 {
		t.Errorf("looked at %d texts: the names of the functions are out of date", seen)
	}
}

// nameOf is a function as it is called: f, pkg.F or x.f.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// literal is the text that an expression begins with, and whether it is all of it.
func literal(e ast.Expr) (text string, whole bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ = strconv.Unquote(e.Value)
		return text, true
	case *ast.BinaryExpr:
		left, all := literal(e.X)
		if all {
			right, all := literal(e.Y)
			return left + right, all
		}
		return left, false
	case *ast.CallExpr:
		if nameOf(e.Fun) == "fmt.Sprintf" && len(e.Args) > 0 {
			return literal(e.Args[0])
		}
	}
	return "", false
}

// An error names a path once, and in quotes, whichever call it comes from.
func TestErrorsNameAPathOnce(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"file": "", "script": "#!/no/such/interpreter\n", "policy.json": `{"deniedRoots": ["` + dir + `/file/below/.."]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"loop": "loop", "link": "/etc"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	gone, long := dir+"/gone", dir+"/"+strings.Repeat("0", 300)
	var rows [][]string
	for _, flag := range []string{"--deny", "--read-only", "--writable", "--base-writable"} {
		for _, path := range []string{dir + "/loop/x", dir + "/file/", dir + "/file/x/..", gone + "/../x", dir + "/link", long, "relative"} {
			rows = append(rows, []string{flag, path})
		}
	}
	for _, flag := range []string{"--chdir", "--workspace", "--tmpdir", "--protect", "--protect-git", "--git-worktree", "--policy", "--report", "--bwrap"} {
		for _, path := range []string{gone, gone + "/below", dir + "/file", dir + "/file/below", dir + "/loop", long, dir} {
			rows = append(rows, []string{"--restrict-writes", flag, path})
		}
	}
	rows = append(rows, []string{"--policy", dir + "/policy.json"}, []string{"--missing-denied", "refuse", "--deny", gone},
		[]string{"--deny", dir, "--writable", dir}, []string{"--deny", dir, "--chdir", dir})
	failed := 0
	for _, args := range rows {
		run := exec.Command(launcher(t), append(args, "--", "true")...)
		run.Dir = "/"
		out, _ := run.CombinedOutput()
		text, ok := strings.CutPrefix(string(out), "letta-confine: error: ")
		if run.ProcessState.ExitCode() != 125 {
			continue // it was none
		}
		failed++
		text, _, _ = strings.Cut(text, "\n")
		seen := map[string]int{}
		rest := quoted.ReplaceAllStringFunc(text, func(path string) string { seen[path]++; return "" })
		if !ok || strings.Contains(rest, "/") {
			t.Errorf("%q: %q has a path outside quotes", args, text)
		}
		for path, n := range seen {
			if n > 1 {
				t.Errorf("%q: %q names %s %d times", args, text, path, n)
			}
		}
	}
	if failed < 60 {
		t.Errorf("%d command lines were refused, and more should be", failed)
	}
}

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
