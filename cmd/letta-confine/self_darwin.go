package main

import (
	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
)

// lockedIn is not known here; LETTA_CONFINE is believed.
func lockedIn() bool { return true }

// Seatbelt is no matter of mounts.
func tableOfMounts() []hostfs.Mount { return nil }

// nameless says that there are no such files: access(2) has answered, which asks
// Seatbelt too.
func nameless(string) error { return unix.EOPNOTSUPP }
