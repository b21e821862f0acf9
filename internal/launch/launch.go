// Package launch is what starting a command takes on any backend: finding the
// program, choosing what it inherits, executing it, and, where the backend needs
// a process that stays, supervising it.
//
// # Limits
//
// A Go program cannot learn whether it inherited an ignored SIGPIPE, SIGTERM,
// SIGQUIT, SIGCHLD or SIGUSR1: the runtime installs handlers for them before
// main. The command gets the default for these; SIGINT and SIGHUP are kept.
package launch

import (
	"slices"
	"strings"
)

// Exit statuses of the process contract.
const (
	ExitFailure  = 125 // the launcher or the backend failed; the command never ran
	ExitCannot   = 126 // the command was found and cannot run
	ExitNotFound = 127 // the command was not found
	ExitSignal   = 128 // plus the number of the signal that ended the command
)

// ExecError says that the command could not be executed.
type ExecError struct {
	Status int    // ExitCannot or ExitNotFound
	Text   string // one line for the user
}

func (e *ExecError) Error() string { return e.Text }

// Getenv returns the last value of name in env, as the C library's getenv would
// for an environment without repetitions.
func Getenv(env []string, name string) (string, bool) {
	for _, entry := range env {
		if len(entry) > len(name) && entry[len(name)] == '=' && strings.HasPrefix(entry, name) {
			return entry[len(name)+1:], true
		}
	}
	return "", false
}

// Setenv returns env with name set to value and every other entry of that name
// removed. It does not change env.
func Setenv(env []string, name, value string) []string {
	return append(Unsetenv(env, name), name+"="+value)
}

// Unsetenv returns env without name. It does not change env.
func Unsetenv(env []string, name string) []string {
	kept := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, name+"=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// Alter returns env with each entry NAME=VALUE of changes set, and each NAME unset.
func Alter(env, changes []string) []string {
	for _, entry := range changes {
		if name, value, ok := strings.Cut(entry, "="); ok {
			env = Setenv(env, name, value)
		} else {
			env = Unsetenv(env, name)
		}
	}
	return env
}

// Changes returns what Alter needs to make to of from: what is set otherwise or anew
// in the order of to, and then what is unset. The last of two entries counts.
func Changes(from, to []string) (changes []string) {
	for _, entry := range to {
		name, value, _ := strings.Cut(entry, "=")
		if old, ok := Getenv(from, name); !ok || old != value {
			changes = append(changes, entry)
		}
	}
	for _, entry := range from {
		name, _, ok := strings.Cut(entry, "=")
		if _, stays := Getenv(to, name); ok && name != "" && !stays && !slices.Contains(changes, name) {
			changes = append(changes, name)
		}
	}
	return changes
}
