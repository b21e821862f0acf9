package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

const (
	agents = "home/.letta/agents"
	alice  = agents + "/alice"
	bob    = agents + "/bob"
)

// TestCrossAgent: alice works everywhere, and bob is not there.
func TestCrossAgent(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) { tr.Socket(bob + "/sock") },
			flags:   crossFlags,
			rows: []row{
				{"read", bob + "/memory/x.md", hidden, ""},
				{"list", bob, hidden, ""},
				{"list", bob + "/memory", hidden, ""},
				{"list", agents, unlisted, "a mask shows the carve-outs' names"},
				{"chdir", bob, hiddenName, ""},
				{"stat", bob, hiddenName, ""},
				{"stat", bob + "/memory/x.md", hiddenName, ""},
				{"connect", bob + "/sock", hiddenConn, ""},
				{"append", bob + "/memory/x.md", hidden, ""},
				{"create", bob + "/memory/new", hidden, ""},
				{"create", bob + "/new", hidden, ""},
				{"create", agents + "/new", sealed, ""},
				{"mkdir", agents + "/carol", sealed, ""},
				{"symlink", "target " + agents + "/link", sealed, ""},
				{"unlink", bob + "/memory/x.md", hidden, ""},
				{"truncate", bob + "/memory/x.md", hidden, ""},
				{"chmod", bob + "/memory/x.md", hiddenName, "gap metadata"},
				{"utimes", bob + "/memory/x.md", hiddenName, "gap metadata"},
				{"rename", bob + " " + alice + "/bob", moveOut, ""},
				{"rename", bob + "/memory/x.md out/x.md", hidden, ""},
				{"link", bob + "/memory/x.md " + alice + "/x.md", hiddenLink, ""},
				{"rename", agents + " home/.letta/elsewhere", pinnedRoot, ""},

				{"read", alice + "/memory/x.md", allowed, ""},
				{"list", alice + "/memory", allowed, ""},
				{"append", alice + "/memory/x.md", allowed, ""},
				{"create", alice + "/memory/new.md", allowed, ""},
				{"rename", alice + "/memory/new.md " + alice + "/moved.md", allowed, "across directories"},
				{"mkdir", alice + "/dir", allowed, ""},
				{"rmdir", alice + "/dir", allowed, ""},
				{"chmod", alice + "/memory/x.md", allowed, ""},

				{"append", "home/.letta/settings.json", allowed, "beside the denied root"},
				{"create", "work/new", allowed, "writable by default"},
				{"create", "out/new", allowed, "writable by default"},
				{"unlink", "out/file.txt", allowed, "writable by default"},
				{"rename", "work/file.txt out/moved.txt", allowed, "between directories that no root holds"},
			},
			after: func(t *testing.T, tr *testenv.Tree) {
				if got, want := tr.Read(alice+"/memory/x.md"), testenv.AliceText+"x"; got != want {
					t.Errorf("the host has %q for alice's memory, want %q", got, want)
				}
				if got := tr.Read(bob + "/memory/x.md"); got != testenv.BobText {
					t.Errorf("the host has %q for bob's memory, want it unchanged", got)
				}
				for name, want := range map[string]bool{
					alice + "/moved.md": true, agents + "/new": false, agents + "/carol": false, agents + "/link": false,
					"out/new": true, "out/moved.txt": true,
				} {
					if got := tr.Exists(name); got != want {
						t.Errorf("the host has %q: %v, want %v", name, got, want)
					}
				}
			},
		}.run(t, b)
	})
}

// TestCrossAgentNames: a listing of the denied tree shows the carve-out and
// nothing else.
func TestCrossAgentNames(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		argv := []string{testenv.Helper(t), "names", tr.Path(agents)}
		if res := b.run(t, tr, crossFlags(tr), argv...); res.Stdout != "alice\n" {
			t.Errorf("names in agents = %q, want alice alone; stderr %q", res.Stdout, res.Stderr)
		}
		if res := b.free(t, tr, argv...); res.Stdout != "alice bob\n" {
			t.Errorf("control: names in agents = %q, want both", res.Stdout)
		}
	})
}

// TestCrossAgentShell asks the way that a user would: with the ordinary tools.
func TestCrossAgentShell(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		other, own := tr.Path(bob+"/memory/x.md"), tr.Path(alice+"/memory/x.md")
		says := map[string]string{"bwrap": "No such file or directory", "landlock": "Permission denied"}[b.backend]
		if res := b.run(t, tr, crossFlags(tr), "cat", other); res.Status != 1 || res.Stdout != "" || !strings.Contains(res.Stderr, says) {
			t.Errorf("cat of bob's memory = %+v, want status 1 and %q", res, says)
		}
		if res := b.free(t, tr, "cat", other); res.Stdout != testenv.BobText {
			t.Errorf("control: cat of bob's memory = %+v, want its text", res)
		}
		if res := b.run(t, tr, crossFlags(tr), "cat", own); res.Status != 0 || res.Stdout != testenv.AliceText || res.Stderr != "" {
			t.Errorf("cat of alice's memory = %+v, want its text", res)
		}
	})
}

// TestMemorySubagent: everything can be read but the other agents, and only the
// agent's memory and what lies beside the agents can be written.
func TestMemorySubagent(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) {
				tr.Write(alice+"/config.json", "{}\n")
				tr.Mkdir("home/.letta/logs")
			},
			flags: memoryFlags,
			rows: []row{
				{"read", bob + "/memory/x.md", hidden, ""},
				{"list", bob, hidden, ""},
				{"append", bob + "/memory/x.md", hidden, ""},
				{"create", agents + "/new", sealed, ""},
				{"read", alice + "/config.json", allowed, ""},
				{"list", alice, allowed, ""},
				{"append", alice + "/config.json", readOnly, ""},
				{"create", alice + "/new", readOnly, ""},
				{"unlink", alice + "/config.json", readOnly, ""},
				{"chmod", alice + "/config.json", metadata, ""},
				{"rename", alice + "/memory " + alice + "/elsewhere", readOnly, ""},
				{"append", alice + "/memory/x.md", allowed, ""},
				{"create", alice + "/memory/new", allowed, ""},
				{"create", "home/.letta/logs/new", allowed, "below the base root"},
				{"append", "home/.letta/settings.json", allowed, "below the base root"},
				{"read", "home/notes.txt", allowed, ""},
				{"append", "home/notes.txt", readOnly, ""},
				{"create", "home/new", readOnly, ""},
				{"create", "work/new", readOnly, ""},
				{"rename", "home/.letta home/elsewhere", readOnly, ""},
				{"rename", agents + " home/.letta/elsewhere", pinnedRoot, ""},
			},
			after: func(t *testing.T, tr *testenv.Tree) {
				if got, want := tr.Read(alice+"/memory/x.md"), testenv.AliceText+"x"; got != want {
					t.Errorf("the host has %q for alice's memory, want %q", got, want)
				}
				if got := tr.Read(alice + "/config.json"); got != "{}\n" {
					t.Errorf("the host has %q for alice's settings, want them unchanged", got)
				}
			},
		}.run(t, b)
	})
}
