package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

type proofJSON struct {
	MountNamespace string `json:"mountNamespace,omitempty"`
	NoNewPrivs     bool   `json:"noNewPrivs"`
}

// started says that confinement took effect and the command is about to run.
func (r *report) started(mountNamespace string) error {
	if r == nil {
		return nil
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return r.write(event{Event: "started", Proof: &proofJSON{mountNamespace, nnp == 1 || mountNamespace != ""}})
}

// exit says how the command ended, and which created directories stay.
func (r *report) exit(code int, stay []string) {
	if r == nil {
		return
	}
	no := false
	r.write(event{Event: "exit", Code: &code, RunnerFailed: &no, Created: stay, Denied: deniedBy(code), Enforcement: r.enforcement, about: about{Mode: r.about.Mode}})
}
