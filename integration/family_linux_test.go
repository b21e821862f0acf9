package integration

import (
	"os/exec"
	"testing"
)

// TestFamily: a child that ends while its parent's family is listed is no error.
func TestFamily(t *testing.T) {
	cmd := exec.CommandContext(soon(t), "sh", "-c", "while :; do /bin/true; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for range 20000 {
		if pids := family(t, cmd.Process.Pid); pids[0] != cmd.Process.Pid {
			t.Fatalf("the family of %d is %v", cmd.Process.Pid, pids)
		}
	}
}
