package harden

// The system call filter. A mount namespace and a Landlock domain say what paths
// mean; these calls change what is mounted, get at files without a path, or act
// on the terminal and the kernel from the side. The filter is a second lock: most
// of it needs a capability that is gone, or is refused by the domain. The
// terminal's input queue, device nodes made by uid 0 and the calls that a new
// user namespace would bring back are closed by it alone.

// Denied are the system calls that fail with EPERM in every confined command.
// The number of each comes from the table of the running architecture.
var Denied = []string{
	// what is mounted, and where the root is
	"mount", "umount2", "pivot_root", "chroot", "setns", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr",
	// files without a path, and files of a whole file system
	"open_by_handle_at", "fanotify_init", "quotactl", "quotactl_fd", "swapon", "swapoff", "acct",
	// the kernel and its memory
	"bpf", "perf_event_open", "userfaultfd", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
	"reboot", "iopl", "ioperm", "syslog", "vhangup",
}

// DeniedPrivileged are denied in addition to a command that keeps capabilities:
// they reach into another process of the same user.
var DeniedPrivileged = []string{"process_vm_readv", "process_vm_writev", "pidfd_getfd"}

// DeniedIsolated are denied in addition to a command whose processes are
// isolated: the keyrings, which are the session's and outlive every namespace. A
// new user namespace is refused to it as well.
var DeniedIsolated = []string{"add_key", "request_key", "keyctl"}

// Options say for whom the filter is.
type Options struct {
	Privileged bool // the command keeps capabilities
	Keyrings   bool // keyrings are out of bounds
	NoUserNS   bool // no new user namespaces
}

// Filtered says in words what the filter does, for reports.
func Filtered(o Options) []string {
	words := o.names()
	if o.NoUserNS {
		words = append(words, "clone, unshare and clone3 of user namespaces")
	}
	return append(words, "ioctl TIOCSTI", "ioctl TIOCLINUX", "mknod of devices", "foreign architectures")
}

// names lists the calls that are denied whatever their arguments.
func (o Options) names() []string {
	names := append([]string(nil), Denied...)
	if o.Privileged {
		names = append(names, DeniedPrivileged...)
	}
	if o.Keyrings {
		names = append(names, DeniedIsolated...)
	}
	return names
}
