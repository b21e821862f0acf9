package dsh

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseLandlockRun(t *testing.T) {
	for _, c := range []struct {
		args string // separated by |
		want LandlockRun
		err  string
	}{
		{"", LandlockRun{}, "usage error: missing `-- <argv>...` command"},
		{"--", LandlockRun{}, "usage error: missing `-- <argv>...` command"},
		{"--ro|/", LandlockRun{}, "usage error: missing `-- <argv>...` command"},
		{"--ro|/|--", LandlockRun{}, "usage error: missing `-- <argv>...` command"},
		{"--help", LandlockRun{}, "usage error: unknown argument: --help"},
		{"--ro=/|--|true", LandlockRun{}, "usage error: unknown argument: --ro=/"},
		{"true", LandlockRun{}, "usage error: unknown argument: true"},
		{"-- |true", LandlockRun{}, "usage error: unknown argument: -- "},
		{"--rw", LandlockRun{}, "usage error: --rw requires a path"},
		{"--ro|/|--rw", LandlockRun{}, "usage error: --rw requires a path"},
		{"--probe|--", LandlockRun{}, "usage error: --probe takes no other arguments"},
		{"--ro|/|--probe|--|true", LandlockRun{}, "usage error: --probe takes no other arguments"},
		{"--bogus|--probe", LandlockRun{}, "usage error: unknown argument: --bogus"},
		{"--probe", LandlockRun{Probe: true}, ""},
		{"--|--probe", LandlockRun{Argv: []string{"--probe"}}, ""},
		{"--|--|x", LandlockRun{Argv: []string{"--", "x"}}, ""},
		{"--ro|--|--|x", LandlockRun{Grants: []Grant{{"--", false}}, Argv: []string{"x"}}, ""},
		{"--rw||--|x", LandlockRun{Grants: []Grant{{"", true}}, Argv: []string{"x"}}, ""},
		{"--ro|/|--rw|w|--ro|/|--|x|--ro", LandlockRun{Grants: []Grant{{"/", false}, {"w", true}, {"/", false}}, Argv: []string{"x", "--ro"}}, ""},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, "|")
		}
		got, err := ParseLandlockRun(args)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err || !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseLandlockRun(%q) = %+v, %q, want %+v, %q", args, got, text, c.want, c.err)
		}
	}
}
