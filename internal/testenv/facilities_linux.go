package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/landlock"
)

// HasRoot returns nil where the tests run as uid 0 with the capabilities that
// the attacks of uid 0 start from.
func HasRoot() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("running as uid %d", os.Geteuid())
	}
	held, err := harden.Permitted()
	if err != nil {
		return err
	}
	if held&(1<<unix.CAP_SYS_ADMIN) == 0 || held&(1<<unix.CAP_MKNOD) == 0 {
		return errors.New("uid 0 lacks CAP_SYS_ADMIN or CAP_MKNOD")
	}
	return nil
}

// HasBwrap returns nil where a bubblewrap that the launcher trusts is installed.
func HasBwrap() error {
	_, err := bwrap.Find("")
	return err
}

// HasUserns returns nil where the plain user can make a user namespace.
var HasUserns = sync.OnceValue(func() error {
	cmd := Command{User: Plain, Dir: "/", Argv: []string{"/bin/true"}}.Cmd(context.Background())
	cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER
	if cmd.SysProcAttr.Credential != nil {
		// Go would set the ids inside the new namespace, where they are not
		// mapped: let the user itself make it.
		cmd = Command{User: Plain, Dir: "/", Argv: []string{"unshare", "--user", "/bin/true"}}.Cmd(context.Background())
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// HasLandlock returns nil where the kernel enforces Landlock as far as the
// tests expect.
func HasLandlock() error {
	abi, err := landlock.ABI()
	if err == nil && abi < 3 {
		err = fmt.Errorf("the kernel has ABI %d", abi)
	}
	return err
}

// NeedBackend ends the test where a backend cannot confine what u runs.
func NeedBackend(t testing.TB, backend string, u User) {
	t.Helper()
	if u.UID == 0 {
		Need(t, FacilityRoot, HasRoot())
	}
	switch backend {
	case "landlock":
		Need(t, FacilityLandlock, HasLandlock())
	case "bwrap":
		Need(t, FacilityBwrap, HasBwrap())
		if u.UID != 0 {
			Need(t, FacilityUserns, HasUserns())
		}
	default:
		t.Fatalf("no backend %q", backend)
	}
}
