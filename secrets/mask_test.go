package secrets

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/mask"
)

// TestMask: what the scanner finds, the launcher hides before it writes arguments
// anywhere. The launcher has a table of its own because it must not link this one.
func TestMask(t *testing.T) {
	// Digits, a colon and two letters: a form that only a pattern tells from a
	// time or a port.
	known := map[string]bool{"telegram-bot-token": true}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, row := range strings.Split(strings.TrimSpace(kinds), "\n")[1:] {
		cells := strings.Split(row, "\t")
		kind, pattern := cells[0], cells[1]
		missed := ""
		for range 100 {
			text := sampleOf(t, pattern, rng)
			for _, args := range [][]string{{text}, {"sh", "-c", "echo '" + text + "' >x"}, {"sh", "-c", "echo " + text + " >x"}} {
				masked := strings.Join(mask.Argv(args), " ")
				if found := New().Scan("", []byte(masked)); len(found) > 0 {
					missed = masked
				}
			}
		}
		if (missed != "") != known[kind] {
			t.Errorf("%s: %q is left", kind, missed)
		}
	}
}

// TestMasked: each form that the launcher hides by its look alone is one that the
// scanner finds.
func TestMasked(t *testing.T) {
	for _, prefix := range mask.Prefixes() {
		rng := rand.New(rand.NewPCG(5, 6))
		var text string
		switch prefix {
		case "AKIA", "ASIA", "ABIA", "ACCA":
			text = prefix + sampleOf(t, `[A-Z2-7]{16}`, rng)
		case "SG.":
			text = prefix + sampleOf(t, `[A-Za-z0-9]{22}\.[A-Za-z0-9]{43}`, rng)
		case "eyJ":
			text = prefix + sampleOf(t, `[A-Za-z0-9]{12}\.eyJ[A-Za-z0-9]{12}\.[A-Za-z0-9]{12}`, rng)
		case "dop_v1_", "doo_v1_", "dor_v1_":
			text = prefix + sampleOf(t, `[a-f0-9]{64}`, rng)
		case "AGE-SECRET-KEY-1":
			text = prefix + sampleOf(t, `[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`, rng)
		case "AIza":
			text = prefix + sampleOf(t, `[A-Za-z0-9]{35}`, rng)
		case "npm_":
			text = prefix + sampleOf(t, `[A-Za-z0-9]{36}`, rng)
		default:
			text = prefix + sampleOf(t, `[A-Za-z0-9]{64}`, rng)
		}
		if masked := mask.Argv([]string{text})[0]; !strings.HasSuffix(masked, mask.Mark) || strings.Contains(masked, text[len(prefix):]) {
			t.Errorf("%q becomes %q", text, masked)
		}
		if found := New().Scan("", []byte(text)); len(found) == 0 {
			t.Errorf("%q is hidden and not found", text)
		}
	}
}
