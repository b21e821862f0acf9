package integration

import "testing"

// TestKilledBubblewrap: the command ends with bubblewrap, also when that ends
// while it is still mounting; the supervisor cannot give it a sandbox again.
func TestKilledBubblewrap(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) { b.killed(t, 500, false, theBubblewrap) })
}

// TestKilledLauncherAtItsStart: a launcher that is killed while bubblewrap starts
// leaves nothing of itself and of the command. Of bubblewrap it can leave a child
// that waits for good, which is a limit.
func TestKilledLauncherAtItsStart(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) { b.killed(t, 1000, false, theLauncher) })
}

// TestKilledLauncherHasReported: what a killed launcher made is in the report,
// whenever it was killed.
func TestKilledLauncherHasReported(t *testing.T) {
	eachOn(t, "bwrap", func(t *testing.T, b box) { b.killed(t, 500, true, theLauncher) })
}
