//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/dsh"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// bwrapArgv is the program as DSH's runnerCommand: it is given bubblewrap's
// arguments, takes them for a policy, and confines the command as any other, with
// whichever backend works (docs/dsh.md). What that backend cannot keep beside the
// paths is named in the report.
//
// It writes one line at most, and that is an error: DSH takes any line with
// "letta-confine: error: " in it for a failure of the launcher.
func bwrapArgv(args []string) int {
	o, err := parseBwrapArgv(args)
	status := 0
	if err == nil {
		status, err = o.confine()
	}
	if err != nil {
		return failQuietly(err)
	}
	return status
}

// bwrapFaceFlags are the launcher's own flags that may come before bubblewrap's.
var bwrapFaceFlags = []string{"backend", "bwrap", "credential", "deny", "env", "keep-env", "report", "require", "scrub-env"}

func parseBwrapArgv(args []string) (*options, error) {
	o := defaults()
	o.quiet, o.yielding, o.missingDenied = true, true, "refuse"
	for len(args) > 1 {
		i := slices.IndexFunc(flags, func(f flag) bool { return "--"+f.name == args[0] && slices.Contains(bwrapFaceFlags, f.name) })
		if i < 0 {
			break
		}
		value, taken := args[1], 2
		if flags[i].bool {
			value, taken = "true", 1
		}
		if err := flags[i].set(o, value); err != nil {
			return nil, fmt.Errorf("%s %q: %w", args[0], value, err)
		}
		args = args[taken:]
	}
	b, err := dsh.ParseBwrap(args, there)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", bwrapFace, err)
	}
	o.listed.RestrictWrites = true
	for _, roots := range []struct {
		list  policy.List
		paths []string
	}{{policy.Writable, b.Writable}, {policy.ReadOnly, b.ReadOnly}} {
		for _, path := range roots.paths {
			if err := o.listed.Add(roots.list, path); err != nil {
				return nil, err
			}
		}
	}
	if b.PrivateTmp {
		o.tmp = "private"
	}
	o.isolate, o.dieWithParent, o.args = b.Isolate, b.DieWithParent, b.Argv
	return o, nil
}

// there returns the path behind one that is written, and an error where nothing is.
func there(path string) (string, error) {
	real, err := policy.Canonical(path, hostfs.FS{})
	if err != nil {
		return "", bare(err)
	}
	if !hostfs.Visible(real) {
		return "", errors.New("nothing is there")
	}
	return real, nil
}
