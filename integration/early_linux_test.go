package integration

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestParentThatDiesEarly: a caller that is gone before the launcher looks is
// gone all the same, and the command ends, or does not start.
func TestParentThatDiesEarly(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for range 5 {
			cmd := b.called(t, tr, "killed-early", append(flags{"--die-with-parent"}, crossFlags(tr)...), "sleep", "60")
			ended(t, cmd.Process.Pid)
			if t.Failed() {
				return
			}
		}
	})
}
