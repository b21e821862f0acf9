//go:build !launcher

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/learn"
)

const learnUsage = `usage: letta-confine learn [flags] -- command [argument ...]

Runs the command unconfined, watches it with strace, and prints the smallest
policy that would have let it do what it did: what the flags say, and roots for
the rest. Read it before you use it: letta-confine --policy FILE -- command.
Nothing is put in force. The command's standard output goes to standard error,
where there is also what no root can grant. learn ends when everything has that
the command started.

flags: those of letta-confine that make a policy; without any, the mode
workspace-write

exit status: the command's own; 125 nothing was learned
`

// learnPolicy is letta-confine learn.
func learnPolicy(args []string) (int, error) {
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
		return 0, printText(learnUsage)
	}
	o, err := parseCommand(args)
	if err != nil {
		return 0, err
	}
	in, err := collect(o)
	if err != nil {
		return 0, err
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		return 0, withHint(errors.New("learn needs strace, which is not on PATH"), "install the package strace")
	}
	in.warn("advice, for you to review: the command runs unconfined while it is watched")
	wishes, status, err := in.watch(strace)
	if err != nil {
		return 0, err
	}
	home, _ := launch.Getenv(in.env, "HOME")
	if filepath.IsAbs(home) {
		home = canonicalOr(home)
	} else {
		home = "/"
	}
	found, err := learn.Policy(in.printed, hostfs.FS{}, home, in.cwd, learn.Canonical(wishes, hostfs.FS{}))
	if err != nil {
		return 0, err
	}
	for i, w := range found.Left {
		if i == mostDenials {
			in.warn(fmt.Sprintf("and %d more", len(found.Left)-i))
			break
		}
		in.warn(fmt.Sprintf("not granted, because no root can, or only one that grants too much: %s of %q", w.Op, w.Path))
	}
	in.printed = found.Policy
	return status, in.printPolicy()
}

// watch runs the command in strace, and returns what it did and its status.
func (in *inputs) watch(strace string) (wishes []denial.Wish, status int, err error) {
	dir, err := os.MkdirTemp("", "letta-confine-learn")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	// Strace closes it before the command begins; a descriptor would be inherited.
	trace := filepath.Join(dir, "trace")
	if err := unix.Mkfifo(trace, 0o600); err != nil {
		return nil, 0, fmt.Errorf("mkfifo: %w", err)
	}
	// For writing too, so that neither side waits for one that does not come.
	reader, err := os.OpenFile(trace, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.Command(strace, append(append(append([]string{}, learn.Flags...), "-o", trace, "--"), in.opts.args...)...)
	cmd.Dir, cmd.Env = in.cwd, in.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stderr, os.Stderr
	// The terminal sends these to the command too. Ignored, they would be so for it.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGQUIT)
	if err := cmd.Start(); err != nil {
		reader.Close()
		return nil, 0, err
	}
	type answer struct {
		wishes []denial.Wish
		err    error
	}
	read := make(chan answer, 1)
	go func() {
		wishes, err := learn.Read(reader, in.cwd)
		read <- answer{wishes, err}
	}()
	ended := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](ended); ended != nil && !ok {
		return nil, 0, ended
	}
	// The last writer is this process: what it adds ends what strace wrote.
	if _, err := reader.WriteString("\n" + learn.End); err != nil {
		return nil, 0, err
	}
	a := <-read
	reader.Close()
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	status = ws.ExitStatus()
	if ws.Signaled() {
		status = launch.ExitSignal + int(ws.Signal())
	}
	if a.err == nil && len(a.wishes) == 0 {
		return nil, 0, withHint(fmt.Errorf("strace saw nothing, and ended with %d", status), "see what it said above: a container may forbid ptrace")
	}
	return a.wishes, status, a.err
}
