package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// policyText is the policy of crossFlags as a file.
func policyText(t *testing.T, fields map[string]any) string {
	t.Helper()
	fields["version"] = 1
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func crossText(t *testing.T, tr *testenv.Tree) string {
	t.Helper()
	return policyText(t, map[string]any{
		"deniedRoots": []string{tr.Path(agents)}, "writableRoots": []string{tr.Path(alice)},
	})
}

// TestPolicySources: a file, standard input and a descriptor mean the same.
func TestPolicySources(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		text := crossText(t, tr)
		tr.Write("out/policy.json", text)
		asks := []string{testenv.Helper(t), "calls", "read", tr.Path(bob + "/memory/x.md"), "read", tr.Path(alice + "/memory/x.md")}
		want := hidden.errno(b.backend) + "\nok\n"
		quiet := flags{"--quiet"} // Landlock warns that it cannot protect the file

		file := b.command(t, tr, append(quiet, "--policy", tr.Path("out/policy.json")), asks...)
		stdin := b.command(t, tr, flags{"--policy", "-"}, asks...)
		stdin.Stdin = strings.NewReader(text)
		fd := b.command(t, tr, flags{"--policy", "fd:3"}, asks...)
		f, err := os.Open(tr.Path("out/policy.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fd.Files = []*os.File{f}
		relative := b.command(t, tr, append(quiet, "--policy", "../out/policy.json"), asks...)
		for name, c := range map[string]testenv.Command{"file": file, "stdin": stdin, "fd": fd, "relative": relative} {
			if res := c.Run(t); res.Stdout != want || res.Stderr != "" {
				t.Errorf("policy from %s: got %+v, want %q", name, res, want)
			}
		}

		empty := b.command(t, tr, flags{"--policy", "-"}, "sh", "-c", "readlink /proc/self/fd/0; cat")
		empty.Stdin = strings.NewReader(text + "\n\n")
		if res := empty.Run(t); res.Stdout != "/dev/null\n" {
			t.Errorf("after a policy from standard input the command has %+v, want /dev/null", res)
		}
	})
}

// TestRepeatedPolicies: lists add up, and restrictWrites of one holds for all.
func TestRepeatedPolicies(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("out/deny.json", crossText(t, tr))
		tr.Write("out/restrict.json", policyText(t, map[string]any{"restrictWrites": true}))
		f := flags{"--policy", tr.Path("out/deny.json"), "--policy", tr.Path("out/restrict.json"), "--writable", tr.Path("work")}
		rows := []row{
			{"read", bob + "/memory/x.md", hidden, ""},
			{"append", alice + "/memory/x.md", allowed, ""},
			{"append", "out/file.txt", readOnly, ""},
			{"append", "work/file.txt", allowed, ""},
		}
		for i, got := range b.calls(t, tr, f, rows...) {
			if want := rows[i].want.errno(b.backend); got != want {
				t.Errorf("%v = %s, want %s", rows[i], got, want)
			}
		}
	})
}

// TestPolicyFileInAWritableRoot: a policy that the command may rewrite is none.
func TestPolicyFileInAWritableRoot(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("work/policy.json", crossText(t, tr))
		tr.Link(tr.Path("work/policy.json"), "out/link.json")
		before := tr.Snapshot()
		refused(t, b.run(t, tr, append(workFlags(tr), "--policy", tr.Path("work/policy.json")), "touch", "ran"), "can be changed by the command", "fd:N")
		refused(t, b.run(t, tr, append(workFlags(tr), "--policy", tr.Path("out/link.json")), "touch", "ran"), "symlink", "real path")
		tr.Changed(before)
	})
}

// TestPolicyFileIsProtected: a policy file that is writable only because
// everything is stays as it is for the next run. Landlock cannot do that, and
// says so.
func TestPolicyFileIsProtected(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		if b.backend == "landlock" {
			tr := testenv.NewTree(t, b.user)
			tr.Write("out/policy.json", crossText(t, tr))
			res := b.run(t, tr, flags{"--policy", tr.Path("out/policy.json")}, "true")
			if res.Status != 0 || !strings.HasPrefix(res.Stderr, "letta-confine: warning: --policy ") || strings.Count(res.Stderr, "\n") != 1 {
				t.Errorf("got %+v, want one warning about the policy file", res)
			}
			return
		}
		tableTest{
			prepare: func(tr *testenv.Tree) {
				tr.Write("out/etc/policy.json", crossText(t, tr))
				tr.Write("out/etc/other.json", "{}")
			},
			flags: func(tr *testenv.Tree) flags { return flags{"--policy", tr.Path("out/etc/policy.json")} },
			rows: []row{
				{"read", "out/etc/policy.json", allowed, ""},
				{"append", "out/etc/policy.json", readOnly, ""},
				{"truncate", "out/etc/policy.json", readOnly, ""},
				{"chmod", "out/etc/policy.json", readOnly, ""},
				{"unlink", "out/etc/policy.json", pinnedRoot, ""},
				{"rename", "out/etc/other.json out/etc/policy.json", pinnedRoot, ""},
				{"rename", "out/etc/policy.json out/etc/x", pinnedRoot, ""},
				{"rename", "out/etc out/x", pinned, ""},
				{"rename", "out x", pinned, ""},
				{"append", "out/etc/other.json", allowed, "beside"},
			},
			after: func(t *testing.T, tr *testenv.Tree) {
				if got := tr.Read("out/etc/policy.json"); got != crossText(t, tr) {
					t.Errorf("the host has %q for the policy file, want it unchanged", got)
				}
			},
		}.run(t, b)
	})
}

// TestLauncherIsProtected: neither the launcher nor bubblewrap may lie in a root
// that the policy lists as writable.
func TestLauncherIsProtected(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		text, err := os.ReadFile(testenv.Launcher(t))
		if err != nil {
			t.Fatal(err)
		}
		tr.WriteProgram("work/launcher", string(text))
		tr.WriteProgram("out/launcher", string(text))
		c := b.command(t, tr, workFlags(tr), "touch", "ran")
		c.Argv[0] = tr.Path("work/launcher")
		refused(t, c.Run(t), "can be changed by the command", "outside")
		if tr.Exists("work/ran") {
			t.Error("the command ran")
		}
		if b.backend == "bwrap" {
			c := b.command(t, tr, crossFlags(tr), testenv.Helper(t), "calls", "chmod", tr.Path("out/launcher"), "unlink", tr.Path("out/launcher"), "rename", tr.Path("out"), tr.Path("x"))
			c.Argv[0] = tr.Path("out/launcher")
			if res := c.Run(t); res.Stdout != "EROFS\nEBUSY\nEBUSY\n" {
				t.Errorf("changing, removing and moving a launcher that is writable by default = %+v", res)
			}
		}
	})
}
