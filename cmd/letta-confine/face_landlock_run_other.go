//go:build !linux

package main

import (
	"os"

	"github.com/letta-confine/letta-confine/internal/dsh"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// landlockRun answers as it does on a Linux without Landlock.
func landlockRun(args []string) int {
	text := "landlock is not enforced by this kernel (ABI unsupported or disabled)"
	if _, err := dsh.ParseLandlockRun(args); err != nil {
		text = err.Error()
	}
	os.Stderr.WriteString(dsh.Prefix + text + "\n")
	return launch.ExitFailure
}
