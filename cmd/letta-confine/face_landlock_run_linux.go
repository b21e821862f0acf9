package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/dsh"
	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
)

// landlockRun is the program when it is called as landlock-run: DSH's Landlock
// launcher, in its words (docs/dsh.md). The command takes this process's place with
// its descriptors, environment and limits as they are, in a domain of just what was
// granted, and with what every confined command lacks taken away.
//
// No variable is read, and it has no other messages than these: DSH tells from them
// whether the command ran.
func landlockRun(args []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			status = landlockRunFailed(fmt.Sprintf("internal error: %v", p))
		}
	}()
	run, err := dsh.ParseLandlockRun(args)
	if err != nil {
		return landlockRunFailed(err.Error())
	}
	if err := refuseSetID(); err != nil {
		return landlockRunFailed(err.Error())
	}
	if run.Probe {
		run.Grants = []dsh.Grant{{Path: "/"}}
	}
	abi, err := landlock.ABI()
	if err != nil {
		return landlockRunFailed("landlock is not enforced by this kernel (ABI unsupported or disabled)")
	}
	if err := restrictUnion(abi, run.Grants); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			return landlockRunFailed("cannot open rule path: " + at.Path + ": " + dsh.Strerror(at.Err))
		}
		if errors.Is(err, landlock.ErrLayers) {
			err = unix.E2BIG // whose words are those of the program
		}
		return landlockRunFailed("landlock ruleset error: " + dsh.Strerror(err))
	}
	partial := abi < landlock.UnionABI
	switch {
	case run.Probe && partial:
		fmt.Println("landlock: partially enforced (older ABI)")
		return 0
	case run.Probe:
		fmt.Println("landlock: fully enforced")
		return 0
	case partial:
		os.Stderr.WriteString(dsh.Prefix + "partial enforcement (older Landlock ABI)\n")
	}
	return landlockRunFailed("exec failed: " + dsh.Strerror(execvp(run.Argv, os.Environ())))
}

func landlockRunFailed(text string) int {
	os.Stderr.WriteString(dsh.Prefix + text + "\n")
	return launch.ExitFailure
}

func restrictUnion(abi int, grants []dsh.Grant) error {
	var union landlock.Union
	for _, g := range grants {
		if g.Write {
			union.Writable = append(union.Writable, g.Path)
		} else {
			union.ReadOnly = append(union.ReadOnly, g.Path)
		}
	}
	if err := union.Restrict(abi); err != nil {
		return err
	}
	return harden.Apply(harden.Options{})
}

// execvp is execvp(3) of the C library that landlock-run has: a program that the
// domain refuses is passed over for a later one of that name, which a look at the
// files beforehand would not know. It returns only if none can be executed.
func execvp(argv, env []string) error {
	name := argv[0]
	if strings.Contains(name, "/") || name == "" {
		return syscall.Exec(name, argv, env)
	}
	path, ok := launch.Getenv(env, "PATH")
	if !ok {
		path = "/usr/local/bin:/bin:/usr/bin"
	}
	result := error(unix.ENOENT)
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		switch err := syscall.Exec(dir+"/"+name, argv, env); err {
		case unix.EACCES:
			result = err
		case unix.ENOENT, unix.ENOTDIR:
		default:
			return err
		}
	}
	return result
}
