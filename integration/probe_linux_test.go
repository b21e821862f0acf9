package integration

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// A bubblewrap that never comes back is given up, and nothing of it stays behind.
func TestProbeTimeout(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		list := tr.Path("work/pids")
		hanging := program(t, filepath.Join(trustedDir(t), "bwrap"), "#!/bin/sh\necho $$ >>"+list+"\nexec sleep 600\n")
		began := time.Now()
		res := b.free(t, tr, testenv.Launcher(t), "probe", "--probe-timeout", "1s", "--bwrap", hanging)
		if !strings.Contains(res.Stdout, "bwrap: unusable (bwrap-timeout): restricted writes: nothing happened for 1s\n") || res.Status != 1 {
			t.Errorf("probe with a bubblewrap that hangs: status %d\n%s%s", res.Status, res.Stdout, res.Stderr)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("probe took %v", took)
		}
		var pids []int
		for word := range strings.FieldsSeq(tr.Read("work/pids")) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
		if len(pids) == 0 {
			t.Error("the bubblewrap that hangs was never started")
		}
		gone(t, pids)
	})
}
