package dsh

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseBwrap(t *testing.T) {
	real := func(path string) (string, error) {
		switch {
		case path == "/missing":
			return "", errors.New("nothing is there")
		case strings.HasPrefix(path, "/link"):
			return "/w" + strings.TrimPrefix(path, "/link"), nil
		}
		return path, nil
	}
	const (
		base = "--ro-bind / / --dev /dev --unshare-pid --proc /proc --die-with-parent"
		work = base + " --tmpfs /tmp --bind /w /w"
	)
	argv := []string{"true"}
	for _, c := range []struct {
		args string
		want Bwrap
		err  string
	}{
		{base + " -- true", Bwrap{Isolate: true, DieWithParent: true, Argv: argv}, ""},
		{"--ro-bind / / -- true", Bwrap{Argv: argv}, ""},
		{work + " -- true", Bwrap{Isolate: true, DieWithParent: true, PrivateTmp: true, Writable: []string{"/w"}, Argv: argv}, ""},
		{work + " --ro-bind /w/p /w/p -- true", Bwrap{Isolate: true, DieWithParent: true, PrivateTmp: true, Writable: []string{"/w"}, ReadOnly: []string{"/w/p"}, Argv: argv}, ""},
		{"--ro-bind / / --tmpfs /tmp --bind /tmp/w /tmp/w -- true", Bwrap{PrivateTmp: true, Writable: []string{"/tmp/w"}, Argv: argv}, ""},
		{"--ro-bind / / --tmpfs /tmp --bind /tmp /tmp -- true", Bwrap{Writable: []string{"/tmp"}, Argv: argv}, ""},
		{"--ro-bind / / --bind /w/a /w/a --bind /w /w -- true", Bwrap{Writable: []string{"/w/a", "/w"}, Argv: argv}, ""},
		{"--ro-bind / / --bind /w /w --ro-bind /wide /wide -- true", Bwrap{Writable: []string{"/w"}, ReadOnly: []string{"/wide"}, Argv: argv}, ""},
		{"--ro-bind / / -- -- x --bind", Bwrap{Argv: []string{"--", "x", "--bind"}}, ""},

		{"", Bwrap{}, "no -- and command"},
		{base, Bwrap{}, "no -- and command"},
		{base + " --", Bwrap{}, "no -- and command"},
		{"-- true", Bwrap{}, "no --ro-bind / / before --"},
		{"--bind /w /w -- true", Bwrap{}, "no --ro-bind / / before --"},
		{"--bind / / -- true", Bwrap{}, "--bind / / after other arguments, or writable, undoes them"},
		{work + " --ro-bind / / -- true", Bwrap{}, "--ro-bind / / after other arguments, or writable, undoes them"},
		{work + " --bind / / -- true", Bwrap{}, "--bind / / after other arguments, or writable, undoes them"},
		{"--dev /dev --ro-bind / / -- true", Bwrap{}, "--ro-bind / / after other arguments, or writable, undoes them"},
		{base + " true", Bwrap{}, `argument "true" is not understood`},
		{base + " --unshare-net -- true", Bwrap{}, `argument "--unshare-net" is not understood`},
		{base + " --unshare-pid -- true", Bwrap{}, "--unshare-pid is there twice"},
		{base + " --dev /dev -- true", Bwrap{}, "--dev is there twice"},
		{work + " --tmpfs /tmp -- true", Bwrap{}, "--tmpfs is there twice"},
		{base + " --tmpfs /home -- true", Bwrap{}, `--tmpfs "/home" is not understood`},
		{"--ro-bind / / --dev /d -- true", Bwrap{}, `--dev "/d" is not understood`},
		{"--ro-bind / / --proc -- true", Bwrap{}, `--proc "--" is not understood`},
		{"--ro-bind / / --proc", Bwrap{}, "--proc wants more arguments"},
		{"--ro-bind /", Bwrap{}, "--ro-bind wants more arguments"},
		{"--bind=/w -- true", Bwrap{}, `argument "--bind=/w" is not understood`},
		{base + " --bind /w /v -- true", Bwrap{}, `--bind "/w" "/v" shows a path in another place`},
		{work + " --ro-bind /dev/null /w/f -- true", Bwrap{}, `--ro-bind "/dev/null" "/w/f" shows a path in another place`},
		{base + " --bind   -- true", Bwrap{}, "--bind: the path is empty"},
		{base + " --bind /missing /missing -- true", Bwrap{}, `--bind "/missing": nothing is there`},
		{work + " --ro-bind /w /w -- true", Bwrap{}, `--ro-bind "/w" would hide --bind "/w", which comes before it`},
		{"--ro-bind / / --bind /link/a /link/a --ro-bind /w /w -- true", Bwrap{}, `--ro-bind "/w" would hide --bind "/w/a", which comes before it`},
		{"--ro-bind / / --ro-bind /w/p /w/p --bind /w /w -- true", Bwrap{}, `--bind "/w" would hide --ro-bind "/w/p", which comes before it`},
		{"--ro-bind / / --bind /tmp/w /tmp/w --tmpfs /tmp -- true", Bwrap{}, `--tmpfs "/tmp" would hide --bind "/tmp/w", which comes before it`},
	} {
		var args []string
		if c.args != "" {
			args = strings.Split(c.args, " ")
		}
		got, err := ParseBwrap(args, real)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.err || !reflect.DeepEqual(got, c.want) {
			t.Errorf("ParseBwrap(%q) = %+v, %q, want %+v, %q", args, got, text, c.want, c.err)
		}
	}
}
