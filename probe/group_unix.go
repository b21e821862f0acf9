//go:build unix

package probe

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a step killable as a whole: a helper that ignores SIGTERM or
// that forked must not stay behind.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
