package inner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// stepVar makes the test binary a stage, or one of the other steps: what they
// give up, and what they mount, cannot be had back.
const stepVar = "INNER_TEST_STEP"

func TestMain(m *testing.M) {
	step := os.Getenv(stepVar)
	if step == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	switch step {
	case "stage":
		// What bubblewrap does before it executes the stage.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			panic(err)
		}
		os.Exit(Main(os.Args[1:]))
	case "bare-stage":
		os.Exit(Main(os.Args[1:]))
	case "masks":
		os.Exit(stepMasks(os.Args[1]))
	}
	os.Exit(99)
}

func id(t *testing.T, path string) policy.ID {
	t.Helper()
	info, err := hostfs.FS{}.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

func TestMainRefusesWrongArguments(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	empty := fmt.Sprint(null.Fd()) // a plan of no bytes
	for _, args := range [][]string{
		nil, {"3"}, {"3", "4", "5"}, {"", ""}, {"x", "4"}, {empty, "x"}, {"-1", "-1"}, {"999999", "999999"}, {empty, empty}, {" 3", "4"},
	} {
		if got := Main(args); got != launch.ExitFailure {
			t.Errorf("Main(%q) = %d, want %d", args, got, launch.ExitFailure)
		}
	}
}

func TestVerifySame(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	file, own := id(t, dir+"/file"), id(t, dir)
	for _, c := range []struct {
		name  string
		check bwrap.Check
		want  error
	}{
		{"the directory", bwrap.Check{Path: dir, ID: own}, nil},
		{"the file", bwrap.Check{Path: dir + "/file", ID: file}, nil},
		{"another file", bwrap.Check{Path: dir + "/file", ID: own}, errChanged},
		{"a link to it", bwrap.Check{Path: dir + "/link", ID: file}, errChanged},
		{"no identity", bwrap.Check{Path: dir}, errChanged},
		{"gone", bwrap.Check{Path: dir + "/gone", ID: file}, unix.ENOENT},
		{"masked, and in sight", bwrap.Check{Path: dir, ID: own, State: bwrap.Masked}, errUnmasked},
		{"masked, and a file in sight", bwrap.Check{Path: dir + "/file", ID: file, State: bwrap.Masked}, errUnmasked},
		{"masked, and replaced by a directory", bwrap.Check{Path: dir, ID: file, State: bwrap.Masked}, errUnmasked},
		{"masked, and replaced by a file", bwrap.Check{Path: dir + "/file", ID: own, State: bwrap.Masked}, errUnmasked},
		{"masked, and replaced by a link", bwrap.Check{Path: dir + "/link", ID: own, State: bwrap.Masked}, errUnmasked},
		{"masked, and gone", bwrap.Check{Path: dir + "/gone", ID: own, State: bwrap.Masked}, unix.ENOENT},
		{"masked by another device", bwrap.Check{Path: "/dev/zero", ID: own, State: bwrap.Masked}, errUnmasked},
		{"a mask, and the host has another file there", bwrap.Check{Path: "/dev/null", ID: own, State: bwrap.Masked}, errChanged},
	} {
		if err := (Plan{Root: hostRoot(t), Checks: []bwrap.Check{c.check}}).verify(); !errors.Is(err, c.want) {
			t.Errorf("%s: verify = %v, want %v", c.name, err, c.want)
		}
	}
}

// stepMasks mounts over the files in dir, in a mount namespace of its own, and
// prints what verify says of them.
func stepMasks(dir string) int {
	must := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	look := func(path string) policy.ID {
		info, err := hostfs.FS{}.Lstat(path)
		must(err)
		return info.ID
	}
	// What is mounted from here on is not to be seen through root.
	runtime.LockOSThread()
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(err)
	must(unix.Unshare(unix.CLONE_NEWNS))
	must(unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""))
	verify := func(c bwrap.Check) error { return Plan{Root: root, Checks: []bwrap.Check{c}}.verify() }
	sealed, open, file, bound := dir+"/sealed", dir+"/open", dir+"/file", dir+"/bound"
	before := map[string]policy.ID{}
	for _, path := range []string{sealed, open, file, bound} {
		before[path] = look(path)
	}
	for _, path := range []string{sealed, open} {
		must(unix.Mount("tmpfs", path, "tmpfs", 0, ""))
	}
	must(unix.Mount("", sealed, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	must(unix.Mount("/dev/null", file, "", unix.MS_BIND, ""))
	must(unix.Mount(bound, bound, "", unix.MS_BIND, ""))
	for _, path := range []string{sealed, open, file, bound} {
		err := verify(bwrap.Check{Path: path, ID: before[path], State: bwrap.Masked})
		if err != nil {
			err = errors.Unwrap(err)
		}
		fmt.Printf("%s: %v\n", filepath.Base(path), err)
	}
	fmt.Printf("changed: %v\n", errors.Unwrap(verify(bwrap.Check{Path: sealed, ID: before[sealed], State: bwrap.Same})))
	fmt.Printf("bound, same: %v\n", verify(bwrap.Check{Path: bound, ID: before[bound], State: bwrap.Same}))
	return 0
}

func hostRoot(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestVerifyMasks(t *testing.T) {
	if os.Geteuid() != 0 {
		if slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), "root") {
			t.Fatal("CONFINE_REQUIRE names root, and this is not")
		}
		t.Skip("needs root: it mounts")
	}
	dir := t.TempDir()
	for _, name := range []string{"sealed", "open", "bound"} {
		if err := os.Mkdir(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("/proc/self/exe", dir)
	run.Env = []string{stepVar + "=masks"}
	run.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := run.CombinedOutput()
	want := "sealed: <nil>\nopen: it is not masked\nfile: <nil>\nbound: it is not masked\n" +
		"changed: it was replaced while the sandbox was set up\nbound, same: <nil>\n"
	if err != nil || string(out) != want {
		t.Errorf("verify says\n%s%v\nwant\n%s", out, err, want)
	}
}

// running is a stage in a process of its own.
type running struct {
	cmd  *exec.Cmd
	peer Peer
	out  strings.Builder
}

// start starts a stage with a plan, as the supervisor does but without a
// sandbox: 3 is the plan, 4 the control socket, 5 what becomes standard error.
func start(t *testing.T, step string, plan []byte) *running {
	t.Helper()
	peer, stage, err := NewPeer()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := launch.Memfd("plan", plan)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{peer: peer, cmd: exec.Command("/proc/self/exe", "3", "4")}
	r.cmd.Env = []string{stepVar + "=" + step}
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	planFile, stageFile := os.NewFile(uintptr(fd), "plan"), os.NewFile(uintptr(stage), "stage")
	r.cmd.ExtraFiles = []*os.File{planFile, stageFile, errWrite}
	r.cmd.Stdout = &r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{planFile, stageFile, errWrite} {
		f.Close()
	}
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		errRead.Close()
	})
	return r
}

func (r *running) status() int {
	r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

func plan(t *testing.T, argv ...string) Plan {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Plan{Argv: argv, Env: []string{"A=1"}, Dir: dir, DirID: id(t, dir), Stderr: 5}
}

const limit = 20 * time.Second

func TestStageRunsTheCommand(t *testing.T) {
	p := plan(t, "/bin/sh", "-c", `pwd; echo $A; for fd in 3 4 5 6 7; do [ -e /proc/$$/fd/$fd ] && echo $fd; done; exit 7`)
	r := start(t, "stage", p.Encode())
	proof, err := r.peer.Ready(limit)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.Readlink("/proc/self/ns/mnt"); err != nil || proof.MountNamespace != want || proof.PID != r.cmd.Process.Pid || !proof.NoNewPrivs {
		t.Errorf("the proof is %+v, want process %d, namespace %s", proof, r.cmd.Process.Pid, want)
	}
	if err := r.peer.Go(); err != nil {
		t.Errorf("Go() = %v", err)
	}
	if status, want := r.status(), p.Dir+"\n1\n"; status != 7 || r.out.String() != want {
		t.Errorf("the command ended with %d and wrote %q, want 7 and %q", status, &r.out, want)
	}
}

func TestStageReportsExecErrors(t *testing.T) {
	for program, want := range map[string]launch.ExecError{
		"/no/such":    {Status: 127, Text: `command "/no/such" not found`},
		"/etc/passwd": {Status: 126, Text: `command "/etc/passwd" cannot run: permission denied`},
	} {
		r := start(t, "stage", plan(t, program).Encode())
		if _, err := r.peer.Ready(limit); err != nil {
			t.Fatal(err)
		}
		if err := r.peer.Go(); err != nil {
			t.Errorf("Go() = %v", err)
		}
		if status := r.status(); status != want.Status {
			t.Errorf("the stage ended with %d, want %d", status, want.Status)
		}
		err := r.peer.ExecError()
		failed, ok := errors.AsType[*launch.ExecError](err)
		if !ok || *failed != want {
			t.Errorf("ExecError() = %v, want %v", err, want)
		}
	}
}

// Each of these must end before the command: it would leave a file.
func TestStageRefuses(t *testing.T) {
	for _, c := range []struct {
		name, step string
		change     func(*Plan)
		want       string
	}{
		{"the directory is another", "stage", func(p *Plan) { p.DirID.Ino++ }, "it was replaced while the sandbox was set up"},
		{"the directory is gone", "stage", func(p *Plan) { p.Dir += "/gone" }, "no such file or directory"},
		{"a root is another", "stage", func(p *Plan) { p.Checks = []bwrap.Check{{Path: p.Dir}} }, "it was replaced while the sandbox was set up"},
		{"a root is not masked", "stage", func(p *Plan) {
			p.Checks = []bwrap.Check{{Path: p.Dir, ID: p.DirID, State: bwrap.Masked}}
		}, "it is not masked"},
		{"a descriptor to keep is closed", "stage", func(p *Plan) { p.Keep = []int{77} }, "descriptor 77: bad file descriptor"},
		{"standard error is closed", "stage", func(p *Plan) { p.Stderr = 78 }, "standard error: bad file descriptor"},
		{"privileges can be gained", "bare-stage", func(*Plan) {}, "no_new_privs is not set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan(t)
			made := p.Dir + "/made"
			p.Argv = []string{"/bin/touch", made}
			c.change(&p)
			r := start(t, c.step, p.Encode())
			_, err := r.peer.Ready(limit)
			if !errors.Is(err, ErrRefused) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("Ready() = %v, want a refusal that ends in %q", err, c.want)
			}
			r.peer.Go()
			if status := r.status(); status != launch.ExitFailure {
				t.Errorf("the stage ended with %d, want %d", status, launch.ExitFailure)
			}
			if _, err := os.Lstat(made); err == nil {
				t.Error("the command ran")
			}
		})
	}
}

func TestStageEndsWithItsSupervisor(t *testing.T) {
	p := plan(t)
	p.Argv = []string{"/bin/touch", p.Dir + "/made"}
	r := start(t, "stage", p.Encode())
	if _, err := r.peer.Ready(limit); err != nil {
		t.Fatal(err)
	}
	r.peer.Close()
	if status := r.status(); status != launch.ExitFailure {
		t.Errorf("the stage ended with %d, want %d", status, launch.ExitFailure)
	}
	if _, err := os.Lstat(p.Dir + "/made"); err == nil {
		t.Error("the command ran")
	}
}

// A message other than the go-ahead is none, and a plan that cannot be read
// leaves nothing to start.
func TestStageTakesNothingElse(t *testing.T) {
	p := plan(t)
	p.Argv = []string{"/bin/touch", p.Dir + "/made"}
	r := start(t, "stage", p.Encode())
	if _, err := r.peer.Ready(limit); err != nil {
		t.Fatal(err)
	}
	if err := r.peer.fd.send(msgReady, []byte("G")); err != nil {
		t.Fatal(err)
	}
	if status := r.status(); status != launch.ExitFailure {
		t.Errorf("the stage ended with %d, want %d", status, launch.ExitFailure)
	}
	if _, err := os.Lstat(p.Dir + "/made"); err == nil {
		t.Error("the command ran")
	}
	text := p.Encode()
	r = start(t, "stage", text[:len(text)-1])
	if _, err := r.peer.Ready(limit); !errors.Is(err, ErrGone) {
		t.Errorf("Ready() = %v, want %v", err, ErrGone)
	}
	if status := r.status(); status != launch.ExitFailure {
		t.Errorf("the stage ended with %d, want %d", status, launch.ExitFailure)
	}
}

func TestReadyHasALimit(t *testing.T) {
	peer, stage, err := NewPeer()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	defer unix.Close(stage)
	if _, err := peer.Ready(10 * time.Millisecond); err == nil || err.Error() != "the sandbox is not set up after 10ms" {
		t.Errorf("Ready() = %v, want the limit", err)
	}
}
