//go:build unix

package probe

import (
	"os/exec"
	"syscall"
)

// OwnGroup makes a step killable as a whole: a helper that ignores SIGTERM or
// that forked must not stay behind.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
