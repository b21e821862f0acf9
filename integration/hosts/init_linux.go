package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setuidVariable makes bubblewrap set-user-id root in a guest. The kernel puts
// what it does not know of its arguments into the first program's environment.
const setuidVariable = "HOSTS_SETUID"

// initMain is the first program of a guest: it has both users judge it, and turns
// the guest off.
func initMain() {
	err := guest()
	if err != nil {
		fmt.Println("hosts: guest:", err)
	}
	unix.Sync()
	fmt.Println("hosts: guest: turning off:", unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART))
}

func guest() error {
	if err := newRoot(); err != nil {
		return err
	}
	if err := furnish(); err != nil {
		return err
	}
	if os.Getenv(setuidVariable) != "" {
		if err := unix.Chmod("/usr/bin/bwrap", 0o4755); err != nil {
			return err
		}
	}
	if name := os.Getenv(apparmorVariable); name != "" {
		if err := loadPolicy(name); err != nil {
			return err
		}
	}
	for _, user := range []string{"root", "user"} {
		line := append(append([]string{"sim"}, asUser(user)...), "--", "/usr/bin/hosts", "judge")
		cmd := exec.Command("/usr/bin/hosts", line...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", user, err)
		}
	}
	return nil
}

// newRoot moves into a copy of the ramdisk, because the ramdisk itself is no root
// that can be pivoted away from (pivot_root(2)).
func newRoot() error {
	const at = "/new"
	if err := os.Mkdir(at, 0o755); err != nil {
		return err
	}
	if err := mountAt("tmpfs", at, "mode=755"); err != nil {
		return err
	}
	err := filepath.WalkDir("/usr", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Mkdir(at+path, info.Mode())
		case info.Mode()&fs.ModeSymlink != 0:
			return relink(path, at+path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(at+path, data, info.Mode())
	})
	if err != nil {
		return err
	}
	for _, link := range []string{"/bin", "/lib", "/lib64"} {
		if err := relink(link, at+link); err != nil {
			return err
		}
	}
	return errors.Join(unix.Chdir(at), unix.Mount(".", "/", "", unix.MS_MOVE, ""), unix.Chroot("."), unix.Chdir("/"))
}

func relink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// isInit reports whether this process is the first of a guest.
func isInit() bool { return os.Getpid() == 1 && strings.HasSuffix(os.Args[0], "init") }
