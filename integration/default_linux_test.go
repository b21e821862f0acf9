package integration

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestDefaultPolicy: without a policy the current and the temporary directory
// are written, and everything is read.
func TestDefaultPolicy(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, nil, "sh", "-c", `echo x > new && echo x > "$TMPDIR/new" && cat ../home/notes.txt; echo x > ../out/new; echo x > ~/new`)
		c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
		res := c.Run(t)
		if res.Stdout != "notes\n" || !tr.Exists("work/new") || !tr.Exists("tmp/new") {
			t.Errorf("got %+v, want writes to the current and the temporary directory to work", res)
		}
		if tr.Exists("out/new") || tr.Exists("home/new") {
			t.Error("the command wrote outside of both")
		}
		free := testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{"sh", "-c", "echo x > ../out/new && echo x > ~/new"}}
		if res := free.Run(t); res.Status != 0 {
			t.Errorf("control: writing outside unconfined gave %+v", res)
		}
	})
}

// TestDefaultPolicyErrno asserts how a write outside is refused.
func TestDefaultPolicyErrno(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, nil, testenv.Helper(t), "calls", "create", tr.Path("out/new"), "append", tr.Path("home/notes.txt"), "create", tr.Path("work/new"))
		c.Env = []string{"TMPDIR=" + tr.Path("tmp")}
		no := readOnly.errno(b.backend)
		if res := c.Run(t); res.Stdout != no+"\n"+no+"\nok\n" {
			t.Errorf("got %+v, want %s twice and ok", res, no)
		}
	})
}

// TestDefaultPolicyRefusals: places of which all would be writable.
func TestDefaultPolicyRefusals(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		before := tr.Snapshot()
		for _, c := range []struct {
			dir, tmp, text string
		}{
			{"/", tr.Path("tmp"), `the working directory is "/"`},
			{"home", tr.Path("tmp"), "holds your home directory"},
			{"", tr.Path("tmp"), "holds your home directory"},
			{"work", "/", `is "/"`},
			{"work", tr.Home(), "holds your home directory"},
			{"work", tr.Dir, "holds your home directory"},
			{"work/sub", tr.Path("work"), "holds the working directory"},
			{"work", "../tmp", "is not absolute"},
			{"work", tr.Path("tmp/missing"), "is not a directory"},
			{"work", tr.Path("out/file.txt"), "is not a directory"},
		} {
			command := b.command(t, tr, nil, "sh", "-c", "touch "+tr.Path("work/ran"))
			command.Dir = tr.Path(c.dir)
			command.Env = []string{"TMPDIR=" + c.tmp}
			refused(t, command.Run(t), c.text, " ")
		}
		tr.Changed(before)
	})
}
