package dsh

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestLandlockRunLayers: the kernel takes sixteen domains, one in another.
func TestLandlockRunLayers(t *testing.T) {
	launcher := called(t, "landlock-run")
	eachUser(t, func(t *testing.T, u testenv.User) {
		tr := testenv.NewTree(t, u)
		nested := func(n int) testenv.Result {
			return inShell(t, tr, strings.Repeat(launcher+" --ro / -- ", n)+"echo ran")
		}
		if res := nested(16); res != (testenv.Result{Stdout: "ran\n"}) {
			t.Errorf("16 layers gave %+v", res)
		}
		want := testenv.Result{Stderr: "landlock-run: landlock ruleset error: Argument list too long\n", Status: 125}
		if res := nested(17); res != want {
			t.Errorf("17 layers gave %+v, want %+v", res, want)
		}
	})
}

// TestLandlockRunInherits: the command is the process that was called, with all that
// it had.
func TestLandlockRunInherits(t *testing.T) {
	launcher := called(t, "landlock-run")
	const state = `sh -c 'test $$ = $OUTER && echo the same process
		pwd; umask; ulimit -n; ulimit -c; readlink /proc/$$/fd/7; ls /proc/$$/fd; grep SigIgn /proc/self/status; env -u OUTER | sort'`
	eachUser(t, func(t *testing.T, u testenv.User) {
		tr := testenv.NewTree(t, u)
		const prepare = "trap '' HUP INT; umask 027; ulimit -Sn 100; ulimit -c 0; exec 7<file.txt; export OUTER=$$ LETTA_SANDBOX=bwrap TMPDIR=/x; exec "
		free := inShell(t, tr, prepare+state)
		confined := inShell(t, tr, prepare+launcher+" --ro / -- "+state)
		if free.Status != 0 || !strings.Contains(free.Stdout, "the same process\n") || confined != free {
			t.Errorf("confined:\n%+v\nwant what it is unconfined:\n%+v", confined, free)
		}
	})
}

// TestLandlockRunClosed: a standard descriptor that is closed is open on /dev/null.
func TestLandlockRunClosed(t *testing.T) {
	launcher := called(t, "landlock-run")
	eachUser(t, func(t *testing.T, u testenv.User) {
		res := inShell(t, testenv.NewTree(t, u), "exec "+launcher+" --ro / -- sh -c 'readlink /proc/$$/fd/0' <&-")
		if res.Stdout != "/dev/null\n" {
			t.Errorf("got %+v", res)
		}
	})
}

// TestLandlockRunSearches: what a domain refuses to execute is passed over for a
// later program of that name.
func TestLandlockRunSearches(t *testing.T) {
	launcher := called(t, "landlock-run")
	eachUser(t, func(t *testing.T, u testenv.User) {
		tr := testenv.NewTree(t, u)
		res := inShell(t, tr, fmt.Sprintf("cp /bin/false true && PATH=$PWD:file.txt:$PATH exec %s --ro /usr --ro /bin --ro /lib --ro /lib64 -- true", launcher))
		if res != (testenv.Result{}) {
			t.Errorf("got %+v, want the system's true", res)
		}
		if res := inShell(t, tr, "PATH=$PWD:$PATH exec true"); res.Status != 1 {
			t.Errorf("control: unconfined the first one of the name gave %+v", res)
		}
	})
}

// TestLandlockRunHardened: what no confined command keeps this one lacks, too.
func TestLandlockRunHardened(t *testing.T) {
	launcher := called(t, "landlock-run")
	eachUser(t, func(t *testing.T, u testenv.User) {
		tr := testenv.NewTree(t, u)
		res := inShell(t, tr, "exec "+launcher+" --ro / -- grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status")
		kept := uint64(0)
		if u.UID == 0 {
			kept = harden.Mask(harden.Kept)
		}
		for _, want := range []string{"NoNewPrivs:\t1\n", "Seccomp:\t2\n", fmt.Sprintf("CapEff:\t%016x\n", kept)} {
			if !strings.Contains(res.Stdout, want) {
				t.Errorf("got %q, want %q", res.Stdout, want)
			}
		}
		if u.UID == 0 && (kept&(1<<unix.CAP_SYS_ADMIN) != 0 || !strings.Contains(res.Stdout, fmt.Sprintf("CapBnd:\t%016x\n", kept))) {
			t.Errorf("got %q, want the bounding set %016x", res.Stdout, kept)
		}
	})
}
