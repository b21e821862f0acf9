package inner

import (
	"reflect"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/policy"
)

var plans = map[string]Plan{
	"least": {Argv: []string{"true"}},
	"empty argument": {
		Argv: []string{"", "a b", "\x00", "\xff\n"}, Env: []string{"A=", "=", ""},
	},
	"everything": {
		Argv: []string{"sh", "-c", "exit 7"}, Env: []string{"PATH=/bin", "A=b=c"},
		Dir: "/home/u/é\n", DirID: policy.ID{Dev: 1<<64 - 1, Ino: 1<<63 + 1},
		Checks: []bwrap.Check{
			{Path: "/a", ID: policy.ID{Dev: 1, Ino: 2}, State: bwrap.Same},
			{Path: "/a/b", State: bwrap.Masked},
		},
		Keep: []int{3, 1 << 20}, Stderr: 9, Mask: 1<<63 | 1,
	},
	"long": {Argv: []string{strings.Repeat("x", 1<<20)}, Env: strings.Split(strings.Repeat("A=1 ", 5000), " ")},
}

func TestPlanRoundTrip(t *testing.T) {
	for name, p := range plans {
		got, err := decode(p.Encode())
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: decode(Encode) = %.200v, %v, want %.200v", name, got, err, p)
		}
	}
}

// A plan that is cut short, or goes on, is refused: what is missing could be
// the checks.
func TestDecodeRefuses(t *testing.T) {
	text := plans["everything"].Encode()
	for n := range text {
		if p, err := decode(text[:n]); err != errPlan || !reflect.DeepEqual(p, Plan{}) {
			t.Errorf("decode of the first %d bytes = %v, %v, want an error", n, p, err)
		}
	}
	for name, data := range map[string][]byte{
		"nothing":                nil,
		"one byte more":          append(text[:len(text):len(text)], 0),
		"two plans":              append(text[:len(text):len(text)], text...),
		"no argv":                Plan{Dir: "/"}.Encode(),
		"a count without items":  {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a length without bytes": {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a number that overflows": {
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
		},
	} {
		if p, err := decode(data); err != errPlan {
			t.Errorf("%s: decode = %v, %v, want an error", name, p, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range plans {
		if text := p.Encode(); len(text) < 1000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(p.Encode())
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("decode(Encode(%v)) = %v, %v", p, again, err)
		}
	})
}
