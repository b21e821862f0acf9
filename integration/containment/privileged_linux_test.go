package containment

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestMounts: what uncovers a mask, shows what is below it elsewhere, or makes
// what is read-only writable. Root tries with the capabilities that it keeps, a
// user in a user namespace of its own. In each the file is read, or written, at
// the end.
func TestMounts(t *testing.T) {
	const below = "/agents/bob/memory/x.md"
	run(t, false, "mounts", []attack{
		{name: "umount", do: uncover("umount " + agents), want: either(held("EPERM ENOENT"), held("EPERM EACCES")), free: "EINVAL ok", why: "unconfined nothing covers it"},
		{name: "bind", do: mounts("bind home/.letta work/sub", "read work/sub"+below), want: either(held("EPERM ENOENT"), held("EPERM ENOENT"))},
		{name: "open_tree", do: mounts("open-tree home/.letta =agents/bob/memory/x.md"), want: everywhere(held("EPERM"))},
		{name: "move_mount", do: mounts("tmpfs work/sub", "mkdir work/sub/d", "move-mount work/sub out/sub"), want: everywhere(held("EPERM ok EPERM"))},
		{name: "move the mask", do: uncover("move " + agents + " work/sub"), want: either(held("EPERM ENOENT"), held("EPERM EACCES")), free: "EINVAL ok", why: "unconfined nothing covers it"},
		{name: "fsopen", do: mounts("fsopen =tmpfs"), want: everywhere(held("EPERM"))},
		{name: "tmpfs", do: mounts("tmpfs work/sub"), want: everywhere(held("EPERM"))},
		{name: "overlay", do: mounts("overlay home/.letta work/sub", "read work/sub"+below), want: everywhere(held("EPERM ENOENT"))},
		{name: "remount", policy: work, do: mounts("bind out out", "remount-rw out", "append out/file.txt"), want: either(held("EPERM EPERM EROFS"), held("EPERM EPERM EACCES"))},
		{name: "mount_setattr", policy: work, do: mounts("bind out out", "setattr-rw out", "append out/file.txt"), want: either(held("EPERM EPERM EROFS"), held("EPERM EPERM EACCES"))},
		{name: "pivot_root", do: mounts("pivot out"), want: everywhere(held("EPERM"))},
		{name: "chroot", do: mounts("chroot out"), want: everywhere(held("EPERM"))},
	})
}

// uncover makes a call that changes a mount, and reads the secret.
func uncover(call string) func(w world) string { return mounts(call, "read "+secret) }

// TestOtherProcesses: no other process of the user is a way to its files, its
// memory, or its descriptors.
func TestOtherProcesses(t *testing.T) {
	inside := "=/proc/PID/root"
	run(t, false, "other processes", []attack{
		{name: "/proc/PID/root", do: func(w world) string {
			return toVictim("read " + inside + w.tree.Path(secret))(w)
		}, want: everywhere(held("EACCES"))},
		{name: "/proc/PID/task/TID/root", do: func(w world) string {
			return toVictim("read =/proc/PID/task/PID/root" + w.tree.Path(secret))(w)
		}, want: everywhere(held("EACCES"))},
		{name: "/proc/PID/cwd", do: toVictim("read =/proc/PID/cwd/x.md"), want: everywhere(held("EACCES"))},
		{name: "/proc/PID/fd", do: toVictim("read =/proc/PID/fd/FD"), want: everywhere(held("EACCES"))},
		{name: "/proc/PID/mem", do: toVictim("process-mem =PID =ADDR"), want: everywhere(held("EACCES"))},
		{name: "/proc/PID/environ", do: toVictim("read =/proc/PID/environ"), want: everywhere(held("EACCES"))},
		{name: "ptrace", do: toVictim("ptrace =PID"), want: everywhere(held("EPERM"))},
		{name: "pidfd_getfd", do: toVictim("getfd =PID =FD"), want: everywhere(held("EPERM"))},
		{name: "process_vm_readv", do: toVictim("vm-readv =PID =ADDR"), want: everywhere(held("EPERM"))},
	})
	t.Run("as root", func(t *testing.T) {
		run(t, true, "other processes", []attack{
			{name: "setns", do: func(w world) string {
				v := w.victim("out/victim")
				return w.mounting(v.fill([]string{"setns-of =PID"})...)
			}, want: everywhere(held("EPERM"))},
		})
	})
}

// TestFilesWithoutPaths: handles, marks on a whole file system and device nodes
// lead to every file of a disk.
func TestFilesWithoutPaths(t *testing.T) {
	run(t, true, "files without paths", []attack{
		{name: "open_by_handle_at", calls: []string{"by-handle " + secret + " work/file.txt"}, want: everywhere(held("EPERM"))},
		{name: "fanotify", calls: []string{"fanotify work"}, want: everywhere(held("EPERM"))},
		{name: "mknod of a disk", calls: []string{"mknod-disk work/disk"}, want: everywhere(held("EPERM"))},
		{name: "mknod of the kernel's log", calls: []string{"mknod-kmsg work/kmsg"}, want: everywhere(held("EPERM"))},
		{name: "disk node", do: diskNode, want: either(held("ENOENT"), held("EACCES"))},
	})
}

// diskNode opens a disk for reading, where the host has one.
func diskNode(w world) string {
	w.t.Helper()
	entries, err := os.ReadDir("/dev")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		path := "/dev/" + e.Name()
		if e.Type()&os.ModeDevice != 0 && e.Type()&os.ModeCharDevice == 0 && open(path, unix.O_RDONLY|unix.O_NONBLOCK) == nil {
			return w.calls("open-read =" + path)
		}
	}
	testenv.Need(w.t, "disk", os.ErrNotExist)
	return ""
}

// TestKernel: what steers the kernel is opened for writing and not written.
func TestKernel(t *testing.T) {
	var attacks []attack
	for _, file := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity",
		"/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/fs/cgroup/cgroup.procs",
	} {
		if open(file, unix.O_WRONLY) != nil {
			continue // this host has no such file, or it cannot be opened unconfined
		}
		for name, policy := range map[string]func(*testenv.Tree) flags{"cross": cross, "memory": memory, "workspace": work} {
			attacks = append(attacks, attack{name: file + ", " + name, policy: policy, calls: []string{"open-write =" + file}, want: either(held("EROFS"), held("EACCES"))})
		}
	}
	attacks = append(attacks,
		attack{name: "a /proc of its own", do: mounts("proc work/sub", "open-write work/sub/sys/kernel/core_pattern"), want: everywhere(held("EPERM ENOENT"))},
		attack{name: "bpf", calls: []string{"bpf"}, want: everywhere(held("EPERM"))},
		attack{name: "userfaultfd", calls: []string{"userfault"}, want: everywhere(held("EPERM"))},
	)
	run(t, true, "kernel", attacks)
}
