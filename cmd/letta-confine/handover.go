//go:build launcher

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// What is the companion's: checks and what goes with them, and what asks. A question
// waits for a person, or for a program that starts, and the hash that binds it to a
// command would be linked into every start (docs/decisions/0031). The companion runs the
// command too, where it may, and speaks for the launcher.

func learnPolicy(args []string) (int, error) { return 0, handOver(companion, "learn", args) }

func manageCredentials(args []string) (int, error) {
	return 0, handOver(companion, "credentials", args)
}
func approve(args []string) (int, error)             { return 0, speak("approve", args) }
func presets(args []string) (int, error)             { return 0, speak("preset", args) }
func (*options) widening(args []string) (int, error) { return 0, speak(args[0], args[1:]) }

// checks is the companion's too. Without it check hook refuses.
func checks(args []string) (int, error) {
	err := handOver(companion, "check", args)
	if len(args) > 0 && args[0] == "hook" {
		fail(err)
		return hookFailed, nil
	}
	return 0, err
}

// speak becomes the companion under the launcher's own name.
func speak(word string, args []string) error {
	self, err := ownProgram()
	if err != nil {
		return err
	}
	return handOver(self, word, args)
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
