//go:build !linux && !launcher

package main

import "errors"

// learnPolicy needs strace, which only Linux has.
func learnPolicy([]string) (int, error) {
	return 0, withHint(errors.New("learn needs strace, which is not for this system"), "run it on Linux, and bring the policy here")
}
