package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// backend is one mechanism, ready to confine one policy, or the reason why not.
type backend struct {
	name string
	err  error // why it cannot be used; the fields below are empty then

	enforcement policy.Enforcement
	skipped     []policy.Root
	warnings    []string

	helper  bwrap.Helper
	plan    bwrap.Plan
	ruleset landlock.Ruleset // Landlock's own, or the layer inside bubblewrap
}

// backends returns the mechanisms that the caller would accept for this policy,
// in the order in which they are tried. No program is run to find out: what a
// mechanism is worth here shows when it is used, and a failure comes before the
// command.
func (in *inputs) backends() []backend {
	var list []backend
	for _, name := range in.order() {
		var b backend
		switch name {
		case "bwrap":
			b = in.bubblewrap()
		case "landlock":
			b = in.landlock()
		}
		b.name = name
		if b.err == nil {
			b.err = in.accept(b)
		}
		list = append(list, b)
	}
	if in.opts.backend == "auto" && in.opts.prefer == "fast" && !slices.ContainsFunc(list, landlockSuffices) {
		slices.Reverse(list)
	}
	return list
}

func (in *inputs) order() []string {
	switch {
	case in.opts.backend != "auto":
		return []string{in.opts.backend}
	case in.opts.prefer == "fast":
		return []string{"landlock", "bwrap"}
	}
	return []string{"bwrap", "landlock"}
}

// landlockSuffices reports whether b is Landlock and refuses nothing that the
// policy allows.
func landlockSuffices(b backend) bool {
	return b.name == "landlock" && b.err == nil && len(b.enforcement.OverDenials) == 0
}

// accept applies --require, and keeps auto from a Landlock that would get in
// the command's way.
func (in *inputs) accept(b backend) error {
	if unmet := policy.Require(in.opts.require).Unmet(b.enforcement); len(unmet) > 0 {
		return fmt.Errorf("leaves %s open, and --require %s does not accept that", names(unmet), in.opts.require)
	}
	if b.name != "landlock" || in.opts.backend != "auto" || in.opts.allowOverDenial {
		return nil
	}
	for _, over := range b.enforcement.OverDenials {
		if in.matters(over.Path) {
			return withHint(fmt.Errorf("would also refuse: %v", over),
				"pass --backend landlock or --allow-over-denial to accept that, or install bubblewrap")
		}
	}
	return nil
}

// matters reports whether the command is likely to work at or below path: it is
// in the home directory, the working directory or a writable root.
func (in *inputs) matters(path string) bool {
	if path == "" {
		return false
	}
	home, _ := launch.Getenv(in.env, "HOME")
	if policy.Holds(in.cwd, path) || (home != "" && policy.Holds(canonicalOr(home), path)) {
		return true
	}
	return slices.ContainsFunc(in.resolved.Roots(), func(r policy.Root) bool {
		return r.Access() == policy.ReadWrite && policy.Holds(r.Path, path)
	})
}

func names(gaps []policy.Gap) string {
	var words []string
	for _, g := range gaps {
		words = append(words, string(g))
	}
	return strings.Join(words, ", ")
}

func (in *inputs) bubblewrap() backend {
	fail := func(err error) backend { return backend{err: err} }
	helper, err := bwrap.Find(in.opts.bwrap)
	if errors.Is(err, bwrap.ErrMissing) {
		err = withHint(err, "install the package bubblewrap")
	}
	if err != nil {
		return fail(err)
	}
	if err := in.checkHelper(helper.Path); err != nil {
		return fail(err)
	}
	held, err := harden.Permitted()
	if err != nil {
		return fail(err)
	}
	abi, err := landlock.ABI()
	if err != nil {
		abi = 0 // bwrap.New then does with a pid namespace what the layer would do
	}
	host := bwrap.Host{Privileged: held != 0, Layered: abi > 0, Isolate: in.opts.isolate, Protect: in.protect(helper)}
	if host.Privileged {
		// CAP_SETPCAP goes to the inner stage, which drops it.
		for _, c := range harden.Within(append(slices.Clone(harden.Kept), harden.SetPCap), held) {
			host.Keep = append(host.Keep, c.Name)
		}
	}
	for _, file := range bwrap.ControlFiles {
		if unix.Access(file, unix.F_OK) == nil {
			host.ControlFiles = append(host.ControlFiles, file)
		}
	}
	plan, err := bwrap.New(in.resolved, host)
	if err != nil {
		return fail(err)
	}
	if len(plan.Create) > 0 && in.opts.missingDenied == "refuse" {
		return fail(withHint(fmt.Errorf("%s %q is not there", plan.Create[0].List, plan.Create[0].Given),
			"create it first, or pass --missing-denied create"))
	}
	b := backend{enforcement: plan.Enforcement, skipped: plan.Skipped, helper: helper, plan: plan}
	if abi > 0 {
		b.ruleset = landlock.Inside(in.resolved, abi, in.opts.isolate)
	}
	return b
}

// protect lists the files that decide what the next run may do.
func (in *inputs) protect(helper bwrap.Helper) []bwrap.Protected {
	list := []bwrap.Protected{{Path: helper.Path, ID: helper.ID}}
	if self, err := os.Executable(); err == nil {
		if info, err := (hostfs.FS{}).Lstat(self); err == nil && info.Kind == policy.File {
			list = append(list, bwrap.Protected{Path: self, ID: info.ID})
		}
	}
	for _, f := range in.files {
		list = append(list, bwrap.Protected{Path: f.path, ID: f.id})
	}
	return list
}

func (in *inputs) landlock() backend {
	for _, f := range []struct {
		name  string
		asked bool
	}{
		{"--isolate-processes", in.opts.isolate},
		{"--die-with-parent", in.opts.dieWithParent},
		{"--new-session", in.opts.newSession},
	} {
		if f.asked {
			return backend{err: withHint(fmt.Errorf("it cannot keep %s, because nothing of the launcher stays beside the command", f.name), "use bubblewrap")}
		}
	}
	abi, err := landlock.ABI()
	if err != nil {
		return backend{err: landlockError(err)}
	}
	held, err := harden.Permitted()
	if err != nil {
		return backend{err: err}
	}
	rs, err := landlock.New(in.resolved, landlock.Host{
		ABI: abi, List: landlock.List, Privileged: held != 0, MaxSiblings: in.opts.maxSiblings,
	})
	if errors.Is(err, landlock.ErrSiblings) {
		err = withHint(err, "raise --max-siblings, or use bubblewrap")
	}
	if err != nil {
		return backend{err: err}
	}
	b := backend{enforcement: rs.Enforcement, skipped: rs.Skipped, ruleset: rs}
	for _, f := range in.files {
		if in.resolved.Decide(f.path).Access == policy.ReadWrite {
			b.warnings = append(b.warnings, fmt.Sprintf("%s %q can be changed by the command, and Landlock alone cannot prevent it", f.flag, f.given))
		}
	}
	return b
}

// landlockError explains why the kernel would not say which Landlock it has.
func landlockError(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return withHint(landlock.ErrABI, "Linux 5.13 and later can have it")
	case errors.Is(err, unix.EOPNOTSUPP):
		return withHint(errors.New("Landlock was not enabled at boot"), "add landlock to the kernel's lsm= argument")
	case errors.Is(err, unix.EPERM):
		return withHint(errors.New("a seccomp filter forbids Landlock"), "let the container's seccomp profile allow the landlock_* system calls")
	}
	return err
}
