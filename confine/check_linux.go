package confine

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// check refuses a command that the domain would not hold, or that would not work in
// it, and returns the descriptors of its output, where those are files. With mounts, a
// descriptor belongs to the mount that it was opened on, which is the host's.
func check(cmd *exec.Cmd, r policy.Resolved, mounts bool) (outputs []int, err error) {
	if err := checkAttributes(cmd.SysProcAttr); err != nil {
		return nil, err
	}
	dir := cmd.Dir
	if dir == "" {
		dir = "."
	}
	// By the kernel's own answer: a chdir is no access that Landlock knows.
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("working directory %q: %w", dir, err)
	}
	path, err := hostfs.PathOf(fd)
	unix.Close(fd)
	if err != nil {
		return nil, fmt.Errorf("working directory %q: %w", dir, err)
	}
	if d := r.Decide(path); d.Access == policy.None {
		return nil, fmt.Errorf("%w: %q in %q", ErrDirectory, path, d.Root.Path)
	}
	for i, given := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		f, ok := given.(*os.File)
		if !ok || f == nil {
			continue // a pipe, or /dev/null
		}
		if err := checkFile(f, r, mounts); err != nil {
			return nil, err
		}
		if i > 0 {
			outputs = append(outputs, int(f.Fd()))
		}
	}
	for _, f := range cmd.ExtraFiles {
		if f == nil {
			continue
		}
		if err := checkFile(f, r, mounts); err != nil {
			return nil, err
		}
	}
	return outputs, checkInherited()
}

// checkAttributes refuses every attribute but those that were thought about, so that
// one which a later Go adds is refused too. Namespaces and Chroot would make paths
// mean something else than what was resolved; a capability that is raised would be
// lost or reach around; Pdeathsig watches the thread, which ends at once.
func checkAttributes(a *syscall.SysProcAttr) error {
	if a == nil {
		return nil
	}
	known := syscall.SysProcAttr{
		Credential: a.Credential, Setsid: a.Setsid, Setpgid: a.Setpgid, Setctty: a.Setctty, Noctty: a.Noctty, Ctty: a.Ctty,
		Foreground: a.Foreground, Pgid: a.Pgid, PidFD: a.PidFD,
	}
	if !reflect.DeepEqual(known, *a) {
		return ErrAttributes
	}
	return nil
}

// checkFile refuses what the launcher refuses as a standard descriptor: a directory
// leads to all beneath it, an O_PATH descriptor can be opened in earnest, and a file
// below a denied root is what the policy denies.
func checkFile(f *os.File, r policy.Resolved, mounts bool) error {
	fd := int(f.Fd())
	var st unix.Stat_t
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return fmt.Errorf("descriptor of %q: %w", f.Name(), err)
	}
	kind := hostfs.KindOf(uint32(st.Mode))
	if flags&unix.O_PATH != 0 || kind == policy.Dir {
		return fmt.Errorf("%w: %q is a directory, or opened with O_PATH", ErrDescriptor, f.Name())
	}
	if kind != policy.File || st.Nlink == 0 {
		return nil // no path leads to it, or its path says nothing of its contents
	}
	path, err := hostfs.PathOf(fd)
	if err != nil {
		return fmt.Errorf("descriptor of %q: %w", f.Name(), err)
	}
	switch d := r.Decide(path); {
	case d.Access == policy.None:
		return fmt.Errorf("%w: %q is inside denied root %q", ErrDescriptor, path, d.Root.Path)
	case mounts && d.Access == policy.Read && flags&unix.O_ACCMODE == unix.O_RDONLY:
		return fmt.Errorf("%w: %q could be opened again for writing", ErrDescriptor, path)
	}
	return nil
}

// checkInherited refuses a descriptor above 2 that exec would leave open. Go opens
// none; one comes from whoever started this process, or from C.
func checkInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot learn which descriptors are open: %w", err)
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd < 3 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			return fmt.Errorf("%w: descriptor %d is not closed at exec", ErrDescriptor, fd)
		}
	}
	return nil
}
