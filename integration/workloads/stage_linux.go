package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience is how long one workload may take on a busy machine.
const patience = 2 * time.Minute

// user is whom the workloads run as.
type user struct {
	name string
	cred *syscall.Credential // nil for whoever runs this program
}

// users are whoever runs this program and, where that is root and it is asked for,
// a plain user too.
func users(plain bool) []user {
	switch {
	case os.Geteuid() != 0:
		return []user{{name: "user"}}
	case !plain:
		return []user{{name: "root"}}
	}
	return []user{{name: "root"}, {"user", &syscall.Credential{Uid: 65534, Gid: 65534}}}
}

// mkdir makes a directory, and those above it, that belongs to the user.
func (u user) mkdir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil || u.cred == nil {
		return err
	}
	return os.Chown(dir, int(u.cred.Uid), int(u.cred.Gid))
}

// stage is where the workloads run: workspaces outside the temporary directory, and
// a temporary directory for the compilers' caches, which an unconfined run fills.
type stage struct {
	launcher, work, temp string
}

func newStage(launcher string, as []user) (*stage, error) {
	s := &stage{}
	var err error
	if s.work, err = os.MkdirTemp("/var/tmp", "workloads-"); err != nil {
		return nil, err
	}
	if s.temp, err = os.MkdirTemp("/tmp", "workloads-"); err != nil {
		s.remove()
		return nil, err
	}
	for _, dir := range []string{s.work, s.temp} {
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
	}
	// A copy, because a plain user may be unable to reach the launcher.
	s.launcher = filepath.Join(s.work, "letta-confine")
	if err == nil {
		err = copyProgram(launcher, s.launcher)
	}
	for _, u := range as {
		for _, dir := range []string{filepath.Join(s.work, u.name, "home"), filepath.Join(s.temp, u.name)} {
			if err == nil {
				err = u.mkdir(dir)
			}
		}
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

func (s *stage) remove() {
	for _, dir := range []string{s.work, s.temp} {
		if dir != "" {
			os.RemoveAll(dir)
		}
	}
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = io.Copy(out, in)
	return err
}

// command runs argv and returns what it wrote. Whatever of its process group is
// left at the end is killed.
func (s *stage) command(u user, dir string, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = s.environment(u)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: u.cred}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Not a pipe: a program that goes on in the background would hold it open.
	out, err := os.CreateTemp(s.work, "output-")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if u.cred != nil { // or it could not open /dev/stderr
		err = out.Chown(int(u.cred.Uid), int(u.cred.Gid))
	}
	if err == nil {
		err = cmd.Run()
	}
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	text, _ := os.ReadFile(out.Name())
	return string(bytes.ToValidUTF8(text, nil)), err
}

// environment is that of every workload: nothing of the user's own configuration,
// and each cache where the mode lets the command write.
func (s *stage) environment(u user) []string {
	temp := filepath.Join(s.temp, u.name)
	env := []string{
		"HOME=" + filepath.Join(s.work, u.name, "home"), "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=xterm",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"npm_config_cache=" + temp + "/npm", "npm_config_update_notifier=false",
		"GOCACHE=" + temp + "/go", "GOPATH=" + temp + "/gopath", "GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "CGO_ENABLED=0",
		"CARGO_HOME=" + temp + "/cargo",
	}
	rustup, ok := os.LookupEnv("RUSTUP_HOME")
	if !ok {
		rustup = os.Getenv("HOME") + "/.rustup"
	}
	return append(env, "RUSTUP_HOME="+rustup)
}
