package containment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// stageMain arranges mounts in the mount namespace that it is started in, and
// then runs a command there as another user. Its arguments are the uid, the gid,
// the steps and, after "--", the command. A step after "late" is made only when
// the command asks for it by making the file "ready" in its working directory,
// and answered with the file "go".
func stageMain(args []string) int {
	uid, gid := number(args[0]), number(args[1])
	now, late := [][]string{}, [][]string{}
	steps := &now
	for args = args[2:]; args[0] != "--"; {
		if args[0] == "late" {
			steps, args = &late, args[1:]
			continue
		}
		n := stageArgs[args[0]]
		*steps = append(*steps, args[:1+n])
		args = args[1+n:]
	}
	if err := mountAll(now); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		return 3
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = testenv.User{UID: uid, GID: gid}.Attr()
	cmd.SysProcAttr.Pdeathsig = unix.SIGKILL
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
		return 3
	}
	if len(late) > 0 {
		err := wait("ready", 20*time.Second)
		if err == nil {
			err = mountAll(late)
		}
		if err == nil {
			err = os.WriteFile("go", nil, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "stage: late:", err)
		}
	}
	cmd.Wait()
	return testenv.Status(cmd.ProcessState)
}

// stageArgs are the steps that the stage knows, by how many arguments they take.
var stageArgs = map[string]int{"bind": 2, "tmpfs": 1, "shared": 1, "loop": 2, "again": 2, "exchange": 2, "copy": 2}

func mountAll(steps [][]string) error {
	for _, s := range steps {
		var err error
		switch s[0] {
		case "bind":
			err = unix.Mount(s[1], s[2], "", unix.MS_BIND|unix.MS_REC, "")
		case "tmpfs":
			err = unix.Mount("tmpfs", s[1], "tmpfs", 0, "mode=777")
		case "shared":
			if err = unix.Mount(s[1], s[1], "", unix.MS_BIND, ""); err == nil {
				err = unix.Mount("", s[1], "", unix.MS_SHARED, "")
			}
		case "loop": // the kernel frees the loop device with its last mount
			err = command("mount", "-o", "loop", s[1], s[2])
		case "again": // the device of one mount point at another
			err = mountAgain(s[1], s[2])
		case "exchange":
			err = unix.Renameat2(unix.AT_FDCWD, s[1], unix.AT_FDCWD, s[2], unix.RENAME_EXCHANGE)
		case "copy":
			err = command("cp", "-a", s[1], s[2])
		}
		if err != nil {
			return fmt.Errorf("%q: %w", s, err)
		}
	}
	return nil
}

func command(argv ...string) error {
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func mountAgain(at, to string) error {
	device, err := exec.Command("findmnt", "-no", "SOURCE", at).Output()
	if err != nil {
		return err
	}
	return unix.Mount(strings.TrimSpace(string(device)), to, "ext4", 0, "")
}

// staged is command with mounts arranged around it, which takes uid 0. Steps are
// spelled as calls are.
func (w world) staged(steps []string, argv ...string) testenv.Command {
	w.t.Helper()
	testenv.Need(w.t, testenv.FacilityRoot, testenv.HasRoot())
	c := w.command(argv...)
	line := []string{testenv.Helper(w.t), "stage", strconv.Itoa(w.box.user.UID), strconv.Itoa(w.box.user.GID)}
	for _, s := range steps {
		for i, word := range strings.Split(s, " ") {
			if i > 0 {
				word = w.tree.Path(word)
			}
			line = append(line, word)
		}
	}
	c.User = testenv.Root
	c.Argv = append(append(line, "--"), c.Argv...)
	c.Unshare = unix.CLONE_NEWNS
	return c
}

// mounting makes calls that change mounts: as root in a mount namespace around
// the launcher, so that what nothing prevents stays in it; as a user in a user
// namespace that the attack makes.
func (w world) mounting(calls ...string) string {
	w.t.Helper()
	argv := w.args(calls...)
	if w.box.user.UID != 0 {
		argv = append([]string{"unshare", "-Urm", "--propagation", "unchanged"}, argv...)
	}
	c := w.command(argv...)
	if w.box.user.UID == 0 {
		c.Unshare = unix.CLONE_NEWNS
	}
	return w.answers(c)
}

// mounts is mounting as a case's steps.
func mounts(calls ...string) func(w world) string {
	return func(w world) string { return w.mounting(calls...) }
}

// image makes an ext4 image that holds a copy of a directory of the tree.
func image(tr *testenv.Tree, dir, name string) error {
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		if mkfs = "/usr/sbin/mkfs.ext4"; syscall.Access(mkfs, 1) != nil {
			return errors.New("mkfs.ext4 is not installed")
		}
	}
	return command(mkfs, "-q", "-O", "^has_journal", "-d", tr.Path(dir), filepath.Clean(tr.Path(name)), "4M")
}
