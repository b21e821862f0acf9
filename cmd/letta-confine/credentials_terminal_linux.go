//go:build !launcher

package main

import "golang.org/x/sys/unix"

// getTerminal and setTerminal are the requests for a terminal's attributes.
const (
	getTerminal = unix.TCGETS
	setTerminal = unix.TCSETS
)
