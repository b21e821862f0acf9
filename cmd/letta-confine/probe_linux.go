package main

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/probe"
)

func findBwrap(p *probed, o *options) (flags []string, code string, err error) {
	helper, err := bwrap.Find(o.bwrap)
	if err != nil {
		return nil, bwrapCode(err), bwrapError(err)
	}
	p.Program = helper.Path
	return []string{"--bwrap", helper.Path}, "", nil
}

func findLandlock(p *probed, _ *options) (flags []string, code string, err error) {
	p.ABI, err = landlock.ABI()
	if err != nil {
		return nil, landlockCode(err), landlockError(err)
	}
	// The temporary directory may hold anything; what it holds is no property
	// of the backend.
	return []string{"--max-siblings", "1048576"}, "", nil
}

func bwrapCode(err error) string {
	switch {
	case errors.Is(err, bwrap.ErrMissing):
		return "bwrap-missing"
	case errors.Is(err, bwrap.ErrUntrusted):
		return "bwrap-untrusted"
	}
	return "bwrap-failed"
}

// bwrapError adds what to change.
func bwrapError(err error) error {
	switch {
	case errors.Is(err, bwrap.ErrMissing):
		return withHint(err, "install the package bubblewrap: apt-get install bubblewrap, dnf install bubblewrap or apk add bubblewrap")
	case errors.Is(err, bwrap.ErrUntrusted):
		return withHint(err, "chown root it and the directories above it, and chmod go-w them")
	}
	return err
}

// whyBwrap finds out what keeps bubblewrap from working.
func whyBwrap(p probed, self string, o *options, r probe.Result) probe.Why {
	return probe.Look(self, p.Program, r.Reason, o.probeTimeout).Explain()
}

func landlockCode(err error) string {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return "landlock-enosys"
	case errors.Is(err, unix.EOPNOTSUPP):
		return "landlock-disabled-at-boot"
	case errors.Is(err, unix.EPERM):
		return "landlock-blocked-by-seccomp"
	}
	return "landlock-failed"
}
