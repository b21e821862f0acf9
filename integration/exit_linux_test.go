package integration

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestExitStatus: the command's own status comes through, and those that speak
// of its start are told apart from it.
func TestExitStatus(t *testing.T) {
	const denied = "letta-confine: error: command "
	for _, c := range []struct {
		name   string
		argv   []string
		status int
		says   string // what stderr begins with; empty: it is empty
	}{
		{"success", []string{"true"}, 0, ""},
		{"its own status", []string{"sh", "-c", "exit 7"}, 7, ""},
		{"its own 125", []string{"sh", "-c", "exit 125"}, 125, ""},
		{"its own 255", []string{"sh", "-c", "exit 255"}, 255, ""},
		{"a path that is not there", []string{"/no/such"}, 127, denied + `"/no/such" not found`},
		{"a name that is not on the PATH", []string{"no-such-program"}, 127, denied + `"no-such-program" not found`},
		{"a path below a file", []string{"/etc/passwd/sh"}, 127, denied},
		{"a file that is no program", []string{"/etc/passwd"}, 126, denied + `"/etc/passwd" cannot run`},
		{"a directory", []string{"/etc"}, 126, denied + `"/etc" cannot run`},
		{"a script whose interpreter is not there", []string{"./script"}, 127, denied + `"./script": its interpreter "/no/such/interpreter" is not there`},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 128 + 9, ""},
		{"terminated", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		{"aborted", []string{"sh", "-c", "ulimit -c 0; kill -ABRT $$"}, 128 + 6, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				tr.WriteProgram("work/script", "#!/no/such/interpreter\n")
				res := b.run(t, tr, workFlags(tr), c.argv...)
				if res.Status != c.status {
					t.Errorf("status is %d, want %d; stderr %q", res.Status, c.status, res.Stderr)
				}
				if (c.says == "") != (res.Stderr == "") || !strings.HasPrefix(res.Stderr, c.says) || strings.Count(res.Stderr, "\n") > 1 {
					t.Errorf("stderr is %q, want one line %q", res.Stderr, c.says)
				}
			})
		})
	}
}

// TestStreams: the three streams are the command's own.
func TestStreams(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, crossFlags(tr), "sh", "-c", "cat; echo err >&2; echo out")
		c.Stdin = strings.NewReader("in\n")
		if res := c.Run(t); res != (testenv.Result{Stdout: "in\nout\n", Stderr: "err\n"}) {
			t.Errorf("got %+v, want stdin and out on stdout, err on stderr", res)
		}
		// What the sandbox's own program says never mixes with the command's.
		if res := b.run(t, tr, crossFlags(tr), "sh", "-c", "exit 1"); res != (testenv.Result{Status: 1}) {
			t.Errorf("got %+v, want status 1 and silence", res)
		}
	})
}

// TestLaunchFailures: a run that contradicts itself is refused with status 125,
// nothing runs, and nothing on disk changes.
func TestLaunchFailures(t *testing.T) {
	type fails struct {
		name, text, hint string
		dir              string // where the launcher starts, relative to the tree
		flags            func(tr *testenv.Tree) flags
		argv             []string
	}
	for _, c := range []fails{
		{"cwd in a denied tree", "is inside denied root", "--chdir DIR", bob, crossFlags, nil},
		{"cwd is the denied root", "is a denied root", "--chdir DIR", agents, crossFlags, nil},
		{"--chdir into a denied tree", "is inside denied root", "--chdir DIR", "work", func(tr *testenv.Tree) flags {
			return append(crossFlags(tr), "--chdir", tr.Path(bob))
		}, nil},
		{"command hidden by a denied root", "denied root", "readonly root", "work", func(tr *testenv.Tree) flags {
			return flags{"--deny", tr.Path("out")}
		}, []string{"../out/prog"}},
		{"interpreter hidden by a denied root", "denied root", "readonly root", "work", func(tr *testenv.Tree) flags {
			return flags{"--deny", tr.Path("out")}
		}, []string{"./script"}},
		{"the same path denied and carved out", "same path", "", "work", func(tr *testenv.Tree) flags {
			return append(crossFlags(tr), "--writable", tr.Path(agents))
		}, nil},
		{"a relative root", "not absolute", "starting with /", "work", func(*testenv.Tree) flags { return flags{"--deny", "out"} }, nil},
		{"the root directory denied", "cannot be a denied root", "", "work", func(*testenv.Tree) flags { return flags{"--deny", "/"} }, nil},
		{"/dev writable", "belongs to the kernel", "", "work", func(*testenv.Tree) flags { return flags{"--restrict-writes", "--writable", "/dev"} }, nil},
		{"/proc/sys writable", "belongs to the kernel", "", "work", func(*testenv.Tree) flags { return flags{"--restrict-writes", "--writable", "/proc/sys"} }, nil},
		{"a link loop", "too many", "", "work", func(tr *testenv.Tree) flags { return flags{"--deny", tr.Path("out/loop")} }, nil},
		{"a descriptor that is not open", "--keep-fd", "", "work", func(tr *testenv.Tree) flags {
			return append(workFlags(tr), "--keep-fd", "77")
		}, nil},
		{"a policy that is not there", "policy", "", "work", func(*testenv.Tree) flags { return flags{"--policy", "/no/such.json"} }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, b box) {
				tr := testenv.NewTree(t, b.user)
				tr.WriteProgram("out/prog", "#!/bin/sh\ntouch ran\n")
				tr.WriteProgram("work/script", "#!"+tr.Path("out/prog")+"\n")
				tr.Link("loop", "out/loop")
				before := tr.Snapshot()
				argv := c.argv
				if argv == nil {
					argv = []string{"sh", "-c", `touch "$0"`, tr.Path("work/ran")}
				}
				command := b.command(t, tr, c.flags(tr), argv...)
				command.Dir = tr.Path(c.dir)
				res := command.Run(t)
				if c.hint == "" {
					// A hint is welcome where the test names none.
					res.Stderr, _, _ = strings.Cut(res.Stderr, "\nletta-confine: hint:")
				}
				refused(t, res, c.text, c.hint)
				tr.Changed(before)
			})
		})
	}
}

// TestDeletedDirectory: bubblewrap alone would quietly start elsewhere.
func TestDeletedDirectory(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Mkdir("work/gone")
		line := b.command(t, tr, crossFlags(tr), "touch", tr.Path("out/ran")).Argv
		res := b.free(t, tr, append([]string{"sh", "-c", `cd gone && rmdir ../gone && exec "$@"`, "sh"}, line...)...)
		refused(t, res, "working directory", "--chdir DIR")
		if tr.Exists("out/ran") {
			t.Error("the command ran")
		}
	})
}

// TestCarveOutAsDirectory is the control of the refusals above: inside a
// carve-out a command may start.
func TestCarveOutAsDirectory(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, crossFlags(tr), "cat", "memory/x.md")
		c.Dir = tr.Path(alice)
		if res := c.Run(t); res.Stdout != testenv.AliceText || res.Status != 0 {
			t.Errorf("a run in the carve-out gave %+v", res)
		}
		if res := b.run(t, tr, append(crossFlags(tr), "--chdir", tr.Path(alice)), "pwd"); res.Stdout != tr.Path(alice)+"\n" {
			t.Errorf("a run with --chdir gave %+v", res)
		}
	})
}
