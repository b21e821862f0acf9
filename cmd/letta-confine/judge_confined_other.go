//go:build !linux && !launcher

package main

import "os/exec"

// maybeConfined reports whether Seatbelt may hold this process: a process that it
// holds can apply no second profile. Where there is no Seatbelt nobody can tell.
func maybeConfined() bool {
	return exec.Command("/usr/bin/sandbox-exec", "-p", "(version 1)(allow default)", "/usr/bin/true").Run() != nil
}
