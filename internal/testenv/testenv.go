// Package testenv is what the tests of this project need from the machine: the
// built launcher, scratch trees, a user without privilege to run it as, and an
// honest answer where one of these cannot be had.
//
// A missing facility is never a quiet pass: [Need] skips by name, or fails where
// CONFINE_REQUIRE names what is missing.
//
// # Limits
//
// Only tests import it. Scratch trees lie in the temporary directory and are
// removed with the test; nothing else on the host is written.
package testenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Facilities that tests need, as CONFINE_REQUIRE spells them.
const (
	FacilityBwrap    = "bwrap"    // bubblewrap, in a place that the launcher trusts
	FacilityLandlock = "landlock" // a kernel that enforces Landlock, with truncation (ABI 3)
	FacilityUserns   = "userns"   // user namespaces for a plain user
	FacilityRoot     = "root"     // the tests run as uid 0 with its capabilities
	FacilitySeatbelt = "seatbelt" // macOS, and no sandbox around the tests
	FacilityTools    = "tools"    // git, go, npm, python3, each working unconfined
	FacilityPTY      = "pty"      // pseudoterminals
	FacilityNPM      = "npm"      // node, and a registry that npm can reach
)

// Need ends the test when the host lacks facility. It skips, with the reason,
// unless CONFINE_REQUIRE (comma separated) names the facility: then it fails.
func Need(t testing.TB, facility string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), facility):
		t.Fatalf("CONFINE_REQUIRE names %s, which this host lacks: %v", facility, err)
	default:
		t.Skipf("needs %s: %v", facility, err)
	}
}
