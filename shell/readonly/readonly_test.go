package readonly

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/verdict"
)

// rows reads a table: tabs between cells, the first line names them.
func rows(t testing.TB, name string) []map[string]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	head := strings.Split(lines[0], "\t")
	var out []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[head[i]] = cell
		}
		out = append(out, row)
	}
	return out
}

// place is the scratch tree of the tables: w/proj is the root, w/outside is not.
type place struct{ w, proj, outside, home string }

func newPlace(t testing.TB) place {
	t.Helper()
	w, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{w, w + "/proj", w + "/outside", w + "/home"}
	for name, text := range map[string]string{
		p.proj + "/a.txt": "alpha\nbeta\n", p.proj + "/victim.txt": "keep\n", p.proj + "/x.tar": "",
		p.outside + "/secret": "text from outside\n", p.home + "/.ssh/id_rsa": "text from outside\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(p.outside, p.proj+"/link"); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) judge(src string) (verdict.Verdict, []Statement) {
	s, err := shell.Options{Vars: map[string]string{"HOME": p.home}}.Parse(src)
	if err != nil {
		return ask("refused", err.Error()), nil
	}
	statements := (&Judge{Cwd: p.proj, Home: p.home, Roots: []string{p.proj}, Facts: Host{}}).Script(s)
	return Whole(s, statements), statements
}

// Of the lines that were written to break such a judge none passes, whatever
// files are there; of the harmless ones at most one in 18 asks.
func TestTricky(t *testing.T) {
	p := newPlace(t)
	harmless, asked := 0, 0
	for _, row := range rows(t, "testdata/tricky.tsv") {
		var src string
		if err := json.Unmarshal([]byte(row["command_json"]), &src); err != nil {
			t.Fatal(err)
		}
		v, _ := p.judge(strings.ReplaceAll(src, "/w/", p.w+"/"))
		switch {
		case row["read_only"] != "yes":
			if v.Decision == verdict.Allow {
				t.Errorf("%s: %q is allowed: %s", row["id"], src, row["why"])
			}
		default:
			harmless++
			if v.Decision != verdict.Allow && row["may_ask"] == "" {
				asked++
				t.Logf("%s: %q asks: %s", row["id"], src, v.Reason)
			}
		}
	}
	if asked*18 > harmless {
		t.Errorf("%d of %d harmless lines ask", asked, harmless)
	}
}

// The first list has what is near the lines of the table and must ask, the second
// what is near its harmless ones and must not.
func TestLists(t *testing.T) {
	p := newPlace(t)
	for name, want := range map[string]verdict.Decision{"testdata/asks.txt": verdict.Ask, "testdata/allows.txt": verdict.Allow} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			src := strings.TrimSuffix(line, "\n")
			if got, _ := p.judge(src); got.Decision != want {
				t.Errorf("%q: %v (%s), want %v", src, got.Decision, got.Reason, want)
			}
		}
	}
}

// A pattern is as good as the names that it matches: a name can be an option, a
// command of less or a file of words, and the directory's own name is no pattern.
func TestPatternsThatMatchOptions(t *testing.T) {
	for name, lines := range map[string][]string{
		"-oPWN": {"sort *", "sort ?oPWN", "grep a *", "du *", "ls | sort - *", "cd .; wc *"}, "+!touch PWN": {"less *", "less +*"}, "@a.txt": {"strings *"},
	} {
		p := newPlace(t)
		if err := os.RemoveAll(p.proj + "/link"); err != nil { // which cat * would follow
			t.Fatal(err)
		}
		for _, want := range []verdict.Decision{verdict.Allow, verdict.Ask} {
			for _, line := range lines {
				if got, _ := p.judge(line); got.Decision != want {
					t.Errorf("%q: %v (%s), want %v", line, got.Decision, got.Reason, want)
				}
			}
			if err := os.WriteFile(filepath.Join(p.proj, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := newPlace(t)
	for _, dir := range []string{"[x]", "a*b"} {
		if err := os.Mkdir(filepath.Join(p.proj, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		p := p
		p.proj += "/" + dir
		if got, _ := p.judge("cat *.txt"); got.Decision != verdict.Allow {
			t.Errorf("in %q: %v (%s)", dir, got.Decision, got.Reason)
		}
		if err := os.Symlink(p.outside+"/secret", p.proj+"/s.txt"); err != nil {
			t.Fatal(err)
		}
		if got, _ := p.judge("cat *.txt"); got.Decision != verdict.Ask {
			t.Errorf("in %q: %v (%s)", dir, got.Decision, got.Reason)
		}
	}
}

// A row says whether git, under a configuration, ran the program that the
// configuration names. Where it did, the call must ask; and nothing may ask where
// the repository has no such configuration.
func TestGitRunsNoProgram(t *testing.T) {
	for _, row := range rows(t, "testdata/git_exec.tsv") {
		t.Run(row["repo_config"]+" "+row["command"], func(t *testing.T) {
			p := newPlace(t)
			gitInit(t, p.proj)
			clean, _ := p.judge(row["command"])
			switch key := row["repo_config"]; key {
			case "fsmonitor":
				gitRun(t, p.proj, "config", "core.fsmonitor", "./evil.sh")
			case "textconv":
				gitRun(t, p.proj, "config", "diff.x.textconv", "./evil.sh")
			case "filter.clean":
				gitRun(t, p.proj, "config", "filter.x.clean", "./evil.sh")
			case "hooksPath":
				gitRun(t, p.proj, "config", "core.hooksPath", "hooks")
			default:
				gitRun(t, p.proj, "config", key, "./evil.sh")
			}
			v, _ := p.judge(row["command"])
			if row["program_ran"] == "yes" && v.Decision == verdict.Allow {
				t.Errorf("%q is allowed though it runs a program", row["command"])
			}
			if clean.Decision != verdict.Allow && !strings.Contains(row["command"], " -c ") &&
				!strings.Contains(row["command"], "-p log") && !strings.Contains(row["command"], "--paginate") {
				t.Errorf("%q asks in a repository that names no program: %s", row["command"], clean.Reason)
			}
		})
	}
}

// Texts that hide a key of git's from a reader that is not as careful.
func TestVetConfig(t *testing.T) {
	for _, tt := range []struct {
		text     string
		programs bool
		asks     bool
	}{
		{"[core]\n\tbare = false\n[remote \"o\"]\n\turl = x\n", true, false},
		{"[filter \"x][advice]\"]\nclean = ./x\n", true, true},
		{"[diff \"x] [advice ]\"]\ntextconv = ./x\n", true, true},
		{"[gpg \"a\\\"]\"]\nprogram = ./x\n", false, true},
		{"\ufeff[gpg]\nprogram = ./x\n", false, true},
		{"[remote \"o\"]\npartialclonefilter = blob:none\n", false, true},
		{"[core]\npager = ./x\n", false, true},
		{"[pager]\nlog = ./x\n", false, true},
		{"[pager]\nlog = ./x\n", true, true},
		{"[extensions]\nworktreeConfig = true\n[http \"https://github.com/\"]\nextraheader = x\n", true, false},
		{"[core]\nbare = \\\nfsmonitor = ./x\n", true, true},
	} {
		if why := vetConfig(tt.text, tt.programs); (why != "") != tt.asks {
			t.Errorf("vetConfig(%q, %v) = %q", tt.text, tt.programs, why)
		}
	}
}

func gitInit(t testing.TB, dir string) {
	t.Helper()
	gitRun(t, dir, "init", "-q")
	gitRun(t, dir, "config", "user.name", "x")
	gitRun(t, dir, "config", "user.email", "x@example.org")
	gitRun(t, dir, "add", "a.txt")
	gitRun(t, dir, "commit", "-qm", "x")
}

func gitRun(t testing.TB, dir string, args ...string) {
	t.Helper()
	run := exec.Command("git", args...)
	run.Dir = dir
	run.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
