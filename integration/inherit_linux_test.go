package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// inherited opens bob's file as descriptor 9 and bob's directory as descriptor 10.
func inherited(t *testing.T, tr *testenv.Tree) []*os.File {
	t.Helper()
	files := make([]*os.File, 8)
	for i, name := range []string{bob + "/memory/x.md", bob} {
		f, err := os.Open(tr.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		files[6+i] = f
	}
	return files
}

// TestInheritedDescriptors: an open descriptor reads through every mask, so the
// command gets none.
func TestInheritedDescriptors(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		asks := []string{"sh", "-c", `cat <&9; cat /proc/self/fd/9 /dev/fd/10/memory/x.md; cd /proc/self/fd/10 && cat memory/x.md; true`}
		c := b.command(t, tr, crossFlags(tr), asks...)
		c.Files = inherited(t, tr)
		if res := c.Run(t); strings.Contains(res.Stdout, testenv.BobText) {
			t.Errorf("bob's memory can be read through an inherited descriptor: %+v", res)
		}
		c.Argv = asks
		c.Files = inherited(t, tr)
		if res := c.Run(t); !strings.Contains(res.Stdout, testenv.BobText) {
			t.Errorf("control: %+v, want bob's memory", res)
		}
	})
}

func TestKeptDescriptor(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, append(crossFlags(tr), "--keep-fd", "9"), "sh", "-c", "cat <&9; ls /proc/self/fd")
		c.Files = inherited(t, tr)
		if res := c.Run(t); res.Stdout != testenv.BobText+"0\n1\n2\n3\n9\n" {
			t.Errorf("with --keep-fd 9 the command sees %+v", res)
		}
	})
}

// TestOpenDescriptors: nothing of the launcher's own reaches the command: not its
// program, its policy, its report or its control socket.
func TestOpenDescriptors(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Write("out/policy.json", `{"version": 1}`)
		f := append(workFlags(tr), "--policy", tr.Path("out/policy.json"), "--report", tr.Path("out/report"))
		if got := b.state(t, tr, f).FDs; !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("the command inherits descriptors %v, want 0, 1 and 2", got)
		}
		if res := b.run(t, tr, f, "ls", "/proc/self/fd"); res.Stdout != "0\n1\n2\n3\n" {
			t.Errorf("ls of its own descriptors shows %q, want 0, 1, 2 and its own 3", res.Stdout)
		}
	})
}

// TestInterpreterByDescriptor: what a script names as its interpreter is looked up
// while the descriptors of the stage inside bubblewrap are still open. One that led
// to the host would lead past every mask, to a program that its process then reads.
func TestInterpreterByDescriptor(t *testing.T) {
	const last = 30
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tool, err := os.ReadFile("/bin/cat")
		if err != nil {
			t.Fatal(err)
		}
		tr.WriteProgram(bob+"/cat", string(tool))
		script := func(fd int) string {
			name := fmt.Sprintf("work/by-%d", fd)
			tr.WriteProgram(name, fmt.Sprintf("#!/proc/self/fd/%d%s\nran\n", fd, tr.Path(bob+"/cat")))
			return tr.Path(name)
		}
		for fd := 3; fd < last; fd++ {
			for _, f := range []flags{nil, {"--exec"}} {
				res := b.run(t, tr, append(crossFlags(tr), f...), script(fd))
				if res.Status != 127 || res.Stdout != "" {
					t.Errorf("by descriptor %d, with %q, a program of bob's gave %+v", fd, f, res)
				}
			}
		}
		root, err := os.Open("/")
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		c := b.command(t, tr, nil)
		c.Argv = []string{script(last)}
		c.Files = make([]*os.File, last-2)
		c.Files[last-3] = root
		if res := c.Run(t); !strings.Contains(res.Stdout, "ran") {
			t.Errorf("control: %+v, want the script", res)
		}
	})
}

func TestEnvironment(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.Link("work", "way")
		c := b.command(t, tr, crossFlags(tr), testenv.Helper(t), "state")
		c.Dir = tr.Path("way")
		c.Env = []string{
			"PWD=" + tr.Path("way"), "OLDPWD=/", "EMPTY=", "LINES=a\nb", "BYTES=\xff\xfe", "LD_LIBRARY_PATH=/no/such",
			"BASH_FUNC_f%%=() { :; }", "LETTA_SANDBOX=seatbelt", "LETTA_CONFINE=other", "LETTA_SANDBOX_MORE=stays",
		}
		s := stateOf(t, c.Run(t))
		want := []string{"HOME=" + tr.Home(), "PATH=" + testenv.Path, "LANG=C.UTF-8", "LETTA_CONFINE=" + b.backend, "LETTA_SANDBOX_MORE=stays"}
		want = append(want, c.Env[:7]...)
		got := s.Env
		slices.Sort(got)
		slices.Sort(want)
		for i, w := range want {
			want[i] = strings.ToValidUTF8(w, "\ufffd\ufffd") // as JSON carries it
		}
		if !slices.Equal(got, want) {
			t.Errorf("the command's environment is\n%q, want\n%q", got, want)
		}
		if s.Dir != tr.Path("work") {
			t.Errorf("the command starts in %q, want the physical %q", s.Dir, tr.Path("work"))
		}
	})
}

// TestLoaderVariables: what steers the dynamic loader is for the command, and
// does not act on bubblewrap, which runs outside the sandbox that it makes. The
// command here is the launcher itself, which is static and has no loader.
func TestLoaderVariables(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		c := b.command(t, tr, crossFlags(tr), testenv.Launcher(t), "version")
		c.Env = []string{"LD_DEBUG=files", "LD_DEBUG_OUTPUT=" + tr.Path("tmp/ld")}
		if res := c.Run(t); res.Status != 0 {
			t.Fatalf("the run gave %+v", res)
		}
		if left, _ := filepath.Glob(tr.Path("tmp/ld*")); len(left) > 0 {
			t.Errorf("the loader of a program outside the sandbox wrote %q", left)
		}
		c.Argv = []string{"/bin/true"}
		c.Run(t)
		if left, _ := filepath.Glob(tr.Path("tmp/ld*")); len(left) == 0 {
			t.Error("control: the loader wrote nothing for a dynamic program")
		}
	})
}
