//go:build linux

package main

import (
	"bytes"
	goflag "flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var mangleSeed = goflag.Uint64("mangle-seed", 0, "seed of TestMangled; 0 takes the time")

const (
	mangledRuns = 200
	ownStatus   = 42 // of the command that the mangled lines run
)

// Whatever the command line and the policy are, the launcher either runs the
// command or says in one line why not.
func TestMangled(t *testing.T) {
	seed := *mangleSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-mangle-seed=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	bin := launcher(t)
	// A mangled path can name a directory anywhere, which the launcher would
	// make if it may: as root the lines run as a user who may not.
	root, user := scratch(t), unprivileged()
	for _, dir := range []string{"", "w", "w/a", "w/a/b", "w/c", "home", "tmp"} {
		dir = filepath.Join(root, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if user != nil {
			if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for link, target := range map[string]string{"w/link": "a", "w/loop": "loop", "w/dangling": "gone"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	m := mangler{rng: rng, root: filepath.Join(root, "w")}
	ran := 0
	for range mangledRuns {
		args := m.line()
		run := exec.Command(bin, args...)
		run.Dir = m.root
		run.SysProcAttr = &syscall.SysProcAttr{Credential: user}
		run.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(root, "home"), "TMPDIR=" + filepath.Join(root, "tmp")}
		run.Stdin = bytes.NewReader(m.policy())
		var stderr bytes.Buffer
		run.Stderr = &stderr
		status, err := exitStatusOf(run.Run())
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if status == ownStatus {
			ran++
		}
		if problem := judge(status, args, stderr.String()); problem != "" {
			t.Errorf("%s: status %d\nargs: %q\nstdin: %q\nstderr: %s", problem, status, args, m.last, &stderr)
		}
	}
	// Lines that all fail early would test nothing.
	t.Logf("%d of %d ran the command", ran, mangledRuns)
	if ran == 0 {
		t.Error("no line ran the command")
	}
}

// scratch returns a new directory that every user can enter.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "letta-confine-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unprivileged returns another user to run as, or nil where the test is not
// root's.
func unprivileged() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: 65534, Gid: 65534}
}

// judge says what is wrong with an outcome, or "".
func judge(status int, args []string, stderr string) string {
	for _, word := range []string{"panic", "goroutine ", "runtime error", "internal error", "SIGSEGV"} {
		if strings.Contains(stderr, word) {
			return "the launcher broke down"
		}
	}
	switch errors := strings.Count("\n"+stderr, "\nletta-confine: error: "); status {
	case ownStatus, 0: // 0 is that of plan, explain and help
		if errors != 0 {
			return "an error beside success"
		}
	case 125, 126, 127:
		if errors != 1 {
			return fmt.Sprintf("%d error lines, want one", errors)
		}
	default:
		if status == 1 && slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--exec") }) {
			break // what stands for bubblewrap failed, and nobody is left to say so
		}
		return "a status that neither the launcher nor the command has"
	}
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "letta-confine: ") || !strings.HasSuffix(line, "\n") {
			return "a line that the launcher did not mean to write"
		}
	}
	return ""
}

// mangler makes command lines that are almost right.
type mangler struct {
	rng  *rand.Rand
	root string
	last []byte
}

func (m *mangler) pick(words ...string) string { return words[m.rng.IntN(len(words))] }

// path returns a path below m.root, most often, which may be mangled.
func (m *mangler) path() string {
	p := rootMark + "/" + m.pick("a", "a/b", "c", "link", "link/b", "gone", "gone/x", "dangling", "file", "", "a/../c", "a//b/.", "a/b/\xff", "a/é\n")
	switch m.rng.IntN(12) {
	case 0:
		return m.pick("/", "/proc", "/dev", "/sys", "/proc/self", "/dev/null", "/usr", "//", "/.", "/..", m.root+"/loop", "/etc/passwd/x")
	case 1:
		p = m.mangle(p)
	case 2:
		// Not deep: bubblewrap needs seconds for some hundred levels.
		p += strings.Repeat("/"+strings.Repeat("x", 1+m.rng.IntN(260)), m.rng.IntN(20))
	}
	return strings.ReplaceAll(p, rootMark, m.root)
}

// rootMark stands for mangler.root until a text is mangled, so that what comes
// out is below it, or below "/", where the launcher can make nothing.
const rootMark = "@"

// mangle changes a few bytes. No argument can hold a NUL.
func (m *mangler) mangle(s string) string {
	b := []byte(s)
	for range 1 + m.rng.IntN(3) {
		at := m.rng.IntN(len(b) + 1)
		switch m.rng.IntN(3) {
		case 0:
			b = append(b[:at:at], append([]byte{byte(1 + m.rng.IntN(255))}, b[at:]...)...)
		case 1:
			if at < len(b) {
				b[at] = byte(1 + m.rng.IntN(255))
			}
		case 2:
			b = b[:at]
		}
	}
	return string(b)
}

// policy returns the text of a policy, which is mangled half of the time.
func (m *mangler) policy() []byte {
	list := func() string {
		var paths []string
		for range m.rng.IntN(3) {
			paths = append(paths, fmt.Sprintf("%q", strings.Replace(m.path(), m.root, rootMark, 1)))
		}
		return "[" + strings.Join(paths, ",") + "]"
	}
	text := fmt.Sprintf(`{"version":1,"deniedRoots":%s,"readonlyRoots":%s,"writableRoots":%s,"restrictWrites":%s}`,
		list(), list(), list(), m.pick("true", "false"))
	if m.rng.IntN(2) == 0 {
		text = m.mangle(text)
	}
	m.last = []byte(strings.ReplaceAll(text, rootMark, m.root))
	return m.last
}

// line returns a command line whose command exits with ownStatus.
func (m *mangler) line() []string {
	var args []string
	if m.rng.IntN(6) == 0 {
		args = append(args, m.pick("plan", "explain", "--json", "help"))
	}
	for range m.rng.IntN(6) {
		f := flags[m.rng.IntN(len(flags))]
		value := m.path()
		switch f.name {
		case "policy":
			value = m.pick("-", "-", m.root+"/gone", "fd:0", "fd:77", "/dev/stdin")
		case "backend", "prefer", "require", "on-unavailable", "missing-denied", "caches":
			value = m.pick("auto", "bwrap", "landlock", "strong", "fast", "full", "any", "run", "create", "none", "private", "")
		case "max-siblings", "keep-fd":
			value = m.pick("0", "1", "2", "4096", "-1", "x", "99999999999")
		case "bwrap":
			value = m.pick("/usr/bin/bwrap", "/bin/false", "/gone", m.root)
		case "chdir":
			value = m.pick(".", "a", "gone", "link", "/", m.root)
		case "report":
			value = m.pick("fd:0", "fd:77", m.root+"/loop", m.root)
		}
		word := "--" + f.name
		if m.rng.IntN(20) == 0 {
			// Behind a "--" the value would be a command with a status of its own.
			if mangled := strings.ReplaceAll(m.mangle(word), "\x00", "x"); mangled != "--" {
				word = mangled
			}
		}
		switch {
		case f.bool && m.rng.IntN(4) > 0:
			args = append(args, word)
		case m.rng.IntN(2) == 0:
			args = append(args, word+"="+value)
		default:
			args = append(args, word, value)
		}
	}
	if m.rng.IntN(15) > 0 {
		args = append(args, "--")
	}
	switch m.rng.IntN(15) {
	case 0:
		return args
	case 1:
		return append(args, m.pick("", m.root, "no-such", m.mangle("/nowhere/sh")))
	}
	return append(args, "/bin/sh", "-c", fmt.Sprintf("exit %d", ownStatus))
}
