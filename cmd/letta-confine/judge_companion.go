//go:build launcher

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// companion is the program that has the checks, beside this one, which is built
// without them: the parsers and patterns that they need would be mapped, and their
// inits run, before every command (docs/decisions/0018).
const companion = "letta-confine-check"

// handOver executes the companion with a subcommand, and returns on failure only.
func handOver(subcommand string, args []string) error {
	self, err := os.Executable()
	if err == nil {
		program := filepath.Join(filepath.Dir(self), companion)
		err = fmt.Errorf("%s: %w", program, syscall.Exec(program, append([]string{companion, subcommand}, args...), os.Environ()))
	}
	return withHint(err, "install "+companion+" beside letta-confine")
}

// manageCredentials is the companion's.
func manageCredentials(args []string) (int, error) { return 0, handOver("credentials", args) }

// checks are the companion's.
func checks(args []string) (int, error) {
	err := handOver("check", args)
	if len(args) > 0 && args[0] == "hook" {
		fail(err)
		return hookFailed, nil
	}
	return 0, err
}

// hookFailed is the status that every harness takes for a refusal; it may let a
// call pass on any other.
const hookFailed = 2
