package integration

// The tests named TestSettledNN show the settled points of the design, one each,
// by their key fact; the tests beside them in this folder go further. Not here are
// the points that are no matter of bubblewrap, Landlock or the launch:
//
//   - 15, the sockets and files that the memory-subagent and cross-agent profiles
//     keep: there are no profiles yet.
//   - 20, plan --exec-argv: plan_linux_test.go.
//   - 23, what the equality of emitters leaves out: internal/sim, equality_test.go.
//   - 26, a hundred binds within ten milliseconds: a matter of make bench.
//   - of 6, 15 and 23, what Seatbelt does: seatbelt/, and seatbelt_darwin_test.go.
//   - of 12, --audit-log and --session-log, of 13 and 18 --strict-inputs,
//     --supervise, --exec and --widen-on-denial: not there yet.

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

func init() {
	faces["unbounded"] = unboundedMain
	faces["no-landlock"] = noLandlockMain
}

// unboundedMain executes a program without one capability, which uid 0 can then
// not have, or without any.
func unboundedMain(args []string) int {
	first, err := strconv.Atoi(args[0])
	last := first
	if args[0] == "all" {
		first, last, err = 0, 63, nil
	}
	if err != nil {
		return 2
	}
	for n := first; n <= last; n++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(n), 0, 0, 0)
		if err == unix.EINVAL && n > first {
			break // beyond the last that the kernel knows
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(args[1], args[1:], os.Environ()))
	return 1
}

// noLandlockMain executes a program for which the kernel has no Landlock.
func noLandlockMain(args []string) int {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x00050000 | uint32(unix.ENOSYS)}, // SECCOMP_RET_ERRNO
		{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000},                       // SECCOMP_RET_ALLOW
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	}
	runtime.KeepAlive(filter)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintln(os.Stderr, syscall.Exec(args[0], args, os.Environ()))
	return 1
}

// TestSettled01KeptCapabilities: what the launcher lacks is not asked for, which
// would make bubblewrap keep everything.
func TestSettled01KeptCapabilities(t *testing.T) {
	eachAsRoot(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, crossFlags(tr), testenv.Helper(t), "state")
		c.Argv = append([]string{testenv.Helper(t), "unbounded", strconv.Itoa(unix.CAP_NET_RAW)}, c.Argv...)
		s := stateOf(t, c.Run(t))
		want := fmt.Sprintf("%016x", keptCaps&^(1<<unix.CAP_NET_RAW))
		for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
			if s.Status[set] != want {
				t.Errorf("%s = %s, want %s: the ten without NET_RAW", set, s.Status[set], want)
			}
		}
	})
}

// TestSettled02WithoutLandlock: where the inner layer is missing a pid namespace
// does its work, for whoever runs; and Landlock is no backend.
func TestSettled02WithoutLandlock(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		pid := sleeper(t, b, tr)
		outside := fmt.Sprintf("/proc/%d/root%s", pid, tr.Path(bob+"/memory/x.md"))
		ask := []string{testenv.Helper(t), "calls", "stat", fmt.Sprintf("/proc/%d", pid), "read", outside, "read", tr.Path(bob + "/memory/x.md")}
		for landlock, want := range map[bool]string{true: "ok EACCES ENOENT", false: "ENOENT ENOENT ENOENT"} {
			c := b.command(t, tr, crossFlags(tr), ask...)
			if !landlock {
				c.Argv = append([]string{testenv.Helper(t), "no-landlock"}, c.Argv...)
			}
			if res := c.Run(t); strings.Join(strings.Fields(res.Stdout), " ") != want || res.Stderr != "" {
				t.Errorf("with Landlock %v: looking at a process outside = %+v, want %s", landlock, res, want)
			}
		}
		b.backend = "landlock"
		c := b.command(t, tr, crossFlags(tr), "touch", "ran")
		c.Argv = append([]string{testenv.Helper(t), "no-landlock"}, c.Argv...)
		refused(t, c.Run(t), "no Landlock", "Linux 5.13")
	})
}

// TestSettled03IsolationIsAsked: without --isolate-processes the processes of the
// user can be signalled and a user namespace made, with it neither. There is no
// switch for the latter alone.
func TestSettled03IsolationIsAsked(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		script := fmt.Sprintf(`kill -0 %d 2>&- && echo signals; unshare --user true 2>&- && echo nests; true`, sleeper(t, b, tr))
		for flag, want := range map[string]string{"": "signals\nnests\n", "--isolate-processes": ""} {
			f := crossFlags(tr)
			if flag != "" {
				f = append(f, flag)
			}
			if res := b.run(t, tr, f, "sh", "-c", script); res.Stdout != want || res.Status != 0 {
				t.Errorf("with %q: %+v, want %q", flag, res, want)
			}
		}
		refused(t, b.run(t, tr, append(crossFlags(tr), "--allow-userns"), "true"), "allow-userns", "usage")
	})
}

// TestSettled04CommandIsTheChild: the command is the child of bubblewrap, which is
// the launcher's, in the numbers of the host; and signals are to it what they were
// to the launcher.
func TestSettled04CommandIsTheChild(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		cmd, lines := b.session(t, tr, crossFlags(tr), "sh", "-c", "echo ready; echo $$; exec sleep 60")
		said, _ := lines.ReadString('\n')
		pids := family(t, cmd.Process.Pid)
		if len(pids) != 3 || said != fmt.Sprintln(pids[2]) {
			t.Errorf("the run is %v and the command calls itself %s", pids, said)
		}
		argv := append([]string{testenv.Helper(t), "with", "ignore=2", "ignore=1", "--"},
			b.command(t, tr, crossFlags(tr), "/bin/grep", "SigIgn", "/proc/self/status").Argv...)
		res := b.free(t, tr, argv...)
		ignored, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(res.Stdout, "SigIgn:")), 16, 64)
		if err != nil || ignored&3 != 3 {
			t.Errorf("started with HUP and INT ignored the command has %+v", res)
		}
	})
}

// TestSettled25Dialect: masked files give EACCES, and the system call filter and
// no_new_privs are the same on both backends.
func TestSettled25Dialect(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		f := flags{"--deny", tr.Path("out/file.txt")}
		if got := b.calls(t, tr, f, row{call: "read", paths: "out/file.txt"}); got[0] != "EACCES" {
			t.Errorf("reading a masked file = %s, want EACCES", got[0])
		}
		if s := b.state(t, tr, f); s.Status["Seccomp"] != "2" || s.Status["NoNewPrivs"] != "1" {
			t.Errorf("the command has Seccomp %s and NoNewPrivs %s, want 2 and 1", s.Status["Seccomp"], s.Status["NoNewPrivs"])
		}
	})
}
