package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// aliases adds the other places at which a denied or readonly root can be seen
// to the same list: a bind mount of a part of it, or a second mount of its file
// system. It reads what is mounted now; what is mounted later is another matter.
// The policy is resolved again where there are any.
func (in *inputs) aliases() error {
	var wanted []policy.Root
	for _, l := range in.resolved.Layers() {
		if l.Access != policy.ReadWrite && l.Root.Kind != policy.Missing {
			wanted = append(wanted, l.Root)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	text, err := readFile("/proc/self/mountinfo", maxMountinfo)
	if errors.Is(err, unix.ENOENT) {
		in.limits = append(in.limits, "aliases")
		return nil // no /proc: bubblewrap will not work, and Landlock says what it cannot see
	}
	if err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	mounts, err := hostfs.ParseMounts(string(text))
	if err != nil {
		return fmt.Errorf("mounts: %w", err)
	}
	added := false
	for _, root := range wanted {
		for _, path := range hostfs.Aliases(root.Path, mounts) {
			if in.resolved.Decide(path).Access <= root.Access() || !visible(path) {
				continue
			}
			if err := in.policy.Add(root.List, path); err != nil {
				return err
			}
			in.aliasOf[path] = root.Path
			added = true
		}
	}
	if !added {
		return nil
	}
	return in.resolve()
}

// maxMountinfo bounds what is read of the mount table: a hundred thousand mounts
// (fs.mount-max) of long paths.
const maxMountinfo = 64 << 20
