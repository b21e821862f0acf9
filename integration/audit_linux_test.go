package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestAuditLogOfRunsAtOnce: each of many runs at the same time leaves its line, whole.
func TestAuditLogOfRunsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		const runs = 20
		long := strings.Repeat("a long argument ", 200)
		var all sync.WaitGroup
		for range runs {
			all.Go(func() {
				res := b.run(t, tr, append(workFlags(tr), "--audit-log", tr.Path("out/log")), "true", long)
				if res.Status != 0 || res.Stderr != "" {
					t.Errorf("a run gave %+v, want success", res)
				}
			})
		}
		all.Wait()
		seen := map[int]bool{}
		for line := range strings.Lines(tr.Read("out/log")) {
			var l struct {
				PID     int
				Backend string
				Argv    []string
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if l.Backend != b.backend || len(l.Argv) != 2 || l.Argv[1] != long {
				t.Errorf("a line says %.200s", line)
			}
			seen[l.PID] = true
		}
		if len(seen) != runs {
			t.Errorf("%d runs left lines of %d", runs, len(seen))
		}
	})
}

// TestAuditLogOutOfReach: neither the file nor its descriptor is the command's, and
// a link that an earlier run planted is not followed.
func TestAuditLogOutOfReach(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		log := tr.Path("out/log")
		res := b.run(t, tr, append(workFlags(tr), "--audit-log", log), "sh", "-c", "ls -l /proc/self/fd; echo forged >>"+log)
		if strings.Contains(res.Stdout, "log") || !strings.Contains(res.Stdout, " 2 -> ") {
			t.Errorf("the command has the descriptors %s", res.Stdout)
		}
		if text := tr.Read("out/log"); strings.Contains(text, "forged\n") || res.Status == 0 {
			t.Errorf("the command appended to the log (%+v): %q", res, text)
		}
		if free := b.free(t, tr, "sh", "-c", "echo free >>"+log); free.Status != 0 {
			t.Errorf("unconfined, the same gave %+v, want success", free)
		}
		refused(t, b.run(t, tr, append(workFlags(tr), "--audit-log", tr.Path("work/log")), "touch", "ran"), "can be changed by the command", "fd:N")
		if tr.Exists("work/log") || tr.Exists("work/ran") {
			t.Error("a refused log left something behind")
		}
		// By the command itself, for the next run.
		if res := b.run(t, tr, workFlags(tr), "sh", "-c", "mkdir d; ln -s "+tr.Path("out")+" d/out; ln -s "+tr.Path("out/file.txt")+" d/log"); res.Status != 0 {
			t.Fatalf("planting gave %+v", res)
		}
		for _, planted := range []string{"work/d/log", "work/d/out/file.txt"} {
			res := b.run(t, tr, flags{"--mode", "read-only", "--audit-log", tr.Path(planted)}, "touch", "ran")
			refused(t, res, "too many levels of symbolic links", "")
		}
		if got := tr.Read("out/file.txt"); got != "outside\n" {
			t.Errorf("a log through a planted link changed its target to %q", got)
		}
		if info, err := os.Stat(filepath.Clean(log)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the log has mode %v, %v, want 0600", info.Mode(), err)
		}
	})
}
