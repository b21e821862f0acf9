package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// enterMain executes a command in a mount namespace of its own, where something
// is hidden or another tree is the root. Nothing of it reaches the machine.
func enterMain(args []string) int {
	f := flag.NewFlagSet("enter", flag.ExitOnError)
	hide := f.String("hide", "", "directory to put an empty one over")
	chroot := f.String("chroot", "", "directory to change the root to, with all that is mounted on this root")
	root := f.String("root", "", "tree that becomes the root, with file systems of its own")
	cgroup := f.Bool("cgroup", false, "have the one hierarchy of control groups that runtimes look for")
	f.Parse(args)
	err := enter(*hide, *chroot, *root, *cgroup, f.Args())
	fmt.Fprintln(os.Stderr, "hosts: enter:", err)
	return 1
}

func enter(hide, chroot, root string, cgroup bool, argv []string) error {
	runtime.LockOSThread() // its namespace is the thread's
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	var err error
	switch {
	case hide != "":
		err = mountAt("tmpfs", hide, "mode=755")
	case chroot != "":
		err = changeRoot(chroot)
	case root != "":
		err = pivot(root)
	case cgroup:
		err = mountAt("cgroup2", "/sys/fs/cgroup", "")
	}
	if err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return unix.Exec(path, argv, os.Environ())
}

func mountAt(fstype, dir, data string) error {
	if err := unix.Mount(fstype, dir, fstype, 0, data); err != nil {
		return fmt.Errorf("%s on %q: %w", fstype, dir, err)
	}
	return nil
}

func changeRoot(dir string) error {
	if err := unix.Mount("/", dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return errors.Join(unix.Chroot(dir), unix.Chdir("/"))
}

// pivot makes a tree the root of this mount namespace.
func pivot(dir string) error {
	if err := unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	return furnish()
}

// furnish mounts what every root has, and makes the devices that programs expect.
func furnish() error {
	for _, m := range []struct{ fstype, dir, data string }{
		{"proc", "/proc", ""},
		{"sysfs", "/sys", ""},
		{"tmpfs", "/tmp", "mode=1777"},
		{"tmpfs", "/dev", "mode=755"},
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666"},
		{"tmpfs", "/dev/shm", "mode=1777"},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := mountAt(m.fstype, m.dir, m.data); err != nil {
			return err
		}
	}
	old := unix.Umask(0)
	defer unix.Umask(old)
	for name, minor := range map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9} {
		if err := unix.Mknod(filepath.Join("/dev", name), unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(target, filepath.Join("/dev", name)); err != nil {
			return err
		}
	}
	return unix.Mknod("/dev/tty", unix.S_IFCHR|0o666, int(unix.Mkdev(5, 0)))
}
