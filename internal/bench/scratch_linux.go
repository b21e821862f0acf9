package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// scratch is the tree in which everything runs.
type scratch struct {
	dir       string
	workspace string   // where the commands start
	agents    string   // what the cross-agent policy denies
	own       string   // what it carves out of that
	floor     string   // the exec-only program
	floorC    string   // the same in C
	missingC  string   // why there is none
	env       []string // of every contestant
	null      *os.File
	as        *syscall.SysProcAttr // of every contestant; nil: the calling user
}

func newScratch() (*scratch, error) {
	dir, err := os.MkdirTemp("", "letta-confine-bench-")
	if err != nil {
		return nil, err
	}
	sc := &scratch{dir: dir}
	if err := sc.fill(); err != nil {
		sc.remove()
		return nil, err
	}
	return sc, nil
}

func (sc *scratch) remove() {
	if sc.null != nil {
		sc.null.Close()
	}
	os.RemoveAll(sc.dir)
}

func (sc *scratch) fill() (err error) {
	if sc.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if sc.dir, err = filepath.EvalSymlinks(sc.dir); err != nil {
		return err
	}
	if err := sc.furnish("home"); err != nil {
		return err
	}
	sc.buildC()
	return sc.buildFloor()
}

// furnish makes a home directory with what the policies name.
func (sc *scratch) furnish(name string) error {
	home := filepath.Join(sc.dir, name)
	sc.workspace = filepath.Join(home, "workspace")
	sc.agents = filepath.Join(home, ".letta", "agents")
	sc.own = filepath.Join(sc.agents, "alice")
	for _, dir := range []string{sc.workspace, filepath.Join(sc.own, "memory"), filepath.Join(sc.agents, "bob", "memory")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	sc.env = []string{"PATH=/usr/bin:/bin", "HOME=" + home}
	return nil
}

// nobody is the number of a user and a group that own nothing.
const nobody = 65534

// install copies a program to where every user can reach it.
func (sc *scratch) install(program, name string) (string, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	installed := filepath.Join(sc.dir, name)
	return installed, os.WriteFile(installed, text, 0o755)
}

// lend returns the same place as another user has it, whose own home it has.
func (sc *scratch) lend() (*scratch, error) {
	user := *sc
	user.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if err := os.Chmod(sc.dir, 0o755); err != nil {
		return nil, err
	}
	if err := user.furnish("user"); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(filepath.Join(sc.dir, "user"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	return &user, err
}

// floorSourceC is the least that any launcher can do, but for its language.
const floorSourceC = `#include <unistd.h>
int main(int argc, char **argv) {
	if (argc > 1)
		execv(argv[1], argv + 1);
	return 125;
}
`

func (sc *scratch) buildC() {
	cc, err := exec.LookPath("cc")
	if err != nil {
		sc.missingC = "there is no C compiler"
		return
	}
	source := filepath.Join(sc.dir, "execonly.c")
	linked := filepath.Join(sc.dir, "linked-c")
	if err := os.WriteFile(source, []byte(floorSourceC), 0o644); err != nil {
		sc.missingC = err.Error()
	} else if err := exec.Command(cc, "-O2", "-static", "-o", linked, source).Run(); err != nil {
		sc.missingC = "the C compiler cannot link statically"
	} else if sc.floorC, err = sc.install(linked, "execonly-c"); err != nil {
		sc.missingC = err.Error()
	}
}

// floorSource is the least that a launcher written in Go can do.
const floorSource = `package main

import (
	"os"
	"syscall"
)

func main() {
	err := syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
	os.Stderr.WriteString(err.Error() + "\n")
	os.Exit(125)
}
`

func (sc *scratch) buildFloor() (err error) {
	source, linked := filepath.Join(sc.dir, "execonly.go"), filepath.Join(sc.dir, "linked-go")
	if err := os.WriteFile(source, []byte(floorSource), 0o644); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", linked, source)
	cmd.Dir = sc.dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the exec-only program: %w: %s", err, out)
	}
	sc.floor, err = sc.install(linked, "execonly")
	return err
}

// program returns the path of a program that is in PATH or where go install
// puts it.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	out, err := exec.Command("go", "env", "GOBIN", "GOPATH").Output()
	if err != nil {
		return "", exec.ErrNotFound
	}
	gobin, gopath, _ := strings.Cut(strings.TrimRight(string(out), "\n"), "\n")
	if gobin == "" {
		first, _, _ := strings.Cut(gopath, string(filepath.ListSeparator))
		gobin = filepath.Join(first, "bin")
	}
	path, err := exec.LookPath(filepath.Join(gobin, name))
	if err != nil {
		return "", errors.New(name + " is not installed")
	}
	return path, nil
}
