//go:build launcher

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// manageCredentials is the companion's.
func manageCredentials(args []string) (int, error) {
	return 0, handOver(companion, "credentials", args)
}

// learnPolicy is the companion's.
func learnPolicy(args []string) (int, error) {
	return 0, handOver(companion, "learn", args)
}

// checks hands over to the companion.
func checks(args []string) (int, error) {
	err := handOver(companion, "check", args)
	if len(args) > 0 && args[0] == "hook" {
		fail(err)
		return hookFailed, nil
	}
	return 0, err
}

// handOver becomes the companion. It returns on failure only.
func handOver(name, word string, args []string) error {
	self, err := os.Executable()
	if err == nil {
		program := filepath.Join(filepath.Dir(self), companion)
		err = fmt.Errorf("%s: %w", program, syscall.Exec(program, append([]string{name, word}, args...), os.Environ()))
	}
	return withHint(err, "install "+companion+" beside letta-confine")
}

// hookFailed is the status that every harness takes for a refusal; it may let a
// call pass on any other.
const hookFailed = 2
