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

// checks hands over to the companion.
func checks(args []string) (int, error) {
	err := handOver(append([]string{"check"}, args...))
	if len(args) > 0 && args[0] == "hook" {
		fail(err)
		return hookFailed, nil
	}
	return 0, err
}

// handOver executes the companion in place of the launcher, with the same
// descriptors, and returns on failure only.
func handOver(args []string) error {
	self, err := os.Executable()
	if err == nil {
		program := filepath.Join(filepath.Dir(self), companion)
		err = fmt.Errorf("%s: %w", program, syscall.Exec(program, append([]string{companion}, args...), os.Environ()))
	}
	return withHint(err, "install "+companion+" beside letta-confine")
}

// What asks is the companion's too: a question waits for a person, or for a program
// that starts, and the hash that binds it to a command would be linked into every
// start (docs/decisions/0031).

func approve(args []string) (int, error) { return 0, handOver(append([]string{"approve"}, args...)) }
func presets(args []string) (int, error) { return 0, handOver(append([]string{"preset"}, args...)) }

func (o *options) widening(args []string) (int, error) { return 0, handOver(args) }

// hookFailed is the status that every harness takes for a refusal; it may let a
// call pass on any other.
const hookFailed = 2
