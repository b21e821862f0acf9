package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// decoys are races in which the decoy is a directory, and its carve-out a link
// to the true one. A launcher that looks at it refuses, because of the link; but
// the mask can come to lie on it, and everything else on the right directory.
// Only the place of the mask betrays that, and no longer when all is moved back.
var decoys = []race{
	{
		"the directory above the denied root is renamed, and the decoy leads to the true carve-out", "home/.letta", "home/.decoy",
		func(tr *testenv.Tree) {
			tr.Mkdir("home/.decoy/agents")
			tr.Link(tr.Path("home/.decoy/agents/alice"), "home/.decoy/agents/alice")
		},
		crossFlags,
		[]string{"home/.decoy/agents/bob/memory/x.md"},
		15 * time.Millisecond,
		[]string{"bwrap"},
	},
	{
		"the denied root is renamed, and the decoy leads to the true carve-out", agents, agents + ".decoy",
		func(tr *testenv.Tree) {
			tr.Mkdir(agents + ".decoy")
			tr.Link(tr.Path(agents+".decoy/alice"), agents+".decoy/alice")
		},
		crossFlags,
		[]string{agents + ".decoy/bob/memory/x.md"},
		15 * time.Millisecond,
		[]string{"bwrap"},
	},
}

// TestMaskOnADecoy is the races above with their two moments chosen: the tree is
// away while bubblewrap mounts and while the inner stage looks, and back when the
// supervisor looks. Each of them sees what it expects.
func TestMaskOnADecoy(t *testing.T) {
	for _, r := range decoys {
		t.Run(r.name, func(t *testing.T) { eachOn(t, "bwrap", r.onADecoy) })
	}
}

func (r race) onADecoy(t *testing.T, b box) {
	tr := testenv.NewTree(t, b.user)
	r.prepare(tr)
	gate := tr.Path("tmp/gate")
	fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\ntouch "+gate+".reached\n"+
		"until [ -e "+gate+".open ]; do sleep 0.01; done\nexec /usr/bin/bwrap \"$@\"\n")
	exchange := func() {
		t.Helper()
		if err := unix.Renameat2(unix.AT_FDCWD, tr.Path(r.a), unix.AT_FDCWD, tr.Path(r.b), unix.RENAME_EXCHANGE); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	cmd := b.command(t, tr, append(r.flags(tr), "--bwrap", fake), testenv.Helper(t), "pry", "3", tr.Path(bob+"/memory/x.md")).Cmd(soon(t))
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	eventually(t, "bubblewrap is reached", func() bool { return tr.Exists("tmp/gate.reached") })
	exchange()
	cmd.Process.Signal(unix.SIGSTOP)
	bubblewrap := family(t, cmd.Process.Pid)[1]
	tr.Write("tmp/gate.open", "")
	// It is, and the supervisor is all that is left to see it, or it has seen by
	// itself what is wrong, and has ended.
	eventually(t, "the inner stage is confined or has ended", func() bool {
		pids := family(t, cmd.Process.Pid)
		return filtered(pids[len(pids)-1]) || !alive(bubblewrap)
	})
	exchange()
	cmd.Process.Signal(unix.SIGCONT)
	cmd.Wait()
	if status := testenv.Status(cmd.ProcessState); status != 125 {
		t.Errorf("with the mask on a decoy the launcher ended with %d and the command said %q, want status 125", status, &out)
	}
}

// filtered reports whether a process has installed a system call filter, which
// the inner stage does last.
func filtered(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(text), "\nSeccomp:\t2\n")
}
