package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestSentinelOfAnother: a launcher that starts in the sandbox of another agent, or
// of a policy that uncovers more, finds its own denied roots refused. It must not
// take that for its own confinement: what the other sandbox carves out has no place
// in a listing that is refused.
func TestSentinelOfAnother(t *testing.T) {
	profile := func(agent string, more ...string) flags {
		return append(flags{"--profile", "cross-agent", "--agent-id", agent}, more...)
	}
	const readBob, writeBob, writeSub = `cat "$2/memory/x.md"`, `echo x >"$2/memory/new" && echo written`, `echo x >"$1/new" && echo written`
	for name, c := range map[string]struct {
		outer, inner flags
		script, got  string // got is what the outer sandbox alone allows
	}{
		"another agent's memory is read":    {profile("bob"), profile("alice"), readBob, testenv.BobText},
		"another agent's memory is written": {profile("bob"), profile("alice"), writeBob, "written"},
		"an agent that is not there":        {profile("bob"), profile("carol"), readBob, testenv.BobText},
		"a carve-out in a readonly root": {
			profile("alice", "--read-only", "OUT", "--writable", "SUB"), profile("alice", "--read-only", "OUT"), writeSub, "written",
		},
		"a carve-out in a denied root": {
			profile("alice", "--deny", "OUT", "--writable", "SUB"), profile("alice", "--deny", "OUT"), writeSub, "written",
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				tr.Mkdir("out/sub")
				tr.Mkdir("home/.letta/lc-local-backend/memfs")
				at := func(f flags) flags {
					return append(flags{"--quiet"}, replaced(replaced(f, "OUT", tr.Path("out")), "SUB", tr.Path("out/sub"))...)
				}
				command := []string{"/bin/sh", "-c", c.script, "sh", tr.Path("out/sub"), tr.Path(bob)}
				nested := append(append([]string{testenv.Launcher(t)}, at(c.inner)...), append([]string{"--"}, command...)...)
				res := b.run(t, tr, at(c.outer), nested...)
				if res.Status == 0 || res.Stdout != "" || tr.Exists("out/sub/new") || tr.Exists(bob+"/memory/new") {
					t.Errorf("a run inside another's = %+v, want it refused", res)
				}
				if res.Status == 125 && !strings.Contains(res.Stderr, "no backend can confine this command") {
					t.Errorf("a run inside another's said %q", res.Stderr)
				}
				if res := b.run(t, tr, at(c.outer), command...); res.Status != 0 || strings.TrimSpace(res.Stdout) != strings.TrimSpace(c.got) {
					t.Errorf("control: the other's sandbox alone gave %+v, want %q", res, c.got)
				}
				own := append(append([]string{testenv.Launcher(t)}, at(profile("alice"))...), "--", "cat", tr.Path(alice+"/memory/x.md"))
				if res := b.run(t, tr, at(profile("alice")), own...); res.Status != 0 || res.Stdout == "" {
					t.Errorf("a run inside one of the same agent = %+v, want its own memory", res)
				}
			})
		})
	}
}

// TestSentinelOfAParent: in a Landlock sandbox that lets the agent read its parent's
// memory, a run that names no parent is left as it is.
func TestSentinelOfAParent(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := flags{"--quiet", "--profile", "cross-agent", "--agent-id", "alice"}
		nested := append(append([]string{testenv.Launcher(t)}, f...), "--", "cat", tr.Path(bob+"/memory/x.md"))
		if res := b.run(t, tr, append(f, "--parent-agent-id", "bob"), nested...); res.Status != 0 || res.Stdout != testenv.BobText {
			t.Errorf("the parent's memory = %+v, want the limit", res)
		}
	})
}
