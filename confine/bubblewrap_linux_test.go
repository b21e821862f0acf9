package confine

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/policy"
)

const masked = "read-denied=ENOENT list-denied=ok write-denied=ENOENT read-carved=ok write-outside=EROFS create-outside=EROFS " +
	"read-outside=ok create-inside=ok"

// bubblewrapped is what the harness of TestBubblewrap does: a command in a sandbox by
// arguments.
func bubblewrapped(tree string) string {
	s := sandboxOf(tree)
	s.Require = policy.RequireAny
	cmd := exec.Command("/proc/self/exe", "acts", tree)
	cmd.Path, _ = os.Executable()
	out, both := new(strings.Builder), new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, both
	report, err := s.StartBubblewrap(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return err.Error() + ": " + both.String()
	}
	if !slices.Contains(report.Enforcement.Gaps, policy.GapUnchecked) || !slices.Contains(report.Enforcement.Limits, "unsupervised") {
		return "the report does not say what is lost"
	}
	return out.String()
}

// TestBubblewrap: masks and read-only mounts hold, and the report names what the
// launcher would add.
func TestBubblewrap(t *testing.T) {
	for _, u := range []testenv.User{testenv.Root, testenv.Plain} {
		t.Run(u.Name, func(t *testing.T) {
			testenv.NeedBackend(t, "bwrap", u)
			tr := testenv.NewTree(t, u)
			run := func(face string) string {
				return strings.TrimSpace(testenv.Command{User: u, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{testenv.Helper(t), face, tr.Dir}}.Run(t).Stdout)
			}
			if got := run("acts"); got != free {
				t.Fatalf("unconfined it could %q, want %q", got, free)
			}
			os.Remove(tr.Path("out/new"))
			os.Remove(tr.Path("work/new"))
			if got := run("bubblewrap"); got != masked {
				t.Errorf("it could %q, want %q", got, masked)
			}
		})
	}
}

// TestBubblewrapRefuses: what only the launcher can hold is an error.
func TestBubblewrapRefuses(t *testing.T) {
	testenv.Need(t, testenv.FacilityBwrap, testenv.HasBwrap())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	file, err := os.Open(tr.Path("out/file.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, c := range []struct {
		name   string
		change func(cmd *exec.Cmd, s *Sandbox)
		want   error
	}{
		{"control", func(*exec.Cmd, *Sandbox) {}, nil},
		{"contents are required", func(_ *exec.Cmd, s *Sandbox) { s.Require = "" }, ErrUnmet},
		{"a readonly file as input", func(cmd *exec.Cmd, _ *Sandbox) { cmd.Stdin = file }, ErrDescriptor},
		{"another user", func(cmd *exec.Cmd, _ *Sandbox) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}, ErrAttributes},
		{"a missing denied root", func(_ *exec.Cmd, s *Sandbox) { s.Policy.Denied = append(s.Policy.Denied, tr.Path("work/missing")) }, ErrMissingRoot},
	} {
		cmd := exec.Command("sh", "-c", ": >ran")
		cmd.Dir = tr.Path("work")
		os.Remove(tr.Path("work/ran"))
		s := sandboxOf(tr.Dir)
		s.Require = policy.RequireAny
		c.change(cmd, &s)
		_, err := s.StartBubblewrap(cmd)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: StartBubblewrap gave %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			err = cmd.Wait()
		}
		if tr.Exists("work/ran") != (c.want == nil) {
			t.Errorf("%s: the command ran: %t (%v)", c.name, c.want != nil, err)
		}
	}
}

// TestBubblewrapFilter: the system call filter is there, and so is the command's
// environment.
func TestBubblewrapFilter(t *testing.T) {
	testenv.Need(t, testenv.FacilityBwrap, testenv.HasBwrap())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	cmd := exec.Command("sh", "-c", `grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status; echo "$SECRET"`)
	cmd.Dir, cmd.Env = tr.Path("work"), []string{"PATH=" + testenv.Path, "SECRET=a b"}
	var out strings.Builder
	cmd.Stdout = &out
	s := sandboxOf(tr.Dir)
	s.Require = policy.RequireAny
	if _, err := s.StartBubblewrap(cmd); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(cmd.Args, " "), "a b") {
		t.Errorf("the arguments show the environment: %q", cmd.Args)
	}
	if cmd.Env == nil || len(cmd.Env) > 0 {
		t.Errorf("bubblewrap itself has the environment %q, want none", cmd.Env)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "NoNewPrivs:\t1\nSeccomp:\t2\na b\n"; out.String() != want {
		t.Errorf("it said %q, want %q", out.String(), want)
	}
}
