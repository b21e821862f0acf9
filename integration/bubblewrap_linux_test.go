package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// trustedDir makes a directory whose programs the launcher accepts as
// bubblewrap: root's, and so are all directories above it.
func trustedDir(t *testing.T) string {
	t.Helper()
	testenv.Need(t, testenv.FacilityRoot, testenv.HasRoot())
	dir, err := os.MkdirTemp("/var/lib", "confine-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// program writes an executable file.
func program(t *testing.T, file, text string) string {
	t.Helper()
	testenv.WriteFile(t, file, text, 0o755)
	return file
}

// TestBrokenBubblewrap: whatever a bubblewrap does instead of its work, the
// launcher says 125 and the command has not run.
func TestBrokenBubblewrap(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"exits 1":                        {"exit 1", ""},
		"exits 1 with a reason":          {"echo 'bwrap: no permission here' >&2; exit 1", "no permission here"},
		"exits 0":                        {"exit 0", ""},
		"exits 127":                      {"exit 127", ""},
		"dies of a signal":               {"kill -9 $$", ""},
		"runs the stage without sandbox": {`while [ "$1" != -- ]; do shift; done; shift; exec "$@"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachOn(t, "bwrap", func(t *testing.T, b box) {
				fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\n"+c.script+"\n")
				tr := testenv.NewTree(t, b.user)
				before := tr.Snapshot()
				for _, f := range []flags{crossFlags(tr), workFlags(tr)} {
					res := b.run(t, tr, append(f, "--bwrap", fake), "sh", "-c", "echo ran; touch ran")
					res.Stderr, _, _ = strings.Cut(res.Stderr, "\nletta-confine: hint:")
					refused(t, res, c.says, "")
				}
				tr.Changed(before)
			})
		})
	}
}

// TestHangingBubblewrap: a signal ends the launcher, and the program with it.
func TestHangingBubblewrap(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\necho ready >&3\necho ready\nexec sleep 60\n")
		tr := testenv.NewTree(t, b.user)
		cmd, _ := b.session(t, tr, append(workFlags(tr), "--bwrap", fake), "touch", "ran")
		pids := family(t, cmd.Process.Pid)
		began := time.Now()
		cmd.Process.Signal(unix.SIGTERM)
		cmd.Wait()
		if status := testenv.Status(cmd.ProcessState); status != 128+15 || time.Since(began) > patience {
			t.Errorf("after SIGTERM the launcher ended with %d after %v, want 143 at once", status, time.Since(began))
		}
		gone(t, pids)
		if tr.Exists("work/ran") {
			t.Error("the command ran")
		}
	})
}

// TestRefusedBubblewrap: a program that is not there, is none, or could be
// replaced by someone else is not started.
func TestRefusedBubblewrap(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		trace := "#!/bin/sh\ntouch " + tr.Path("out/started") + "\n"
		tr.WriteProgram("out/bwrap", trace)
		files := map[string]string{
			tr.Path("out/missing"): "no such file", tr.Path("out"): "not a regular file",
			tr.Path("out/file.txt"): "permission denied", tr.Path("out/bwrap"): "could be replaced",
		}
		if testenv.HasRoot() == nil {
			dir := trustedDir(t)
			open := filepath.Join(dir, "open")
			if err := os.Mkdir(open, 0o755); err != nil {
				t.Fatal(err)
			}
			files[program(t, filepath.Join(open, "bwrap"), trace)] = "could be replaced"
			if err := os.Chmod(open, 0o777); err != nil {
				t.Fatal(err)
			}
			shared := program(t, filepath.Join(dir, "shared"), trace)
			if err := os.Chmod(shared, 0o775); err != nil {
				t.Fatal(err)
			}
			files[shared] = "could be replaced"
			foreign := program(t, filepath.Join(dir, "foreign"), trace)
			if err := os.Chown(foreign, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			files[foreign] = "could be replaced"
		}
		for file, says := range files {
			res := b.run(t, tr, append(workFlags(tr), "--bwrap", file), "touch", "ran")
			res.Stderr, _, _ = strings.Cut(res.Stderr, "\nletta-confine: hint:")
			refused(t, res, says, "")
		}
		if tr.Exists("out/started") || tr.Exists("work/ran") {
			t.Error("a program that was refused was started")
		}
	})
}

// TestBubblewrapOnThePath: PATH has no say in which bubblewrap is started.
func TestBubblewrapOnThePath(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		tr.WriteProgram("work/bwrap", "#!/bin/sh\ntouch "+tr.Path("out/started")+"\n")
		c := b.command(t, tr, crossFlags(tr), "true")
		c.Env = []string{"PATH=" + tr.Path("work") + ":" + testenv.Path}
		if res := c.Run(t); res.Status != 0 || tr.Exists("out/started") {
			t.Errorf("with a bwrap on the PATH the run gave %+v; started: %v", res, tr.Exists("out/started"))
		}
	})
}

// TestAutoAfterBrokenBubblewrap: Landlock follows where it keeps the policy and
// refuses nothing more; where it would, nothing runs.
func TestAutoAfterBrokenBubblewrap(t *testing.T) {
	eachOn(t, "landlock", func(t *testing.T, b box) {
		fake := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\nexit 1\n")
		tr := testenv.NewTree(t, b.user)
		b.backend = "auto"
		res := b.run(t, tr, append(workFlags(tr), "--bwrap", fake), "sh", "-c", "echo $LETTA_CONFINE; echo > ran; echo > ../out/file.txt")
		if res.Stdout != "landlock\n" || !tr.Exists("work/ran") || tr.Read("out/file.txt") != "outside\n" {
			t.Errorf("auto with a broken bubblewrap gave %+v, want a run in Landlock", res)
		}
		refused(t, b.run(t, tr, append(crossFlags(tr), "--bwrap", fake), "touch", "ran-too"), "no backend", "--allow-over-denial")
		if tr.Exists("work/ran-too") {
			t.Error("the command ran")
		}
		res = b.run(t, tr, append(crossFlags(tr), "--bwrap", fake, "--allow-over-denial"), "sh", "-c", "echo $LETTA_CONFINE")
		if res.Stdout != "landlock\n" {
			t.Errorf("with --allow-over-denial: %+v, want a run in Landlock", res)
		}
	})
}
