//go:build !unix

package probe

import "os/exec"

// OwnGroup does nothing: there are no process groups here.
func OwnGroup(*exec.Cmd) {}
