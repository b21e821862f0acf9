package sim_test

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/sim"
)

// landlockClaims are what the interpreter says of Landlock beyond the random
// comparison, and what the kernel answers. "@" stands for the host directory.
// refuses is what the interpreter says of the ruleset; step and err are where
// the kernel refuses it.
var landlockClaims = []struct {
	name    string
	handled uint64 // 0: all that the kernel mediates
	grants  []sim.Grant
	refuses string
	step    string
	err     syscall.Errno
	want    map[string]syscall.Errno
}{
	{
		name:    "a right that no kernel knows",
		handled: 1 << 40, refuses: "handled rights", step: "create ruleset", err: unix.EINVAL,
	},
	{
		name: "an empty rule", grants: []sim.Grant{{Path: "@/a"}}, refuses: "empty rule", step: "add rule", err: unix.ENOMSG,
	},
	{
		name:    "a grant of what is not handled",
		handled: sim.ReadFile, grants: []sim.Grant{{Path: "@/a", Rights: sim.WriteFile}}, refuses: "not handled", step: "add rule", err: unix.EINVAL,
	},
	{
		name: "a right to a directory granted on a file", grants: []sim.Grant{{Path: "@/a/f", Rights: sim.ReadFile | sim.ReadDir}},
		refuses: "to a directory", step: "add rule", err: unix.EINVAL,
	},
	{
		name: "a missing root cannot be named", grants: []sim.Grant{{Path: "@/none", Rights: sim.ReadFile}},
		refuses: "is missing", step: "open", err: unix.ENOENT,
	},
	{
		name: "a symlinked root gives its rights to the target", grants: []sim.Grant{{Path: "@/link", Rights: sim.ReadFile}},
		refuses: "is symlink", step: "restrict self",
		want: map[string]syscall.Errno{"read @/a/b/f": 0, "read @/link/f": 0, "read @/a/f": unix.EACCES},
	},
	{
		name: "a carve-out is granted inside what is not", grants: []sim.Grant{{Path: "@/a/b", Rights: sim.ReadFile | sim.MakeReg}},
		step: "restrict self",
		want: map[string]syscall.Errno{"read @/a/b/f": 0, "read @/a/b/c/f": 0, "make file @/a/b/c/x": 0, "read @/a/f": unix.EACCES, "read @/a/d/f": unix.EACCES},
	},
	{
		name: "a deeper rule takes nothing away", grants: []sim.Grant{{Path: "@/a", Rights: sim.ReadFile}, {Path: "@/a/b", Rights: sim.ReadDir}},
		step: "restrict self",
		want: map[string]syscall.Errno{"read @/a/b/f": 0, "list @/a/b": 0, "list @/a": unix.EACCES, "list @/a/b/c": 0},
	},
	{
		name: "a file hidden beside granted ones", grants: []sim.Grant{{Path: "@/a/b", Rights: sim.ReadFile}, {Path: "@/a/d", Rights: sim.ReadFile}},
		step: "restrict self",
		want: map[string]syscall.Errno{"read @/a/b/f": 0, "read @/a/d/f": 0, "read @/a/f": unix.EACCES},
	},
	{
		name: "a move without refer", grants: []sim.Grant{{Path: "@/", Rights: sim.Refer - 1}},
		step: "restrict self",
		want: map[string]syscall.Errno{"rename @/a/f @/ab/y": unix.EXDEV, "link @/a/f @/ab/z": unix.EXDEV, "rename @/ab/f @/ab/w": 0},
	},
	{
		name:    "a move where refer is not handled",
		handled: sim.ReadFile, step: "restrict self",
		want: map[string]syscall.Errno{"rename @/a/f @/ab/y": unix.EXDEV, "rename @/ab/f @/ab/w": 0},
	},
	{
		name: "names are bytes", grants: []sim.Grant{
			{Path: "@/new\nline", Rights: sim.ReadFile},
			{Path: `@/quo"te`, Rights: sim.ReadFile},
			{Path: `@/back\slash`, Rights: sim.ReadFile},
			{Path: "@/bad\xff\xfeutf8/b", Rights: sim.ReadFile},
		},
		step: "restrict self",
		want: map[string]syscall.Errno{
			"read @/new\nline/f": 0, `read @/quo"te/f`: 0, `read @/back\slash/f`: 0, "read @/bad\xff\xfeutf8/b/f": 0,
			"read @/bad\xff\xfeutf8/f": unix.EACCES, "read @/ab/f": unix.EACCES,
		},
	},
}

func TestLandlockClaims(t *testing.T) {
	all := mediated(t)
	asWhom(t, func(t *testing.T, uid int) {
		for _, tt := range landlockClaims {
			t.Run(tt.name, func(t *testing.T) {
				at, tree := claimHost(t, uid)
				j := job{UID: uid, Handled: tt.handled}
				if j.Handled == 0 {
					j.Handled = all
				}
				for _, g := range tt.grants {
					j.Grants = append(j.Grants, sim.Grant{Path: strings.TrimSuffix(strings.ReplaceAll(g.Path, "@", at), "/"), Rights: g.Rights})
				}
				d, err := sim.Landlock(j.Handled, j.Grants, tree)
				if tt.refuses == "" && err != nil || tt.refuses != "" && (err == nil || !strings.Contains(err.Error(), tt.refuses)) {
					t.Errorf("interpreter: %v, want an error with %q", err, tt.refuses)
				}
				var lines []string
				for line := range tt.want {
					lines = append(lines, line)
					op, path, other := splitTry(strings.ReplaceAll(line, "@", at))
					j.Tries = append(j.Tries, try{op, path, other})
				}
				a := j.run(t)
				if a.Step != tt.step || a.Errno != tt.err {
					t.Fatalf("kernel: %s: %v, want %s: %v", a.Step, a.Errno, tt.step, tt.err)
				}
				h := landlockHost{at: at, tree: tree, t: t}
				for i, line := range lines {
					if got := a.Tries[i]; got != tt.want[line] {
						t.Errorf("kernel: %s: %v, want %v", line, got, tt.want[line])
					}
					if got := err != nil || h.predict(d, j.Tries[i]) == (tt.want[line] == 0); !got {
						t.Errorf("interpreter: %s is not %v", line, tt.want[line])
					}
				}
			})
		}
	})
}

// splitTry reads "op /path" or "op /path /other"; an op may be two words.
func splitTry(line string) (op, path, other string) {
	op, rest, _ := strings.Cut(line, " /")
	path, other, two := strings.Cut("/"+rest, " /")
	if two {
		other = "/" + other
	}
	return op, path, other
}
