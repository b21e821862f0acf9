package supervise

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// Exec replaces the launcher by bubblewrap: no process stays that is not
// bubblewrap's own. What that gives up: a failure of bubblewrap exits with 1 and
// speaks for itself, the terminal's ^C ends bubblewrap whatever the command does
// about it, and a signal to bubblewrap does not reach the command. It returns on
// failure only.
func Exec(s Sandbox) error {
	exe, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the launcher's own program: %w", err)
	}
	root, err := openRoot()
	if err != nil {
		return err
	}
	args, err := launch.Memfd("bubblewrap arguments", []byte(strings.Join(s.Args, "\x00")+"\x00"))
	if err != nil {
		return err
	}
	var mask unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, nil, &mask); err != nil {
		return fmt.Errorf("signal mask: %w", err)
	}
	s.Inner.Stderr, s.Inner.Mask, s.Inner.Root = 2, inner.Mask(mask), root
	plan, err := launch.Memfd("inner plan", s.Inner.Encode())
	if err != nil {
		return err
	}
	if s.Private {
		// Of this thread alone, which executes. See unshare.
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return fmt.Errorf("mount namespace: %w", err)
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return fmt.Errorf("mount namespace: %w", err)
		}
	}
	keep := append([]int{exe, args, plan, root}, s.Inner.Keep...)
	if s.Inner.Report >= 0 {
		keep = append(keep, s.Inner.Report)
	}
	if err := launch.CloseOnExec(keep); err != nil {
		return err
	}
	argv := []string{
		"bwrap", "--args", strconv.Itoa(args), "--",
		"/proc/self/fd/" + strconv.Itoa(exe), inner.Word, strconv.Itoa(plan), inner.Alone,
	}
	return fmt.Errorf("executing %q: %w", s.Bwrap, syscall.Exec(s.Bwrap, argv, stageEnv))
}
