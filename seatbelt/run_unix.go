//go:build linux || darwin

package seatbelt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Only macOS has a sandbox-exec. On Linux this is here for the tests, which start
// a program of their own in its place: that is what program is for. A launcher
// passes [Path].

// tryLimit is how long a rehearsal may take. No measurement stands behind it but
// that of a profile as large as Profile makes them being applied in milliseconds.
const tryLimit = 10 * time.Second

// Exec replaces this process with sandbox-exec, which applies the plan and starts
// argv with env. It returns only when that failed: with ErrAbsent where this
// system has no sandbox-exec. syscall.Exec is used because a bare execve would leak
// the raised limit on open files.
func Exec(program string, p Plan, argv, env []string) error {
	return startError(program, syscall.Exec(program, p.Argv(argv), env))
}

// Try starts argv as Exec would, in a child, and waits for it. It fails with a
// [*StatusError] where sandbox-exec ended without having started argv, which must
// be a program that itself ends with neither 65 nor 71, and with ErrAbsent. Any
// other failure is argv's: the error is then the first line of what it wrote on
// its standard output.
//
// The child's standard input is empty and its output goes nowhere.
func Try(program string, p Plan, argv, env []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryLimit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	args := p.Argv(argv)
	cmd := exec.CommandContext(ctx, program, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = env, &stdout, &stderr, time.Second
	err := cmd.Run()
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("sandbox-exec: nothing happened for %v", tryLimit)
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return startError(program, err)
	}
	if failed, ok := errors.AsType[*StatusError](Status(ended.ExitCode(), false)); ok {
		failed.Said = strings.TrimPrefix(firstLine(stderr.String()), "sandbox-exec: ")
		return failed
	}
	if said := firstLine(stdout.String()); said != "" {
		return errors.New(said)
	}
	return fmt.Errorf("the stage inside ended with %v: %s", ended, firstLine(stderr.String()))
}

func startError(program string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %q is not there", ErrAbsent, program)
	}
	return fmt.Errorf("starting %q: %w", program, err)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
