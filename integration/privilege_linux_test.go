package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// state runs the helper confined and returns what it learned about itself.
func (b box) state(t *testing.T, tr *testenv.Tree, f flags) state {
	t.Helper()
	return stateOf(t, b.run(t, tr, f, testenv.Helper(t), "state"))
}

func stateOf(t *testing.T, res testenv.Result) state {
	t.Helper()
	var s state
	if err := json.Unmarshal([]byte(res.Stdout), &s); err != nil || res.Status != 0 {
		t.Fatalf("state gave %+v: %v", res, err)
	}
	return s
}

// keptCaps are those of DESIGN, written out: chown 0, dac_override 1, fowner 3,
// fsetid 4, kill 5, setgid 6, setuid 7, net_bind_service 10, net_raw 13, setfcap 31.
const keptCaps uint64 = 1<<0 | 1<<1 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<10 | 1<<13 | 1<<31

// TestCapabilities: root keeps ten capabilities and can gain no other; a plain
// user has none.
func TestCapabilities(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		s := b.state(t, tr, crossFlags(tr))
		for _, set := range []string{"CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"} {
			got, err := strconv.ParseUint(s.Status[set], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			want := keptCaps
			switch {
			case set == "CapInh" || set == "CapAmb":
				want = 0
			case b.user.UID == 0:
			case set == "CapBnd":
				// Without CAP_SETPCAP the bounding set stays, and no_new_privs
				// keeps the command from drawing on it.
				continue
			default:
				want = 0
			}
			if got != want {
				t.Errorf("%s = %#x, want %#x", set, got, want)
			}
		}
		if s.Status["NoNewPrivs"] != "1" {
			t.Errorf("NoNewPrivs = %s, want 1", s.Status["NoNewPrivs"])
		}
		if s.UID != b.user.UID || s.GID != b.user.GID {
			t.Errorf("ids are %d:%d, want %d:%d", s.UID, s.GID, b.user.UID, b.user.GID)
		}
	})
}

// TestMountCalls: what uncovers a mask needs a capability that is gone. The
// launcher of root runs in a mount namespace of the test's own, so that a mount
// which nothing prevents does not reach the host.
func TestMountCalls(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		rows := []row{
			{"umount", agents, noCap, ""},
			{"mount-tmpfs", "work/sub", noCap, ""},
			{"remount-rw", "out", noCap, ""},
			{"bind", "out work/sub", noCap, ""},
			{"open-tree", "home", noCap, ""},
			{"read", bob + "/memory/x.md", hidden, "after all of these"},
		}
		argv := []string{testenv.Helper(t), "calls"}
		for _, r := range rows {
			argv = append(argv, r.args(tr)...)
		}
		got := unshared(t, b.command(t, tr, append(crossFlags(tr), "--read-only", tr.Path("out")), argv...))
		if len(got) != len(rows) {
			t.Fatalf("%d calls have answers %q", len(rows), got)
		}
		for i, r := range rows {
			if want := r.want.errno(b.backend); got[i] != want {
				t.Errorf("%v = %s, want %s", r, got[i], want)
			}
		}
		if b.user.UID != 0 {
			return // root alone can make these calls unconfined
		}
		free := unshared(t, testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{
			testenv.Helper(t), "calls", "bind", tr.Path("out"), tr.Path("out"), "remount-rw", tr.Path("out"),
			"mount-tmpfs", tr.Path("work/sub"), "umount", tr.Path("work/sub"), "open-tree", tr.Home(),
		}})
		if got := strings.Join(free, " "); got != "ok ok ok ok ok" {
			t.Errorf("control: mount calls in a namespace of their own = %s", got)
		}
	})
}

// unshared runs calls in a mount namespace from which nothing propagates, where
// the user can make one, and returns their answers.
func unshared(t *testing.T, c testenv.Command) []string {
	t.Helper()
	cmd := c.Cmd(soon(t))
	if c.User.UID == 0 {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", c.Argv, err)
	}
	return strings.Fields(string(out))
}

// TestDiskNode: uid 0 cannot make the disk's own node, and its control may.
func TestDiskNode(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		tableTest{flags: workFlags, rows: []row{{"mknod-disk", "work/disk", deviceNode, ""}}}.run(t, b)
		tableTest{flags: crossFlags, rows: []row{{"mknod-disk", alice + "/disk", deviceNode, ""}}}.run(t, b)
	})
}

// TestKernelControlFiles: uid 0 cannot open for writing what steers the kernel.
// Nothing is written, in the control neither.
func TestKernelControlFiles(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		for name, f := range map[string]func(*testenv.Tree) flags{"cross": crossFlags, "workspace": workFlags, "memory": memoryFlags} {
			t.Run(name, func(t *testing.T) {
				tt := tableTest{flags: f}
				for _, file := range []string{
					"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
					"/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled",
				} {
					if open(file, unix.O_WRONLY, false) == nil {
						tt.rows = append(tt.rows, row{"open-write", file, readOnly, ""})
					}
				}
				if len(tt.rows) == 0 {
					testenv.Need(t, testenv.FacilityRoot, errors.New("none of these files can be opened unconfined"))
				}
				tt.run(t, b)
			})
		}
	})
}

// TestKernelControlFilesWithoutCapabilities: uid 0 needs none for what it owns. With
// bubblewrap it cannot start a command at all, because only CAP_SETFCAP maps uid 0.
func TestKernelControlFilesWithoutCapabilities(t *testing.T) {
	eachOf(t, []string{"landlock"}, []testenv.User{testenv.Root}, func(t *testing.T, b box) {
		for _, flagsOf := range []func(*testenv.Tree) flags{crossFlags, workFlags} {
			tr := testenv.NewTree(t, b.user)
			ask := []string{testenv.Helper(t), "calls", "open-write", "/proc/sys/kernel/core_pattern"}
			c := b.command(t, tr, flagsOf(tr), ask...)
			without := []string{testenv.Helper(t), "unbounded", "all"}
			c.Argv = append(without, c.Argv...)
			if res := c.Run(t); res.Status != 0 || res.Stdout != "EACCES\n" {
				t.Errorf("opening core_pattern for writing = %+v, want EACCES", res)
			}
			if res := b.free(t, tr, append(without, ask...)...); res.Stdout != "ok\n" {
				testenv.Need(t, testenv.FacilityRoot, fmt.Errorf("core_pattern cannot be opened unconfined: %+v", res))
			}
		}
	})
}

// TestOtherProcesses: the file system is not to be had through /proc/PID/root of
// a process outside the sandbox.
func TestOtherProcesses(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		pid := sleeper(t, b, tr)
		var rows []row
		if open("/proc/1/root", unix.O_PATH, false) == nil {
			rows = append(rows, row{"list", "/proc/1/root", noPtrace, ""})
		}
		for _, way := range []string{"root" + tr.Path(bob+"/memory/x.md"), "cwd/../" + bob + "/memory/x.md"} {
			rows = append(rows, row{"read", fmt.Sprintf("/proc/%d/%s", pid, way), noPtrace, ""})
		}
		rows = append(rows, row{"open-both", fmt.Sprintf("/proc/%d/mem", pid), noPtrace, ""})
		tableTest{prepare: nil, flags: func(*testenv.Tree) flags { return crossFlags(tr) }, rows: rows}.run(t, b)
	})
}

// sleeper starts an unconfined process of the box's user in the workspace.
func sleeper(t *testing.T, b box, tr *testenv.Tree) int {
	t.Helper()
	cmd := testenv.Command{User: b.user, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{testenv.Helper(t), "sleep", "60000"}}.Cmd(soon(t))
	start(t, cmd)
	return cmd.Process.Pid
}

// start starts a helper that says "ready", waits for that, and ends it with the
// test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	buf := make([]byte, 6)
	if _, err := out.Read(buf); err != nil || string(buf) != "ready\n" {
		t.Fatalf("the helper said %q, %v", buf, err)
	}
}
