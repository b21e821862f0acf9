package sim_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// need ends the test when the host lacks facility. It skips, with the reason,
// unless CONFINE_REQUIRE (comma separated) names the facility: then it fails.
func need(t testing.TB, facility string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), facility):
		t.Fatalf("CONFINE_REQUIRE names %s, which this host lacks: %v", facility, err)
	default:
		t.Skipf("needs %s: %v", facility, err)
	}
}
