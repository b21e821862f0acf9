package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// binaries is where the launcher and the helper lie while a test process runs:
// outside the temporary directory, which some policies make writable, and
// readable for every user, which the go tool's own work directory is not.
var binaries struct {
	sync.Mutex
	dir string
}

// Launcher builds the launcher, once in a test process, and returns its path.
var launcher = sync.OnceValues(func() (string, error) {
	dir, err := binDir()
	if err != nil {
		return "", err
	}
	return build(filepath.Join(dir, "letta-confine"), "-tags", "launcher")
})

// companion builds the program that belongs beside the launcher.
var companion = sync.OnceValues(func() (string, error) {
	dir, err := binDir()
	if err != nil {
		return "", err
	}
	return build(filepath.Join(dir, "letta-confine-check"))
})

func build(file string, flags ...string) (string, error) {
	args := append([]string{"build", "-trimpath", "-o", file}, flags...)
	build := exec.Command("go", append(args, "github.com/letta-confine/letta-confine/cmd/letta-confine")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
}

// helper copies the running test binary to where every user can execute it.
var helper = sync.OnceValues(func() (string, error) {
	dir, err := binDir()
	if err != nil {
		return "", err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "helper")
	syscall.ForkLock.RLock() // see WriteFile
	defer syscall.ForkLock.RUnlock()
	return file, os.WriteFile(file, self, 0o755)
})

// Launcher returns the path of the launcher, built from this source without cgo.
func Launcher(t testing.TB) string { return must(t, launcher) }

// Companion builds what the launcher hands some of its subcommands to, beside it.
func Companion(t testing.TB) { must(t, companion) }

// Helper returns the path of a copy of this test binary that every user can
// execute. What it does when executed is up to the TestMain of the package.
func Helper(t testing.TB) string { return must(t, helper) }

func must(t testing.TB, f func() (string, error)) string {
	t.Helper()
	s, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func binDir() (string, error) {
	binaries.Lock()
	defer binaries.Unlock()
	if binaries.dir != "" {
		return binaries.dir, nil
	}
	parent := "/var/tmp"
	if _, err := os.Stat(parent); err != nil {
		parent = "" // os.MkdirTemp then takes the temporary directory
	}
	dir, err := os.MkdirTemp(parent, "letta-confine-bin")
	if err != nil {
		return "", err
	}
	binaries.dir = dir
	return dir, os.Chmod(dir, 0o755)
}

// Main runs the tests of a package and removes what they built.
func Main(m *testing.M) int {
	defer func() {
		binaries.Lock()
		defer binaries.Unlock()
		if binaries.dir != "" {
			os.RemoveAll(binaries.dir)
		}
	}()
	ownSignals()
	return m.Run()
}

// ownSignals makes what the tests start begin with the default for the signals
// that nohup and a shell's background jobs ignore, wherever the tests themselves
// were started from.
func ownSignals() {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	go func() {
		os.Exit(128 + int((<-taken).(syscall.Signal)))
	}()
}
