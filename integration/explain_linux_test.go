package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// explained is what explain --stderr --json prints, as far as these tests care.
type explained struct {
	Denied, Backend string
	Denials         []struct {
		Resolved string
		Root     *struct{ List, Resolved string }
		For      string
		Change   []struct{ Add, Remove, List string }
	}
}

// explainTree is a tree with one of everything that explainFlags deny.
func explainTree(t *testing.T, b box) *testenv.Tree {
	tr := testenv.NewTree(t, b.user)
	tr.Write("home/secret.txt", "secret\n")
	tr.WriteProgram("home/.letta/agents/bob/program", "#!/bin/sh\n")
	tr.Mkdir("out/empty")
	return tr
}

// explainFlags are a map from list to roots, so that a test can take one away.
func explainFlags(tr *testenv.Tree) map[string][]string {
	return map[string][]string{
		"deniedRoots":   {tr.Path("home/.letta/agents"), tr.Path("home/secret.txt")},
		"readonlyRoots": {tr.Path("home/.letta/agents/alice/memory")},
		"writableRoots": {tr.Path("work"), tr.Path("home/.letta/agents/alice")},
		"restrict":      {"yes"},
	}
}

func flagsOf(lists map[string][]string) (f flags) {
	for list, flag := range map[string]string{"deniedRoots": "--deny", "readonlyRoots": "--read-only", "writableRoots": "--writable"} {
		for _, root := range lists[list] {
			f = append(f, flag, root)
		}
	}
	if len(lists["restrict"]) > 0 {
		f = append(f, "--restrict-writes")
	}
	return f
}

// explainRun runs a script, and explains what it said to standard error.
func (b box) explainRun(t *testing.T, tr *testenv.Tree, f flags, script string) (testenv.Result, explained) {
	t.Helper()
	files, err := os.MkdirTemp("", "confine-said")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(files) })
	if err := os.Chown(files, b.user.UID, b.user.GID); err != nil {
		t.Fatal(err)
	}
	said, report := files+"/said", files+"/report"
	res := b.run(t, tr, append(flags{"--report", report}, f...), "/bin/sh", "-c", script)
	testenv.WriteFile(t, said, res.Stderr, 0o644)
	argv := append([]string{testenv.Launcher(t), "explain", "--json", "--stderr", said, "--report", report}, f...)
	out := b.free(t, tr, argv...)
	var e explained
	if err := json.Unmarshal([]byte(out.Stdout), &e); err != nil || out.Status != 0 {
		t.Fatalf("explain = %+v: %v", out, err)
	}
	if e.Backend != b.backend {
		t.Errorf("explain takes the backend for %q, want %q", e.Backend, b.backend)
	}
	return res, e
}

// TestExplainDenials: of each denied operation explain names the path, the root and
// a change, with which the same command then passes.
func TestExplainDenials(t *testing.T) {
	const agents, byDefault = "home/.letta/agents", ""
	bob, alice := "../home/.letta/agents/bob", "../home/.letta/agents/alice"
	tests := []struct{ script, path, root string }{
		{"cat " + bob + "/memory/x.md", agents + "/bob/memory/x.md", agents},
		{"ls " + bob, agents + "/bob", agents},
		{"grep bob " + bob + "/memory/x.md", agents + "/bob/memory/x.md", agents},
		{"head -c1 " + bob + "/memory/x.md", agents + "/bob/memory/x.md", agents},
		{"find " + bob + "/memory", agents + "/bob/memory", agents},
		{"cp " + bob + "/memory/x.md stolen", agents + "/bob/memory/x.md", agents},
		{`perl -e 'open(F, "<", $ARGV[0]) or die "$ARGV[0]: $!\n"' ` + bob + "/memory/x.md", agents + "/bob/memory/x.md", agents},
		{"touch " + bob + "/memory/new", agents + "/bob/memory/new", agents},
		{bob + "/program", agents + "/bob/program", agents},
		{"cat ../home/secret.txt", "home/secret.txt", "home/secret.txt"},
		{"echo x >../out/new", "out/new", byDefault},
		{"echo x >>../out/file.txt", "out/file.txt", byDefault},
		{"bash -c 'echo x >../out/new'", "out/new", byDefault},
		{"tee ../out/file.txt", "out/file.txt", byDefault},
		{"dd if=/dev/null of=../out/file.txt", "out/file.txt", byDefault},
		{"truncate -s 1 ../out/file.txt", "out/file.txt", byDefault},
		{"rm -f ../out/file.txt", "out/file.txt", byDefault},
		{"mkdir ../out/new", "out/new", byDefault},
		{"mkdir -p ../out/new/deep", "out/new", byDefault},
		{"rmdir ../out/empty", "out/empty", byDefault},
		{"mv ../out/file.txt ../out/other", "out/file.txt", byDefault},
		{"mv ../out/file.txt file2", "out/file.txt", byDefault},
		{"ln ../out/file.txt linked", "out/file.txt", byDefault},
		{"ln -s x ../out/link", "out/link", byDefault},
		{"cp file.txt ../out/copy", "out/copy", byDefault},
		{"sed -i s/a/b/ ../out/file.txt", "out/sed", byDefault},
		{"gzip ../out/file.txt", "out/file.txt.gz", byDefault},
		{"rm -f " + alice + "/memory/x.md", agents + "/alice/memory/x.md", agents + "/alice/memory"},
		{"echo x >" + alice + "/memory/new", agents + "/alice/memory/new", agents + "/alice/memory"},
		{"mv " + alice + "/memory " + alice + "/moved", agents + "/alice/memory", agents + "/alice/memory"},
	}
	each(t, func(t *testing.T, b box) {
		for _, tt := range tests {
			tr := explainTree(t, b)
			lists := explainFlags(tr)
			res, e := b.explainRun(t, tr, flagsOf(lists), tt.script)
			if res.Status == 0 || e.Denied != "denied" || len(e.Denials) == 0 {
				t.Errorf("%s = %+v; explain says %+v, want it denied", tt.script, res, e)
				continue
			}
			d := e.Denials[0]
			root := ""
			if d.Root != nil {
				root = d.Root.Resolved
			}
			want := ""
			if tt.root != byDefault {
				want = tr.Path(tt.root)
			}
			if !strings.HasPrefix(d.Resolved, tr.Path(tt.path)) || root != want {
				t.Errorf("%s: explain names %q and root %q, want %q and %q; it said %s", tt.script, d.Resolved, root, tr.Path(tt.path), want, res.Stderr)
			}
			for _, c := range d.Change {
				switch {
				case c.Add != "":
					lists[c.List] = append(lists[c.List], c.Add)
				case c.Remove != "":
					lists[c.List] = without(lists[c.List], c.Remove)
				default:
					lists["restrict"] = nil
				}
			}
			// A fresh tree would have other paths: what half a command did is undone.
			for _, made := range []string{"work/file2", "work/linked", "work/stolen"} {
				os.Remove(tr.Path(made))
			}
			if res := b.run(t, tr, flagsOf(lists), "/bin/sh", "-c", tt.script); res.Status != 0 {
				t.Errorf("%s: with the change %+v = %+v, want it to pass", tt.script, d.Change, res)
			}
		}
	})
}

func without(list []string, word string) (rest []string) {
	for _, w := range list {
		if w != word {
			rest = append(rest, w)
		}
	}
	return rest
}

// TestExplainOrdinaryFailures: what the policy has no part in is not claimed.
func TestExplainOrdinaryFailures(t *testing.T) {
	scripts := []string{
		"cat /etc/shadow",
		"ls /root",
		"cat missing",
		"ls ../out/missing",
		"cat ../home/.letta/agents/bob/memory/missing",
		"grep nothing file.txt",
		"echo 'program: Operation not permitted' >&2; exit 1",
		"echo 'Permission denied' >&2; exit 1",
		"echo 'git@example.org: Permission denied (publickey).' >&2; exit 128",
		"cat unreadable",
		"cat ../out/unreadable",
		"echo x >>sealed",
		"ls ../out/closed",
		"cat ../out/closed/file",
		"kill -0 1",
		"chown 0:0 file.txt && chgrp 1 file.txt",
		"./file.txt",
		"../out/file.txt",
		"no-such-command",
		"mkdir sub",
		"rmdir sub",
		"cat sub",
		"touch none/x",
		"cd file.txt",
		"false",
		"exit 3",
		"mount -t tmpfs none sub",
		"ln file.txt none/x",
	}
	eachOf(t, backends, []testenv.User{testenv.Plain}, func(t *testing.T, b box) {
		tr := explainTree(t, b)
		for _, name := range []string{"work/unreadable", "out/unreadable", "out/closed/file", "work/sealed"} {
			tr.Write(name, "x\n")
		}
		for name, mode := range map[string]os.FileMode{"work/unreadable": 0, "out/unreadable": 0, "out/closed": 0, "work/sealed": 0o444} {
			if err := os.Chmod(tr.Path(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { os.Chmod(tr.Path("out/closed"), 0o755) })
		for _, script := range scripts {
			res, e := b.explainRun(t, tr, flagsOf(explainFlags(tr)), script)
			if res.Status == 0 || e.Denied != "unknown" || len(e.Denials) > 0 {
				t.Errorf("%s = %+v; explain says %s, want nothing claimed", script, res, fmt.Sprintf("%+v", e))
			}
		}
	})
}
