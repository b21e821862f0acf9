package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestRootsThroughLinks: a root that leads through a link which an earlier run
// may have planted is refused, with the real path in the hint.
func TestRootsThroughLinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		links  map[string]string // from name to target, relative to the tree
		flags  func(tr *testenv.Tree) flags
		refuse string // the real path that the hint gives; empty: accepted
	}{
		{
			"a carve-out through a link in the denied tree",
			map[string]string{alice + "/link": bob + "/memory"},
			func(tr *testenv.Tree) flags {
				return flags{"--deny", tr.Path(agents), "--writable", tr.Path(alice + "/link")}
			},
			bob + "/memory",
		},
		{
			"a carve-out through a link from elsewhere",
			map[string]string{"out/link": bob + "/memory"},
			func(tr *testenv.Tree) flags {
				return flags{"--restrict-writes", "--deny", tr.Path(agents), "--writable", tr.Path("out/link")}
			},
			bob + "/memory",
		},
		{
			"a denied root through a link in a directory that the command may change",
			map[string]string{"work/link": agents},
			func(tr *testenv.Tree) flags { return append(workFlags(tr), "--deny", tr.Path("work/link")) },
			agents,
		},
		{
			"a readonly root through a link in a directory that the command may change",
			map[string]string{"work/link": "out"},
			func(tr *testenv.Tree) flags { return append(workFlags(tr), "--read-only", tr.Path("work/link")) },
			"out",
		},
		{
			"a writable root through a link in a directory that the command may change",
			map[string]string{"work/link": "out"},
			func(tr *testenv.Tree) flags { return append(workFlags(tr), "--writable", tr.Path("work/link")) },
			"out",
		},
		{
			"a denied root through a link that another policy would let the command change",
			map[string]string{"out/link": agents},
			func(tr *testenv.Tree) flags { return append(workFlags(tr), "--deny", tr.Path("out/link")) },
			agents,
		},
		{
			"a carve-out spelled through the denied root's own link",
			map[string]string{"out/link": agents},
			func(tr *testenv.Tree) flags {
				return append(workFlags(tr), "--deny", tr.Path("out/link"), "--writable", tr.Path("out/link/alice"))
			},
			agents,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				for name, target := range c.links {
					tr.Link(tr.Path(target), name)
				}
				before := tr.Snapshot()
				other := tr.Path(bob + "/memory/x.md")
				res := b.run(t, tr, c.flags(tr), testenv.Helper(t), "calls", "read", other)
				if c.refuse != "" {
					refused(t, res, "symlink", "\""+tr.Path(c.refuse)+"\"")
				} else if got := strings.TrimSpace(res.Stdout); got != hidden.errno(b.backend) {
					t.Errorf("read of bob's memory = %s (%+v), want %s", got, res, hidden.errno(b.backend))
				}
				tr.Changed(before)
			})
		})
	}
}

// TestLinkToADeniedTree: a link is no second way in.
func TestLinkToADeniedTree(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tableTest{
			prepare: func(tr *testenv.Tree) {
				tr.Link(tr.Path(bob), "work/way")
				tr.Link("../bob", alice+"/way")
			},
			flags: crossFlags,
			rows: []row{
				{"read", "work/way/memory/x.md", hidden, ""},
				{"append", alice + "/way/memory/x.md", hidden, ""},
				{"list", "work/way", hidden, ""},
			},
		}.run(t, b)
	})
}

// TestLinkedHome: where root has put a user's home elsewhere, both names of it mean
// the same. Root itself, who could re-point the link, must give a root canonically.
func TestLinkedHome(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		home := filepath.Join(trustedDir(t), "home")
		if err := os.Symlink(tr.Path("home"), home); err != nil {
			t.Fatal(err)
		}
		other, own := "/.letta/agents/bob/memory/x.md", "/.letta/agents/alice/memory/x.md"
		read := func(f flags, path string) testenv.Result {
			return b.run(t, tr, f, testenv.Helper(t), "calls", "read", path)
		}
		for _, spelling := range []string{home, tr.Path("home")} {
			f := flags{"--profile", "cross-agent", "--agent-id", "alice", "--home", home}
			if res := read(f, spelling+other); strings.TrimSpace(res.Stdout) != hidden.errno(b.backend) {
				t.Errorf("profile: read of %s = %+v, want %s", spelling+other, res, hidden.errno(b.backend))
			}
			if res := read(f, spelling+own); strings.TrimSpace(res.Stdout) != "ok" {
				t.Errorf("profile: read of %s = %+v, want ok", spelling+own, res)
			}
			res := read(flags{"--deny", home + "/.letta/agents"}, spelling+other)
			if b.user == testenv.Root {
				refused(t, res, "symlink", `"`+tr.Path(agents)+`"`)
			} else if strings.TrimSpace(res.Stdout) != hidden.errno(b.backend) {
				t.Errorf("--deny: read of %s = %+v, want %s", spelling+other, res, hidden.errno(b.backend))
			}
		}
	})
}

// TestOddNames: a path is a byte string, whatever is in it.
func TestOddNames(t *testing.T) {
	odd := map[string]string{
		"newline": "a\nb", "quote": `say "hi"`, "apostrophe": "it's", "backslash": `ho\me`, "invalid UTF-8": "inv\xff\xfe",
		"space": " a b ", "dollar": "$HOME", "glob": "*[?]", "dash": "--deny", "tilde": "~", "control": "\x01\x1b[31m", "percent": "%s%n",
	}
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := flags{"--restrict-writes"}
		argv := []string{testenv.Helper(t), "calls"}
		var free []string
		for _, name := range odd {
			secret, open, file := "work/secret/"+name, "work/open/"+name, "work/file-"+name
			tr.Write(secret+"/f", "secret")
			tr.Write(open+"/f", "open")
			tr.Write(file, "secret")
			f = append(f, "--deny", tr.Path(secret), "--writable", tr.Path(open), "--deny", tr.Path(file))
			argv = append(argv, "read", tr.Path(secret+"/f"), "append", tr.Path(open+"/f"), "read", tr.Path(file))
			free = append(free, "ok", "ok", "ok")
		}
		want := strings.Join(free, "\n") + "\n"
		if res := b.free(t, tr, argv...); res.Stdout != want {
			t.Fatalf("control: %+v, want every call to succeed", res)
		}
		want = strings.Repeat(hidden.errno(b.backend)+"\nok\n"+maskedFile.errno(b.backend)+"\n", len(odd))
		if res := b.run(t, tr, f, argv...); res.Stdout != want || res.Status != 0 {
			t.Errorf("got %+v, want %q", res, want)
		}
		for _, name := range odd {
			if got := tr.Read("work/open/" + name + "/f"); got != "openxx" {
				t.Errorf("the host has %q in a writable root named %q, want both writes", got, name)
			}
		}
	})
}
