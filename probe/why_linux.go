package probe

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Look gathers the facts about a bubblewrap that said something and failed. It
// starts bwrap --version, and self with the word "version" in namespaces of its own.
func Look(self, bwrap, said string, limit time.Duration) Facts {
	f := Facts{Said: said, Version: version(bwrap, limit), Root: os.Geteuid() == 0, Privileged: privilegedHere()}
	// The kernel refuses the flag CLONE_PTRACE, and an address that is none,
	// before anything of either call happens.
	f.Filtered = unless(unix.Unshare(unix.CLONE_NEWUSER|unix.CLONE_PTRACE), unix.EINVAL)
	_, _, errno := unix.Syscall6(unix.SYS_MOUNT, ^uintptr(0), ^uintptr(0), 0, 0, 0, 0)
	f.MountFiltered = unless(errno, unix.EFAULT)
	f.Clone = namespaces(self, limit, f.Root)
	f.CloneOff = setting("kernel/unprivileged_userns_clone") == "0"
	f.AppArmor = setting("kernel/apparmor_restrict_unprivileged_userns") == "1"
	on, _ := os.ReadFile("/sys/module/apparmor/parameters/enabled")
	f.Profiles = strings.HasPrefix(string(on), "Y")
	return f
}

func unless(err error, usual unix.Errno) string {
	if errors.Is(err, usual) {
		return Passed
	}
	return errnoName(err)
}

func errnoName(err error) string {
	if err == nil {
		return Passed
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return unix.ErrnoName(errno)
	}
	return err.Error()
}

func setting(name string) string {
	text, _ := os.ReadFile("/proc/sys/" + name)
	return strings.TrimSpace(string(text))
}

func version(bwrap string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bwrap, "--version")
	cmd.WaitDelay = limit
	OwnGroup(cmd)
	out, _ := cmd.Output()
	_, v, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return v
}

// namespaces makes those that bubblewrap needs, and returns the error.
func namespaces(self string, limit time.Duration, root bool) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "version")
	cmd.WaitDelay = limit
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(""), new(strings.Builder), new(strings.Builder) // there may be no /dev/null
	OwnGroup(cmd)
	if root {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS // which also mounts, as the launcher does
	} else {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
	return errnoName(cmd.Run())
}

func privilegedHere() bool {
	var data [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}
