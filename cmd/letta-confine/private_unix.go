//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// privately denies the directories in whose place the command gets an empty one of
// its own. That is bubblewrap's way, and the meaning of the flag; a backend that
// cannot mount has the policy of shared instead.
func (in *inputs) privately(p *policy.Policy) error {
	o, private := in.opts, in.opts.private
	if o.tmp == "private" {
		if o.tmpdir != "" || o.noTmpdir {
			return usageError("--tmp private excludes --tmpdir and --no-tmpdir")
		}
		private = append(slices.Clip(private), defaultTemp)
	}
	if len(private) == 0 {
		return nil
	}
	for _, given := range private {
		path, err := policy.Canonical(given, hostfs.FS{})
		if err != nil {
			return fmt.Errorf("private %q: %w", given, bare(err))
		}
		if info, err := (hostfs.FS{}).Lstat(path); err != nil || info.Kind != policy.Dir {
			return withHint(fmt.Errorf("private %q: it is not a directory", given), "make it first")
		}
		for _, list := range policy.Lists() {
			for _, root := range p.Roots(list) {
				if canonicalOr(root) == path {
					return withHint(fmt.Errorf("private %q: it is a root of the policy too", given), "leave out one of the two")
				}
			}
		}
		if err := p.Add(policy.Denied, path); err != nil {
			return err
		}
		in.private = append(in.private, path)
	}
	dir, err := in.tempDirAnywhere()
	if given := in.getenv("TMPDIR"); err == nil && given != "" {
		err = in.unplanted("TMPDIR", given, dir)
	}
	if err != nil {
		return err
	}
	// The name need not be a secret: whoever has it already ends the run.
	in.folder = fmt.Sprintf("%s/letta-confine-%d-%s", strings.TrimSuffix(canonicalOr(dir), "/"), os.Getpid(), strconv.FormatInt(time.Now().UnixNano(), 36))
	return nil
}

// shared is the policy for a backend that cannot mount: what was to be private is
// the host's, and beside it there is a folder that no other run knows.
func (in *inputs) shared() (policy.Resolved, error) {
	if len(in.private) == 0 {
		return in.resolved, nil
	}
	p := in.policy
	p.Denied = slices.DeleteFunc(slices.Clone(p.Denied), func(path string) bool {
		return slices.Contains(in.private, path) || slices.Contains(in.private, in.aliasOf[path])
	})
	p.Writable = append(slices.Clone(p.Writable), in.folder)
	r, err := in.resolveOf(p)
	if err != nil {
		return r, err
	}
	// What is denied below a private directory was hidden with it so far, and its
	// other places went with those of the directory.
	p.Denied, p.ReadOnly = slices.Clip(p.Denied), slices.Clip(p.ReadOnly)
	more, err := in.addAliases(&p, r)
	if err != nil || len(more) == 0 {
		return r, err
	}
	return in.resolveOf(p)
}

// open adds to what such a backend leaves open.
func (in *inputs) open(e policy.Enforcement) policy.Enforcement {
	if len(in.private) > 0 {
		e.Gaps = append(e.Gaps, policy.GapTmp)
	}
	if in.opts.isolate {
		e.Gaps = append(e.Gaps, policy.GapProcesses)
	}
	if in.opts.dieWithParent && !in.opts.supervise {
		e.Limits = append(e.Limits, "die-with-parent")
	}
	return e
}

// makeFolder makes the folder of such a backend, and returns it for the report:
// the launcher ends where the command starts, and nobody is left to remove it.
func (in *inputs) makeFolder() (made []string, err error) {
	if len(in.private) == 0 {
		return nil, nil
	}
	made, err = hostfs.Mkdir(in.folder, 0o700)
	if err == nil && !slices.Contains(made, in.folder) {
		err = unix.EEXIST
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("private folder: %w", err), "set TMPDIR to a directory that you can write")
	}
	return made, nil
}

// temp points the command to the directory for temporary files that is its own.
func (in *inputs) temp(env []string, backend string) []string {
	switch {
	case len(in.private) == 0:
		return env
	case backend != "bwrap":
		return setTemp(env, in.folder)
	case slices.Contains(in.private, canonicalOr(defaultTemp)):
		return setTemp(env, defaultTemp)
	}
	return env
}

func setTemp(env []string, dir string) []string {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		env = launch.Setenv(env, name, dir)
	}
	return launch.Setenv(env, "TMPPREFIX", dir+"/zsh")
}

// hides reports whether a path is hidden only because the command has a directory
// of its own in its place.
func (in *inputs) hides(d policy.Decision) bool {
	return d.Access == policy.None && slices.Contains(in.private, d.Root.Path)
}

// errPrivate is why a file of a directory that is private is none of the command's.
var errPrivate = errors.New("the command has an empty directory of its own there")
