//go:build !launcher

package main

import "golang.org/x/sys/unix"

// maybeConfined reports whether a backend may hold this process. All of them set
// no_new_privs, which nothing takes back; so do others, and then a person approves
// from elsewhere.
func maybeConfined() bool {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err != nil || nnp != 0
}
