package confine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// TestRefuses: what the domain would not hold is an error, and nothing runs. Each
// has a control: the same command without what is refused.
func TestRefuses(t *testing.T) {
	testenv.Need(t, testenv.FacilityLandlock, testenv.HasLandlock())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(tr.Path(name), flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	secret, dir := open("home/.letta/agents/bob/memory/x.md", os.O_RDONLY), open("home/.letta/agents", os.O_RDONLY)
	handle, plain := open("home/.letta/agents/bob/memory/x.md", unix.O_PATH), open("out/file.txt", os.O_RDONLY)
	attr := func(a syscall.SysProcAttr) func(*exec.Cmd, *Sandbox) {
		return func(cmd *exec.Cmd, _ *Sandbox) { cmd.SysProcAttr = &a }
	}
	for _, c := range []struct {
		name   string
		change func(cmd *exec.Cmd, s *Sandbox)
		want   error // nil: it runs
	}{
		{"control", func(*exec.Cmd, *Sandbox) {}, nil},
		{"control with files", func(cmd *exec.Cmd, _ *Sandbox) { cmd.Stdin, cmd.ExtraFiles = plain, []*os.File{plain} }, nil},
		{"control with a session", attr(syscall.SysProcAttr{Setsid: true}), nil},
		{"denied standard input", func(cmd *exec.Cmd, _ *Sandbox) { cmd.Stdin = secret }, ErrDescriptor},
		{"denied extra file", func(cmd *exec.Cmd, _ *Sandbox) { cmd.ExtraFiles = []*os.File{secret} }, ErrDescriptor},
		{"directory", func(cmd *exec.Cmd, _ *Sandbox) { cmd.ExtraFiles = []*os.File{dir} }, ErrDescriptor},
		{"O_PATH", func(cmd *exec.Cmd, _ *Sandbox) { cmd.ExtraFiles = []*os.File{handle} }, ErrDescriptor},
		{"denied working directory", func(cmd *exec.Cmd, _ *Sandbox) { cmd.Dir = tr.Path("home/.letta/agents/bob") }, ErrDirectory},
		{"chroot", attr(syscall.SysProcAttr{Chroot: "/"}), ErrAttributes},
		{"namespaces", attr(syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}), ErrAttributes},
		{"death signal", attr(syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}), ErrAttributes},
		{"capabilities", attr(syscall.SysProcAttr{AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN}}), ErrAttributes},
		{"no policy", func(_ *exec.Cmd, s *Sandbox) { s.Policy = policy.Policy{} }, ErrUnrestricted},
		{"a policy that contradicts itself", func(_ *exec.Cmd, s *Sandbox) { s.Policy.Writable = append(s.Policy.Writable, s.Policy.Denied[0]) }, policy.ErrSamePath},
		{"full enforcement", func(_ *exec.Cmd, s *Sandbox) { s.Require = policy.RequireFull }, ErrUnmet},
		{"too many siblings", func(_ *exec.Cmd, s *Sandbox) { s.MaxSiblings = 1 }, landlock.ErrSiblings},
		{"denied command", func(cmd *exec.Cmd, _ *Sandbox) { cmd.Path = tr.Path("home/.letta/agents/run") }, fs.ErrPermission},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr.WriteProgram("home/.letta/agents/run", "#!/bin/sh\n: >ran\n")
			os.Remove(tr.Path("work/ran"))
			cmd := exec.Command("sh", "-c", ": >ran")
			cmd.Dir = tr.Path("work")
			s := sandboxOf(tr.Dir)
			c.change(cmd, &s)
			_, err := s.Start(cmd)
			if !errors.Is(err, c.want) {
				t.Fatalf("Start gave %v, want %v", err, c.want)
			}
			if err == nil {
				err = cmd.Wait()
			}
			if ran := tr.Exists("work/ran"); ran != (c.want == nil) {
				t.Errorf("the command ran: %t (%v)", ran, err)
			}
		})
	}
}

// TestInherited: a descriptor that exec leaves open reaches around the policy.
func TestInherited(t *testing.T) {
	testenv.Need(t, testenv.FacilityLandlock, testenv.HasLandlock())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	fd, err := unix.Open(tr.Path("home/.letta/agents/bob/memory/x.md"), unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sandboxOf(tr.Dir).Start(exec.Command("true"))
	unix.Close(fd)
	if !errors.Is(err, ErrDescriptor) {
		t.Errorf("Start gave %v, want %v", err, ErrDescriptor)
	}
	cmd := exec.Command("true")
	if _, err = sandboxOf(tr.Dir).Start(cmd); err != nil {
		t.Fatalf("without it Start gave %v", err)
	}
	cmd.Wait()
}

// TestReport: the report is that of the launcher.
func TestReport(t *testing.T) {
	testenv.Need(t, testenv.FacilityLandlock, testenv.HasLandlock())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	s := sandboxOf(tr.Dir)
	s.Policy.Writable = append(s.Policy.Writable, tr.Path("missing"))
	given := s.Policy
	cmd := exec.Command("true")
	cmd.Dir = tr.Path("work")
	report, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if !reflect.DeepEqual(s.Policy, given) {
		t.Errorf("the caller's policy was changed: %v", s.Policy)
	}
	if len(report.Skipped) != 1 || report.Skipped[0].Path != tr.Path("missing") {
		t.Errorf("skipped are %v, want the missing root", report.Skipped)
	}
	text, err := s.Policy.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr.Write("policy.json", string(text))
	file := tr.Path("report")
	launched := exec.Command(testenv.Launcher(t), "--backend", "landlock", "--policy", tr.Path("policy.json"), "--report", file, "--", "true")
	launched.Dir = tr.Path("work")
	if out, err := launched.CombinedOutput(); err != nil {
		t.Fatalf("the launcher: %v: %s", err, out)
	}
	var words []string
	for _, g := range report.Enforcement.Gaps {
		words = append(words, string(g))
	}
	for _, o := range report.Enforcement.OverDenials {
		words = append(words, o.Name)
	}
	words = append(append(words, report.Enforcement.Limits...), report.Backend, report.Enforcement.Level(), "missing")
	plan, _, _ := strings.Cut(tr.Read("report"), "\n")
	for _, word := range words {
		if !strings.Contains(plan, word) {
			t.Errorf("the launcher's report lacks %q: %s", word, plan)
		}
	}
}

// TestOutput: the command may open its own output anew, and not the harness's.
func TestOutput(t *testing.T) {
	testenv.Need(t, testenv.FacilityLandlock, testenv.HasLandlock())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	f, err := os.Create(tr.Path("out/log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.Command("sh", "-c", `echo anew >>/dev/stdout; echo x >`+filepath.Join(tr.Dir, "out/file.txt"))
	cmd.Dir, cmd.Stdout = tr.Path("work"), f
	if _, err := sandboxOf(tr.Dir).Start(cmd); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if got := tr.Read("out/log"); got != "anew\n" {
		t.Errorf("the output is %q", got)
	}
	if got := tr.Read("out/file.txt"); got != "outside\n" {
		t.Errorf("the file beside it is %q", got)
	}
}

// TestCancel: the end of a context ends the command, as always.
func TestCancel(t *testing.T) {
	testenv.Need(t, testenv.FacilityLandlock, testenv.HasLandlock())
	tr := testenv.NewTree(t, testenv.User{UID: os.Geteuid(), GID: os.Getegid()})
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "sleep", "60")
	cmd.Dir = tr.Path("work")
	if _, err := sandboxOf(tr.Dir).Start(cmd); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); !errors.Is(err, context.Canceled) && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", err)
	}
}

// Benchmarks of one confined start: by this package, by the launcher, and of the
// same program unconfined.
func BenchmarkStart(b *testing.B)    { benchmark(b, "library") }
func BenchmarkLauncher(b *testing.B) { benchmark(b, "launcher") }
func BenchmarkBare(b *testing.B)     { benchmark(b, "bare") }

func benchmark(b *testing.B, how string) {
	testenv.Need(b, testenv.FacilityLandlock, testenv.HasLandlock())
	work := b.TempDir()
	s := Sandbox{Policy: policy.Policy{RestrictWrites: true, Writable: []string{work}}}
	launcher := testenv.Launcher(b)
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		if how == "launcher" {
			cmd = exec.Command(launcher, "--backend", "landlock", "--restrict-writes", "--writable", work, "--", "/bin/true")
		}
		cmd.Dir = work
		var err error
		if how == "library" {
			_, err = s.Start(cmd)
		} else {
			err = cmd.Start()
		}
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
