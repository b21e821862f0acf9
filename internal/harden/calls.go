//go:build linux && (amd64 || arm64)

package harden

import "golang.org/x/sys/unix"

// call numbers the filtered system calls for the running architecture. It is a
// switch and not a map, which would be built at every start.
func call(name string) (nr uint32, ok bool) {
	switch name {
	case "mount":
		return unix.SYS_MOUNT, true
	case "umount2":
		return unix.SYS_UMOUNT2, true
	case "pivot_root":
		return unix.SYS_PIVOT_ROOT, true
	case "chroot":
		return unix.SYS_CHROOT, true
	case "setns":
		return unix.SYS_SETNS, true
	case "open_tree":
		return unix.SYS_OPEN_TREE, true
	case "open_tree_attr":
		return unix.SYS_OPEN_TREE_ATTR, true
	case "move_mount":
		return unix.SYS_MOVE_MOUNT, true
	case "fsopen":
		return unix.SYS_FSOPEN, true
	case "fsconfig":
		return unix.SYS_FSCONFIG, true
	case "fsmount":
		return unix.SYS_FSMOUNT, true
	case "fspick":
		return unix.SYS_FSPICK, true
	case "mount_setattr":
		return unix.SYS_MOUNT_SETATTR, true
	case "open_by_handle_at":
		return unix.SYS_OPEN_BY_HANDLE_AT, true
	case "fanotify_init":
		return unix.SYS_FANOTIFY_INIT, true
	case "quotactl":
		return unix.SYS_QUOTACTL, true
	case "quotactl_fd":
		return unix.SYS_QUOTACTL_FD, true
	case "swapon":
		return unix.SYS_SWAPON, true
	case "swapoff":
		return unix.SYS_SWAPOFF, true
	case "acct":
		return unix.SYS_ACCT, true
	case "bpf":
		return unix.SYS_BPF, true
	case "perf_event_open":
		return unix.SYS_PERF_EVENT_OPEN, true
	case "userfaultfd":
		return unix.SYS_USERFAULTFD, true
	case "init_module":
		return unix.SYS_INIT_MODULE, true
	case "finit_module":
		return unix.SYS_FINIT_MODULE, true
	case "delete_module":
		return unix.SYS_DELETE_MODULE, true
	case "kexec_load":
		return unix.SYS_KEXEC_LOAD, true
	case "kexec_file_load":
		return unix.SYS_KEXEC_FILE_LOAD, true
	case "reboot":
		return unix.SYS_REBOOT, true
	case "syslog":
		return unix.SYS_SYSLOG, true
	case "vhangup":
		return unix.SYS_VHANGUP, true
	case "process_vm_readv":
		return unix.SYS_PROCESS_VM_READV, true
	case "process_vm_writev":
		return unix.SYS_PROCESS_VM_WRITEV, true
	case "pidfd_getfd":
		return unix.SYS_PIDFD_GETFD, true
	case "add_key":
		return unix.SYS_ADD_KEY, true
	case "request_key":
		return unix.SYS_REQUEST_KEY, true
	case "keyctl":
		return unix.SYS_KEYCTL, true
	}
	return archCall(name)
}
