package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestBuildWithoutFilter: a build for a processor whose system calls are in no
// table confines files as any other, and reports the gap. A 32-bit build stands
// for them, because this machine may execute one.
func TestBuildWithoutFilter(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("needs a processor that executes 32-bit x86 programs: this is %s", runtime.GOARCH)
	}
	file := filepath.Join(filepath.Dir(testenv.Launcher(t)), "letta-confine-386")
	build := exec.Command("go", "build", "-trimpath", "-tags", "launcher", "-o", file, "github.com/letta-confine/letta-confine/cmd/letta-confine")
	build.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := exec.Command(file, "version").Run(); err != nil {
		t.Skipf("needs a kernel that executes 32-bit x86 programs: %v", err)
	}
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		run := func(f flags, argv ...string) testenv.Result {
			c := b.command(t, tr, append(f, crossFlags(tr)...), argv...)
			c.Argv[0] = file
			return c.Run(t)
		}
		if res := run(nil, "cat", tr.Path(alice+"/memory/x.md")); res.Stdout != testenv.AliceText {
			t.Errorf("reading what is allowed: %+v", res)
		}
		if res := run(nil, "cat", tr.Path(bob+"/memory/x.md")); res.Status != 1 || res.Stdout != "" {
			t.Errorf("reading what is denied: %+v", res)
		}
		const want = "--require full does not accept that"
		if res := run(flags{"--require", "full"}, "true"); res.Status != 125 || !strings.Contains(res.Stderr, "system-calls") || !strings.Contains(res.Stderr, want) {
			t.Errorf("with --require full: %+v", res)
		}
	})
}
