//go:build !linux

package confine

import (
	"errors"
	"os/exec"
)

// Start starts a command confined. It fails with errors.ErrUnsupported but on Linux.
func (s Sandbox) Start(*exec.Cmd) (Report, error) { return Report{}, errors.ErrUnsupported }

// CloseOnExec fails with errors.ErrUnsupported but on Linux.
func CloseOnExec() error { return errors.ErrUnsupported }

// StartBubblewrap fails with errors.ErrUnsupported but on Linux.
func (s Sandbox) StartBubblewrap(*exec.Cmd) (Report, error) { return Report{}, errors.ErrUnsupported }
