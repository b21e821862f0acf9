package main

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// aliases adds the other places at which a denied or readonly root can be seen
// to the same list: a bind mount of a part of it, or a second mount of its file
// system; and, as root, the other places of the kernel's files. It reads what is mounted
// now; what is mounted later is another matter.
// The policy is resolved again where there are any.
func (in *inputs) aliases() (err error) {
	in.aliasOf, err = in.addAliases(&in.policy, in.resolved)
	if err != nil || len(in.aliasOf) == 0 {
		return err
	}
	return in.resolve()
}

// addAliases is hostfs.AddAliases with the mounts of this process.
func (in *inputs) addAliases(p *policy.Policy, r policy.Resolved) (map[string]string, error) {
	held, err := harden.Permitted()
	if err != nil {
		return nil, err
	}
	seen := slices.ContainsFunc(r.Restrictions(), func(l policy.Layer) bool { return l.Root.Kind != policy.Missing })
	owns := harden.OwnsKernelFiles(held)
	if !seen && (!owns || !r.Restricts()) {
		return nil, nil
	}
	text, err := readFile("/proc/self/mountinfo", maxMountinfo)
	if errors.Is(err, unix.ENOENT) {
		if !slices.Contains(in.limits, "aliases") {
			in.limits = append(in.limits, "aliases")
		}
		return nil, nil // no /proc: bubblewrap will not work, and Landlock says what it cannot see
	}
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	mounts, err := hostfs.ParseMounts(string(text))
	if err != nil {
		return nil, fmt.Errorf("mounts: %w", err)
	}
	rootOf, err := hostfs.AddAliases(p, r, mounts, owns)
	if root, ok := errors.AsType[*policy.RootError](err); ok {
		root.Flag = in.byFlag(root.List, root.Path)
	}
	return rootOf, err
}

// maxMountinfo bounds what is read of the mount table: a hundred thousand mounts
// (fs.mount-max) of long paths.
const maxMountinfo = 64 << 20
