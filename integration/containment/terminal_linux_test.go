package containment

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// onTerminal makes calls in a process whose controlling terminal is a new one,
// and which has it as standard input.
func onTerminal(calls ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		_, slave := testenv.Terminal(w.t, w.box.user)
		answers, _ := w.terminal(slave, w.args(calls...)...)
		return answers
	}
}

// terminal runs a command on a terminal and returns its answers and what it says.
func (w world) terminal(slave *os.File, argv ...string) (answers, stderr string) {
	w.t.Helper()
	cmd := w.command(argv...).Cmd(w.t.Context())
	cmd.Stdin = slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Run()
	return words(w.t, testenv.Result{Stdout: out.String(), Stderr: said.String(), Status: testenv.Status(cmd.ProcessState)}), said.String()
}

// legacy is whether the kernel lets terminals be typed into at all.
func legacy() (string, error) {
	text, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti")
	if err == nil && strings.TrimSpace(string(text)) != "1" && os.Geteuid() != 0 {
		err = fmt.Errorf("dev.tty.legacy_tiocsti is %s", text)
	}
	if os.IsNotExist(err) {
		err = nil // a kernel before 6.2 has no such switch
	}
	return "tiocsti", err
}

// TestTerminalInjection: the command types nothing into the terminal that the
// harness reads from.
func TestTerminalInjection(t *testing.T) {
	run(t, false, "terminal", []attack{
		{name: "TIOCSTI on stdin", do: onTerminal("tiocsti =/dev/stdin"), want: everywhere(held("EPERM")), need: legacy},
		{name: "TIOCSTI with high bits", do: onTerminal("tiocsti-hi =/dev/stdin"), want: everywhere(held("EPERM")), need: legacy},
		{name: "TIOCSTI on /dev/tty", do: onTerminal("tiocsti =/dev/tty"), want: everywhere(held("EPERM")), need: legacy},
		{name: "TIOCLINUX", do: onTerminal("tioclinux =/dev/stdin"), want: everywhere(held("EPERM")), free: "ENOTTY", why: "the terminal is no console, and none is touched"},
	})
}

// TestTerminalAttributes: a terminal is left as it was found, where a process of
// the launcher stays to see to it.
func TestTerminalAttributes(t *testing.T) {
	echo := func(w world) string {
		w.t.Helper()
		_, slave := testenv.Terminal(w.t, w.box.user)
		if answers, stderr := w.terminal(slave, w.args("echo-off =/dev/tty")...); answers != "ok" {
			w.t.Fatalf("switching echo off = %s, %s", answers, stderr)
		}
		attr, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			w.t.Fatal(err)
		}
		if attr.Lflag&unix.ECHO != 0 {
			return "restored"
		}
		return "ok"
	}
	other := func(w world) string {
		w.t.Helper()
		_, slave := testenv.Terminal(w.t, w.box.user)
		return w.calls("open-both =" + slave.Name())
	}
	run(t, false, "terminal", []attack{
		{name: "attributes left changed", do: echo, want: either(held("restored"), residual("terminal", "ok"))},
		{name: "another terminal of the user", policy: work, do: other, want: either(held("ENOENT"), residual("terminal", "ok"))},
	})
}

// TestForeignSystemCalls: the filter knows one table of system calls, so the
// others are closed.
func TestForeignSystemCalls(t *testing.T) {
	run(t, false, "foreign system calls", []attack{
		{name: "int 0x80", calls: []string{"int80"}, want: everywhere(held("signal-31")), need: func() (string, error) {
			_, err := os.Stat("/proc/sys/abi/vsyscall32") // there where 32-bit programs run
			return "ia32", err
		}},
		{name: "x32", calls: []string{"x32"}, want: everywhere(held("ENOSYS")), free: "ENOSYS", why: "this kernel was built without the table"},
	})
}
