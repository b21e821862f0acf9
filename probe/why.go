package probe

import (
	"strconv"
	"strings"
)

// Why is the reason for which bubblewrap does not work here.
type Why struct {
	Code  string // "" where the facts do not tell
	Cause string // of bwrap-userns-denied
	Hint  string // what to change
}

// Outcomes of a system call that a Fact tells apart.
const (
	Passed   = ""
	NoSpace  = "ENOSPC"
	NotPerm  = "EPERM"
	NoAccess = "EACCES"
)

// Facts is what a host says of namespaces. Every call in it was really made.
type Facts struct {
	Said    string // by bubblewrap
	Version string // of bubblewrap, "0.8.0", or "" where it would not say

	// Filtered and MountFiltered are the errors of calls that the kernel itself
	// refuses with another one, for their arguments, before it looks at rights:
	// whatever else comes is a system call filter's.
	Filtered, MountFiltered string

	Clone      string // the error of making the namespaces that bubblewrap needs
	Privileged bool   // bubblewrap needs no user namespace
	Root       bool   // and makes none, because it runs as root
	CloneOff   bool   // kernel.unprivileged_userns_clone is 0
	AppArmor   bool   // kernel.apparmor_restrict_unprivileged_userns is 1
	Profiles   bool   // AppArmor is at work
}

// Explain tells the causes apart for which bubblewrap failed: what is certain goes
// before what is left over.
func (f Facts) Explain() Why {
	denied := func(cause, hint string) Why { return Why{"bwrap-userns-denied", cause, hint} }
	switch {
	case older(f.Version, 0, 4):
		return Why{Code: "bwrap-too-old", Hint: "install bubblewrap 0.4 or later"}
	case f.Clone == NoSpace || f.Filtered == NoSpace:
		return denied("limit", "raise the number of namespaces: sysctl -w user.max_user_namespaces=15000 (and max_mnt_namespaces)")
	case f.Clone == NotPerm && f.CloneOff && !f.Root:
		// Debian's kernels look at it before they look at arguments, so that it
		// would be taken for a filter.
		return denied("sysctl", "sysctl -w kernel.unprivileged_userns_clone=1")
	case f.Filtered != Passed || f.MountFiltered != Passed:
		return denied("seccomp", "let the container's seccomp profile allow unshare, clone and mount: docker run --security-opt seccomp=PROFILE")
	case f.Clone == NotPerm && f.Root && !f.Privileged:
		return denied("capability", "run as a user other than root, or with CAP_SYS_ADMIN: docker run --cap-add SYS_ADMIN")
	case !f.Root && f.AppArmor, f.Profiles && f.Clone == NoAccess,
		f.Profiles && f.Clone == Passed && (f.says("namespace", "Permission denied") || f.says("uid map", "Permission denied")):
		// The program's own profile counts, and this one has another.
		return denied("apparmor", "give bwrap an AppArmor profile with the rule userns, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
	case f.Clone == NotPerm && f.Root, f.Clone == Passed && f.says("make / slave", "Operation not permitted"):
		// All capabilities, no filter, and the first mount is refused with the
		// error of Landlock; AppArmor's is another.
		return denied("landlocked", "start outside the Landlock domain, or use --backend landlock, which adds to it")
	case f.Clone == NotPerm:
		// What else the kernel has this error for is a user that is not mapped,
		// which no process of a usual container is (user_namespaces(7)).
		return denied("chroot", "start outside the chroot, or enter it by pivot_root")
	case f.Clone == NoAccess:
		return denied("unknown", "a security module forbids it: ask who runs this host, or use Landlock")
	case f.says("pivot_root", "Operation not permitted"):
		return denied("seccomp", "let the container's seccomp profile allow pivot_root: docker run --security-opt seccomp=PROFILE")
	case f.says("mount proc", ""):
		return Why{Code: "bwrap-proc-denied", Hint: "leave /proc unmasked: docker run --security-opt systempaths=unconfined"}
	}
	return Why{}
}

// says reports whether bubblewrap said both. It speaks English everywhere.
func (f Facts) says(what, why string) bool {
	return strings.Contains(f.Said, what) && strings.Contains(f.Said, why)
}

// older reports whether a version is known and below major.minor.
func older(version string, major, minor int) bool {
	words := strings.Split(version, ".")
	if len(words) < 2 {
		return false
	}
	a, errA := strconv.Atoi(words[0])
	b, errB := strconv.Atoi(words[1])
	return errA == nil && errB == nil && (a < major || (a == major && b < minor))
}
