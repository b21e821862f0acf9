package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// raised reports whether the kernel gave the program rights that its caller
// lacks (issetugid(2)).
func raised() bool { return unix.Issetugid() }

// couldLeave reports whether the process could lift a sandbox that it is in. A
// Seatbelt profile stays for good.
func couldLeave() bool { return false }

// getcwd asks the kernel; os.Getwd would believe $PWD. It is F_GETPATH of the
// directory itself: x/sys takes the null that getcwd(3) returns on an error for
// success.
func getcwd() (string, error) {
	cwd, err := workingDirectory()
	if err != nil {
		return "", withHint(fmt.Errorf("working directory: %w", err), "it was removed or cannot be reached; start elsewhere, or pass --chdir DIR")
	}
	return cwd, nil
}

func workingDirectory() (string, error) {
	fd, err := unix.Open(".", unix.O_EVTONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	path, err := hostfs.PathOf(fd)
	if err != nil {
		return "", err
	}
	// A directory that was removed may still be said to have its path.
	var here, there unix.Stat_t
	if err := unix.Fstat(fd, &here); err != nil {
		return "", err
	}
	if err := unix.Stat(path, &there); err != nil {
		return "", err
	}
	if here.Dev != there.Dev || here.Ino != there.Ino {
		return "", unix.ENOENT
	}
	return path, nil
}

// replaceStdin puts an open file in the place of standard input.
func replaceStdin(fd int) error { return unix.Dup2(fd, 0) }

// defaultTemp is the temporary directory of who has not set TMPDIR: /tmp leads
// there, and as root a root that goes through a link is refused.
const defaultTemp = "/private/tmp"

// oPath is nothing: macOS has no descriptor that opens nothing yet.
const oPath = 0

// aliases has nothing to add: macOS shows a directory in a second place by
// firmlinks only, and those count as links (package hostfs).
func (in *inputs) aliases() error { return nil }

func (in *inputs) addAliases(*policy.Policy, policy.Resolved) (map[string]string, error) {
	return nil, nil
}

// watched is -1: a command that is executed in place ends with nobody. A backend
// that is asked to do otherwise is refused.
func watched(*options) (int, error) { return -1, nil }

// mechanisms are what this system can confine with, the strongest first.
var mechanisms = []mechanism{seatbeltMechanism}

// native is nothing: Seatbelt is described where it can be tested everywhere.
type native struct{}

func (native) describe(string, *planJSON) {}

func (native) program() string { return sandboxExec }

// landlockABI is what a plan says of Landlock.
func landlockABI() int { return 0 }

// ownStage runs a stage that only this system has.
func ownStage(args []string) (status int, ok bool) {
	if len(args) > 0 && args[0] == seatbeltWord {
		return seatbeltStage(args[1:]), true
	}
	return 0, false
}

// undumpable has no equal here that the command would not inherit.
func undumpable() {}
