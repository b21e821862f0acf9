//go:build unix

package hostfs

import (
	"errors"
	"slices"

	"github.com/letta-confine/letta-confine/policy"
)

// AddAliases adds to p, for each denied or readonly root of r, which is p resolved,
// the other places at which it can be seen, to the same list; and, for a caller who
// owns them, the other places of the kernel's files to the readonly roots. It
// returns what each added root shows. Where there are any, p is to be resolved again.
// The mounts are those of now; what is mounted later is another matter.
func AddAliases(p *policy.Policy, r policy.Resolved, mounts []Mount, ownsKernel bool) (rootOf map[string]string, err error) {
	rootOf = make(map[string]string)
	for i := range mounts {
		// Of a container's root, say, they are names on the host.
		mounts[i].Layers = slices.DeleteFunc(mounts[i].Layers, func(dir string) bool { return !Visible(dir) })
	}
	for _, l := range r.Restrictions() {
		if l.Root.Kind == policy.Missing {
			continue
		}
		for _, path := range Aliases(l.Root.Path, mounts) {
			if r.Decide(path).Access <= l.Access || !Visible(path) {
				continue
			}
			if err := p.Add(l.Root.List, path); err != nil {
				return nil, err
			}
			rootOf[path] = l.Root.Path
		}
	}
	if !ownsKernel {
		return rootOf, nil
	}
	return rootOf, addKernelFiles(p, r, mounts, rootOf)
}

// addKernelFiles keeps what is mounted of /proc and /sys elsewhere, in a chroot as a
// rule, from being written: core_pattern there is the same file. It fails where a root
// would make it writable again.
func addKernelFiles(p *policy.Policy, r policy.Resolved, mounts []Mount, rootOf map[string]string) error {
	for i, m := range mounts {
		home := kernelHome(m)
		covered := slices.ContainsFunc(mounts[i+1:], func(later Mount) bool { return later.Point == m.Point })
		if home == "" || m.ReadOnly || covered {
			continue
		}
		for _, root := range r.Roots() { // of the folded ones, too
			if root.Access() == policy.ReadWrite && policy.Holds(m.Point, root.Path) {
				return &policy.RootError{List: root.List, Path: root.Given, Err: ErrKernelFiles, Fix: "leave it out: what is written there steers the kernel"}
			}
		}
		if r.Decide(m.Point).Access != policy.ReadWrite || !Visible(m.Point) {
			continue
		}
		if err := p.Add(policy.ReadOnly, m.Point); err != nil {
			return err
		}
		rootOf[m.Point] = home
	}
	return nil
}

// ErrKernelFiles says that a root would let the kernel's own files be written.
var ErrKernelFiles = errors.New("it is the kernel's, mounted here")

// kernelHome returns where what a mount shows has its usual place, if that is /proc
// or /sys and the mount is another: there the backends see to it, and under /dev.
func kernelHome(m Mount) string {
	for _, own := range []string{"/proc", "/sys", "/dev"} {
		if policy.Holds(own, m.Point) {
			return ""
		}
	}
	switch m.Type {
	case "proc", "binfmt_misc", "nfsd":
		return "/proc"
	case "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "efivarfs", "bpf", "pstore", "resctrl",
		"fusectl", "selinuxfs", "smackfs":
		return "/sys"
	}
	return ""
}

// Visible reports whether anything is at path, so that there is something to
// hide: a place that another mount covers has no such name.
func Visible(path string) bool {
	info, err := FS{}.Lstat(path)
	return err == nil && info.Kind != policy.Missing
}
