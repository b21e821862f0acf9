package integration

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// profileFlags name one of letta-code's profiles for alice.
func profileFlags(name string) func(*testenv.Tree) flags {
	return func(*testenv.Tree) flags { return flags{"--profile", name, "--agent-id", "alice"} }
}

const localBob = "home/.letta/lc-local-backend/memfs/bob"

// harness is what letta-code keeps beside the agents of the API.
func harness(tr *testenv.Tree) {
	tr.Write(localBob+"/memory/x.md", testenv.BobText)
	tr.Write(alice+"/config.json", "{}\n")
	tr.Write("home/.letta/mods/mod.js", "// mod\n")
	tr.Write("home/.letta/logs/log", "log\n")
}

// othersRows are what both profiles refuse: the other agents, of both trees.
var othersRows = []row{
	{"list", agents, unlisted, "a mask shows the carve-outs' names"},
	{"read", bob + "/memory/x.md", hidden, ""},
	{"list", bob, hidden, ""},
	{"list", bob + "/memory", hidden, ""},
	{"append", bob + "/memory/x.md", hidden, ""},
	{"create", bob + "/new", hidden, ""},
	{"unlink", bob + "/memory/x.md", hidden, ""},
	{"rename", bob + " " + alice + "/memory/bob", moveOut, ""},
	{"link", bob + "/memory/x.md " + alice + "/memory/bob.md", hiddenLink, ""},
	{"mkdir", agents + "/carol", sealed, ""},
	{"rename", agents + " home/.letta/elsewhere", pinnedRoot, ""},
	{"read", localBob + "/memory/x.md", hidden, ""},
	{"list", localBob, hidden, ""},
	{"append", localBob + "/memory/x.md", hidden, ""},
	{"mkdir", "home/.letta/lc-local-backend/memfs/carol", sealed, ""},

	{"read", alice + "/memory/x.md", allowed, ""},
	{"list", alice + "/memory", allowed, ""},
	{"append", alice + "/memory/x.md", allowed, ""},
	{"create", alice + "/memory/new", allowed, ""},
	{"read", alice + "/config.json", allowed, ""},
	{"create", "home/.letta/logs/new", allowed, ""},
	{"read", "home/notes.txt", allowed, ""},
}

// TestProfileCrossAgent: everything is free but the other agents.
func TestProfileCrossAgent(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: harness,
			flags:   profileFlags("cross-agent"),
			rows: append([]row{
				{"append", alice + "/config.json", allowed, ""},
				{"create", alice + "/new", allowed, ""},
				{"append", "home/.letta/settings.json", allowed, ""},
				{"append", "home/notes.txt", allowed, ""},
				{"create", "work/new", allowed, ""},
				{"create", "out/new", allowed, ""},
			}, othersRows...),
		}.run(t, b)
	})
}

// TestProfileMemorySubagent: the agent's memory is written, and what the harness
// keeps, but for what it obeys.
func TestProfileMemorySubagent(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: harness,
			flags: func(tr *testenv.Tree) flags {
				return append(profileFlags("memory-subagent")(tr), "--read-only", tr.Path("home/.letta/logs/log"))
			},
			rows: append([]row{
				{"append", alice + "/config.json", readOnly, ""},
				{"create", alice + "/new", readOnly, ""},
				{"rename", alice + "/memory " + alice + "/elsewhere", readOnly, ""},
				{"append", "home/.letta/settings.json", readOnly, ""},
				{"append", "home/.letta/mods/mod.js", readOnly, ""},
				{"create", "home/.letta/mods/new.js", readOnly, ""},
				{"append", "home/notes.txt", readOnly, ""},
				{"create", "home/new", readOnly, ""},
				{"create", "work/new", readOnly, ""},
				{"create", "out/new", readOnly, ""},
				{"append", "home/.letta/logs/log", readOnly, "a payload"},
			}, keepLogs(othersRows)...),
			after: func(t *testing.T, tr *testenv.Tree) {
				for _, name := range []string{alice + "/memory/.tmp", alice + "/memory-worktrees"} {
					if !tr.Exists(name) {
						t.Errorf("%s was not made", name)
					}
				}
			},
		}.run(t, b)
	})
}

// keepLogs is rows without what the payload's directory costs with Landlock:
// nothing can be added beside it.
func keepLogs(rows []row) (list []row) {
	for _, r := range rows {
		if !strings.HasPrefix(r.paths, "home/.letta/logs") {
			list = append(list, r)
		}
	}
	return list
}

// TestProfileLists: ls shows the own agent alone, and with Landlock nothing.
func TestProfileLists(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		for _, name := range []string{"cross-agent", "memory-subagent"} {
			tr := testenv.NewTree(t, b.user)
			want := testenv.Result{Stdout: "alice\n"}
			if b.backend == "landlock" {
				want = testenv.Result{Stderr: "ls: cannot open directory '" + tr.Path(agents) + "': Permission denied\n", Status: 2}
			}
			if res := b.run(t, tr, profileFlags(name)(tr), "ls", tr.Path(agents)); res != want {
				t.Errorf("%s: ls of the agents = %+v, want %+v", name, res, want)
			}
			if res := b.free(t, tr, "ls", tr.Path(agents)); res.Stdout != "alice\nbob\n" {
				t.Errorf("control: ls of the agents = %+v, want both", res)
			}
		}
	})
}

// TestProfileGit: git reads and commits in the agent's memory and in a working tree
// of it, and not in another agent's.
func TestProfileGit(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		_, err := exec.LookPath("git")
		testenv.Need(t, testenv.FacilityTools, err)
		const git = "git -c user.name=A -c user.email=a@b.c "
		for _, name := range []string{"cross-agent", "memory-subagent"} {
			tr := testenv.NewTree(t, b.user)
			setup := "set -e; for a in alice bob; do cd ../" + agents + "/$a/memory; git init -q -b main; git add .; " + git + "commit -qm one; " +
				"git worktree add -q -b $a ../memory-worktrees/w; cd \"$OLDPWD\"; done"
			if res := b.free(t, tr, "/bin/sh", "-c", setup); res.Status != 0 {
				t.Fatalf("making the memories = %+v", res)
			}
			run := func(memory, script string) testenv.Result {
				t.Helper()
				c := b.command(t, tr, append(profileFlags(name)(tr), "--chdir", tr.Path(alice)), "/bin/sh", "-c", "cd "+tr.Path(memory)+" && "+script)
				if strings.HasPrefix(memory, alice) {
					c.Env = []string{"MEMORY_DIR=" + tr.Path(memory)}
				}
				return c.Run(t)
			}
			commit := "echo more >>x.md && git add x.md && " + git + "commit -qm two && git log --format=%s"
			for _, place := range []string{"/memory", "/memory-worktrees/w"} {
				if res := run(alice+place, commit); res.Stdout != "two\none\n" || res.Stderr != "" || res.Status != 0 {
					t.Errorf("%s: a commit in %s = %+v, want two commits", name, place, res)
				}
				if res := run(bob+place, commit); res.Status == 0 || res.Stdout != "" {
					t.Errorf("%s: a commit in bob's %s = %+v, want it refused", name, place, res)
				}
				if res := b.free(t, tr, "/bin/sh", "-c", "cd "+tr.Path(bob+place)+" && "+commit); res.Stdout != "two\none\n" {
					t.Errorf("control: a commit in bob's %s = %+v", place, res)
				}
			}
			made := "git worktree add -q ../memory-worktrees/new"
			if res := run(alice+"/memory", made); res.Status != 0 {
				t.Errorf("%s: a new working tree = %+v, want it made", name, res)
			}
			// A role of alice's works on alice's memory.
			c := b.command(t, tr, append(profileFlags(name)(tr), "--agent-id", "alice~reflection", "--chdir", tr.Path(alice)), "git", "-C", tr.Path(alice+"/memory"), "log", "-1", "--format=%s")
			if res := c.Run(t); res.Stdout != "two\n" {
				t.Errorf("%s: git log of a role = %+v", name, res)
			}
		}
	})
}

// TestProfileMiniLetta: the same of mini-letta's agents, which are elsewhere.
func TestProfileMiniLetta(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		says := map[string]string{"bwrap": "No such file or directory", "landlock": "Permission denied"}[b.backend]
		for _, name := range []string{"cross-agent", "memory-subagent"} {
			tr := testenv.NewTree(t, b.user)
			own, other := "out/mini/agents/alice/memory/x.md", "out/mini/agents/bob/memory/x.md"
			tr.Write(own, testenv.AliceText)
			tr.Write(other, testenv.BobText)
			run := func(argv ...string) testenv.Result {
				c := b.command(t, tr, append(profileFlags(name)(tr), "--layout", "mini-letta"), argv...)
				c.Env = []string{"MINI_LETTA_HOME=" + tr.Path("out/mini")}
				return c.Run(t)
			}
			if res := run("sh", "-c", `cat "$1" && echo more >>"$1"`, "sh", tr.Path(own)); res.Stdout != testenv.AliceText || res.Stderr != "" {
				t.Errorf("%s: the own memory = %+v", name, res)
			}
			for _, path := range []string{other, bob + "/memory/x.md", alice + "/memory/x.md"} {
				if res := run("cat", tr.Path(path)); res.Status != 1 || res.Stdout != "" || !strings.Contains(res.Stderr, says) {
					t.Errorf("%s: cat of %s = %+v, want %q", name, path, res, says)
				}
				if res := b.free(t, tr, "cat", tr.Path(path)); res.Status != 0 || res.Stdout == "" {
					t.Errorf("control: cat of %s = %+v", path, res)
				}
			}
		}
	})
}
