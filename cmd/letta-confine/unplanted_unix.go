//go:build linux || darwin

package main

import (
	"errors"
	"fmt"

	"github.com/letta-confine/letta-confine/policy"
)

// unplanted refuses a directory that says what the command may do without being
// listed as a root, and that is reached through a symlink which an earlier run could
// have planted. What enters the policy is its canonical path, in which no link is
// left to be seen; so it is the path as it was given that is looked at here.
func (in *inputs) unplanted(what, given, canonical string) error {
	if given == canonical {
		return nil
	}
	r, err := in.resolveOf(policy.Policy{Writable: []string{given}})
	if err == nil && r.Roots()[0].Path != canonical {
		err = &policy.RootError{Err: policy.ErrLink, Fix: "write its real path"} // swapped since, and swapped back
	}
	if root, ok := errors.AsType[*policy.RootError](err); ok {
		return withHint(fmt.Errorf("%s %q: %w", what, given, root.Err), root.Fix)
	}
	return err
}

// unplantedChdir is unplanted for --chdir, where the command's directory counts. Of
// a directory that the launcher was started in the kernel does not say which links
// led there.
func (in *inputs) unplantedChdir() error {
	if in.came == "" {
		return nil
	}
	return in.unplanted("--chdir", in.came, in.cwd)
}
