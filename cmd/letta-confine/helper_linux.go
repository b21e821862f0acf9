package main

import (
	"errors"
	"fmt"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// helperPaths are what a dynamic bubblewrap is made of besides its program.
var helperPaths = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.preload", "/etc/ld.so.cache"}

// errHelper says that the command could replace what the launcher starts.
var errHelper = errors.New("can be changed by the command")

// checkHelper refuses a bubblewrap that the policy lists as writable.
func (in *inputs) checkHelper(bwrapPath string) error {
	canonical := policy.Canonicals(hostfs.FS{})
	for _, path := range append([]string{bwrapPath}, helperPaths...) {
		real, err := canonical(path)
		if err != nil {
			real = path
		}
		if root := in.listedWritable(real); root != nil {
			return fmt.Errorf("%q %w, being inside %s", path, errHelper, in.called(*root))
		}
	}
	return nil
}
