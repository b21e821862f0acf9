package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/probe"
)

// elsewhere are the tests that bring about what no host of the table has, below the
// top of the repository: what is said depends on the flags, or on the time.
var elsewhere = map[string]string{
	"bwrap-timeout":    "integration/probe_linux_test.go",
	"landlock-timeout": "cmd/letta-confine/testdata/script/probe.txtar",
	"policy-refused":   "cmd/letta-confine/testdata/script/probe.txtar",
}

// denied is the code that has causes.
const denied = "bwrap-userns-denied "

// unmade is what cannot be brought about here, and why.
var unmade = map[string]string{
	"seatbelt-absent":  "takes a Mac",
	"seatbelt-nested":  "takes a Mac",
	"seatbelt-profile": "takes a Mac",
	"seatbelt-timeout": "takes a Mac",
	"seatbelt-failed":  "takes a Mac",
	denied + "unknown": "takes a security module other than AppArmor and Landlock, with a policy",
}

// TestEveryCodeHasAHost: each reason, and each cause, is produced on a host that
// really has that condition, or by a test that brings it about, or is said to be
// unmade, and only one of these.
func TestEveryCodeHasAHost(t *testing.T) {
	table, err := rows(expected)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, r := range table {
		for _, column := range r.want {
			for word := range strings.FieldsSeq(column) {
				shown[word] = true
			}
			shown[column] = true
		}
	}
	codes := slices.Clone(probe.Codes)
	for _, cause := range probe.Causes {
		codes = append(codes, denied+cause)
	}
	for _, code := range codes {
		ways := 0
		if shown[code] {
			ways++
		}
		if file, ok := elsewhere[code]; ok {
			ways++
			text, err := os.ReadFile(filepath.Join("../..", file))
			if err != nil || !strings.Contains(string(text), code) {
				t.Errorf("%s does not show %s (%v)", file, code, err)
			}
		}
		if unmade[code] != "" {
			ways++
		}
		if ways != 1 {
			t.Errorf("%s is shown in %d ways, want one: a host of expected.tsv, or a word here why not", code, ways)
		}
	}
}

// An older Landlock is named by its version.
func TestWrongCode(t *testing.T) {
	for _, c := range []struct {
		backend, code string
		gaps          []string
		abi           int
		wrong         bool
	}{
		{"landlock", "landlock-abi-2", []string{"metadata", "truncate"}, 2, false},
		{"landlock", "landlock-abi-7", []string{"unix-sockets"}, 7, false},
		{"landlock", "", []string{"metadata"}, 9, false},
		{"bwrap", "", []string{"fifo"}, 7, false},
		{"landlock", "", []string{"truncate"}, 2, true},
		{"landlock", "landlock-abi-3", []string{"truncate"}, 2, true},
		{"bwrap", "bwrap-failed", nil, 7, true},
	} {
		if got := wrongCode(c.backend, c.code, c.gaps, c.abi); (got != "") != c.wrong {
			t.Errorf("wrongCode(%+v) = %q", c, got)
		}
	}
}
