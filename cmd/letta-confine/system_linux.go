package main

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
)

// raised reports whether the kernel gave the program rights that its caller
// lacks.
func raised() bool {
	auxv, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, entry := range auxv {
		if entry[0] == atSecure && entry[1] != 0 {
			return true
		}
	}
	return false
}

// couldLeave reports whether the process could lift a sandbox that it is in: it has
// capabilities that no confined command keeps (CAP_SYS_ADMIN takes a mask away), or
// could gain them from a set-user-id program.
func couldLeave() bool {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 {
		return true
	}
	held, err := harden.Permitted()
	return err != nil || held&^harden.Mask(harden.Kept) != 0
}

// atSecure is AT_SECURE of getauxval(3): the kernel gave the program rights that
// its caller lacks.
const atSecure = 23

// getcwd asks the kernel; os.Getwd would believe $PWD.
func getcwd() (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil {
		return "", withHint(fmt.Errorf("working directory: %w", err), "it was removed or cannot be reached; start elsewhere, or pass --chdir DIR")
	}
	cwd := string(buf[:n-1])
	if !strings.HasPrefix(cwd, "/") { // "(unreachable)/...", getcwd(3)
		return "", withHint(errors.New("working directory cannot be reached from the root directory"), "start elsewhere, or pass --chdir DIR")
	}
	return cwd, nil
}

// replaceStdin puts an open file in the place of standard input.
func replaceStdin(fd int) error { return unix.Dup3(fd, 0, 0) }

// oPath marks a descriptor that opens nothing yet (open(2)).
const oPath = unix.O_PATH

// defaultTemp is the temporary directory of who has not set TMPDIR.
const defaultTemp = "/tmp"

// undumpable keeps the memory of this process, which holds credentials from now on,
// out of core files and from other processes of the user. Executing a program ends
// that. A failure would change nothing that the kernel's limits do not.
func undumpable() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
