package dsh

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const canAnswer = true

// answer runs a program whose first system call of a kind the kernel does not get to
// see: it has the result that spec gives. "version=3" answers the question for
// Landlock's version, "prctl=EPERM" the call that sets no_new_privs. It returns the
// exit status, as a shell would.
func answer(spec string, argv []string) int {
	what, value, _ := strings.Cut(spec, "=")
	result, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		result = -int64(errnos[value])
	}
	runtime.LockOSThread() // a thread traces, not a process
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		return 1
	}
	status, err := trace(cmd.Process.Pid, what, result)
	if err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		return 1
	}
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

var errnos = map[string]unix.Errno{
	"E2BIG": unix.E2BIG, "EINVAL": unix.EINVAL, "ENOMEM": unix.ENOMEM, "ENOSYS": unix.ENOSYS,
	"EOPNOTSUPP": unix.EOPNOTSUPP, "EPERM": unix.EPERM,
}

// trace waits for a process that was started traced, and changes the one call.
func trace(pid int, what string, result int64) (status unix.WaitStatus, err error) {
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		return status, err
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL); err != nil {
		return status, err
	}
	signal, met := 0, false
	for {
		if err := unix.PtraceSyscall(pid, signal); err != nil {
			return status, err
		}
		if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
			return status, err
		}
		if signal = int(status.StopSignal()); signal != int(unix.SIGTRAP|0x80) {
			continue // on its way to the process
		}
		signal = 0
		var regs unix.PtraceRegs
		if err := unix.PtraceGetRegs(pid, &regs); err != nil {
			return status, err
		}
		switch {
		case met: // the end of the call that was none
			regs.Rax = uint64(result)
			if err := unix.PtraceSetRegs(pid, &regs); err != nil {
				return status, err
			}
			if err := unix.PtraceDetach(pid); err != nil {
				return status, err
			}
			_, err := unix.Wait4(pid, &status, 0, nil)
			return status, err
		case isCall(what, &regs):
			met = true
			regs.Orig_rax = ^uint64(0)
			if err := unix.PtraceSetRegs(pid, &regs); err != nil {
				return status, err
			}
		}
	}
}

func isCall(what string, regs *unix.PtraceRegs) bool {
	const askVersion = 1
	switch regs.Orig_rax {
	case unix.SYS_LANDLOCK_CREATE_RULESET:
		return what == "version" && regs.Rdx == askVersion || what == "create_ruleset" && regs.Rdx == 0
	case unix.SYS_LANDLOCK_ADD_RULE:
		return what == "add_rule"
	case unix.SYS_LANDLOCK_RESTRICT_SELF:
		return what == "restrict_self"
	case unix.SYS_PRCTL:
		return what == "prctl" && regs.Rdi == unix.PR_SET_NO_NEW_PRIVS
	}
	return false
}
