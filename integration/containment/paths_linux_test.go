package containment

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestPaths: a root means the bytes that it was given as, and nothing like them.
func TestPaths(t *testing.T) {
	var attacks []attack
	for kind, name := range map[string]string{
		"backslash": `ho\me`, "trailing space": "home ", "leading space": " home", "not UTF-8": "ho\xff\xfeme", "newline": "ho\nme",
		"quotes": `h"o'me`, "dollar": "$HOME", "glob": "*[?]", "dash": "--deny", "tilde": "~", "percent": "%s%n", "tab": "ho\tme",
		"250 bytes": strings.Repeat("h", 250), "combining": "home\u0301",
	} {
		attacks = append(attacks, attack{
			name:    kind,
			prepare: func(_ *testing.T, tr *testenv.Tree) { tr.Write("out/"+name+"/f", "secret") },
			policy:  func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path("out/" + name)} },
			do: func(w world) string {
				return w.answers(w.command(testenv.Helper(w.t), "calls", "read", w.tree.Path("out/"+name+"/f")))
			},
			want: either(held("ENOENT"), held("EACCES")),
		})
	}
	spelled := func(f func(path string) string) func(tr *testenv.Tree) flags {
		return func(tr *testenv.Tree) flags { return flags{"--deny", f(tr.Path(agents))} }
	}
	other := func(tr *testenv.Tree) flags {
		return flags{"--missing-denied", "refuse", "--deny", strings.Replace(tr.Path(agents), "agents", "AGENTS", 1)}
	}
	attacks = append(attacks,
		attack{name: "trailing slash", policy: spelled(func(p string) string { return p + "/" }), calls: []string{"read " + secret}, want: either(held("ENOENT"), held("EACCES"))},
		attack{name: "dots and slashes", policy: spelled(func(p string) string { return strings.Replace(p, "/.letta/", "//.letta/../.letta/./", 1) }), calls: []string{"read " + secret}, want: either(held("ENOENT"), held("EACCES"))},
		attack{name: "a root that is a file", policy: func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path(secret)} }, calls: []string{"read " + secret}, want: everywhere(held("EACCES"))},
		attack{name: "other case, refused", policy: other, calls: []string{"read " + secret}, want: everywhere(held("refused"))},
		attack{name: "a cwd in a denied root", do: func(w world) string {
			c := w.command(w.args("read =x.md")...)
			c.Dir = w.tree.Path(bob + "/memory")
			return w.answers(c)
		}, want: everywhere(held("refused"))},
		attack{name: "a carve-out at a denied root", policy: protect(cross, "--writable", agents), calls: []string{"read " + secret}, want: everywhere(held("refused"))},
		attack{name: "a carve-out above a denied root", policy: protect(cross, "--writable", "home"), calls: []string{"read " + secret}, want: either(held("ENOENT"), held("EACCES"))},
		attack{
			name: "a missing denied root made by the command", policy: func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path("work/later")} },
			calls: []string{"mkdir work/later", "create work/later/new"}, want: either(held("EEXIST EROFS"), held("EACCES ENOENT")),
		},
		attack{
			name: "a missing denied root made by the host", policy: func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path("out/later")} },
			do: func(w world) string {
				c := w.command(w.args("mark work/ready", "wait work/go", "read out/later/f")...)
				written := make(chan struct{}) // else the tree could go away while it is written to
				go func() {
					defer close(written)
					if wait(w.tree.Path("work/ready"), 10e9) == nil {
						w.tree.Write("out/later/f", "secret")
						w.tree.Write("work/go", "")
					}
				}()
				answers := w.answers(c)
				<-written
				return answers
			},
			want: either(held("ok ok ENOENT"), held("ok ok EACCES")),
		},
	)
	run(t, false, "paths", attacks)
}
