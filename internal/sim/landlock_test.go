package sim_test

import (
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
)

// abi7 is every right that ABI 7 knows.
const abi7 = sim.IoctlDev<<1 - 1

func TestLandlockRights(t *testing.T) {
	// The numbers are the kernel's (include/uapi/linux/landlock.h).
	for right, want := range map[uint64]uint64{
		sim.Execute: 1 << 0, sim.WriteFile: 1 << 1, sim.ReadFile: 1 << 2, sim.ReadDir: 1 << 3,
		sim.RemoveDir: 1 << 4, sim.RemoveFile: 1 << 5, sim.MakeChar: 1 << 6, sim.MakeDir: 1 << 7,
		sim.MakeReg: 1 << 8, sim.MakeSock: 1 << 9, sim.MakeFifo: 1 << 10, sim.MakeBlock: 1 << 11,
		sim.MakeSym: 1 << 12, sim.Refer: 1 << 13, sim.Truncate: 1 << 14, sim.IoctlDev: 1 << 15,
		sim.ResolveUnix: 1 << 16,
	} {
		if right != want {
			t.Errorf("right = %#x, want %#x", right, want)
		}
	}
}

func TestLandlockAllows(t *testing.T) {
	grants := []sim.Grant{
		{Path: "/a", Rights: sim.ReadFile | sim.ReadDir},
		{Path: "/a/b", Rights: sim.WriteFile},
		{Path: "/a/f", Rights: sim.Truncate},
	}
	d, err := sim.Landlock(abi7, grants, hostTree())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		rights     uint64
		want       bool
	}{
		{"nothing is granted outside", "/ab", sim.ReadFile, false},
		{"nothing is granted above", "/", sim.ReadDir, false},
		{"a grant holds on its own path", "/a", sim.ReadDir, true},
		{"a grant holds below", "/a/b/c/new", sim.ReadFile, true},
		{"a grant does not reach a name that starts the same", "/ab", sim.ReadDir, false},
		{"grants above and below add up", "/a/b/c", sim.ReadFile | sim.WriteFile, true},
		{"a deeper grant takes nothing away", "/a/b", sim.ReadDir, true},
		{"one right too many", "/a/b", sim.ReadFile | sim.MakeReg, false},
		{"a right that is not handled is allowed", "/ab", sim.ResolveUnix, true},
		{"refer is refused although granted nowhere", "/a", sim.Refer, false},
		{"a grant on a file", "/a/f", sim.Truncate | sim.ReadFile, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.Allows(tt.path, tt.rights); got != tt.want {
				t.Errorf("Allows(%q, %#x) = %v, want %v", tt.path, tt.rights, got, tt.want)
			}
		})
	}
	old, err := sim.Landlock(sim.Refer-1, nil, hostTree())
	if err != nil {
		t.Fatal(err)
	}
	if old.Allows("/a", sim.Refer) {
		t.Error("a domain that does not handle refer allows it")
	}
	if !old.Allows("/a", sim.Truncate) {
		t.Error("a domain that does not handle truncate refuses it")
	}
}

func TestLandlockAccess(t *testing.T) {
	const all = abi7 &^ (sim.MakeChar | sim.MakeBlock)
	type access struct{ read, write, readLeaks, writeLeaks bool }
	tests := []struct {
		name   string
		grants []sim.Grant
		path   string
		want   access
	}{
		{"no grant", nil, "/a", access{}},
		{"all of a directory", []sim.Grant{{"/a", all}}, "/a", access{true, true, true, true}},
		{"all of a file in it", []sim.Grant{{"/a", all}}, "/a/f", access{true, true, true, true}},
		{"all of what is not there yet", []sim.Grant{{"/a", all}}, "/a/new", access{true, true, true, true}},
		{"read of a directory is listing it", []sim.Grant{{"/a", sim.ReadDir}}, "/a", access{true, false, true, false}},
		{"read of a file needs more", []sim.Grant{{"/a", sim.ReadDir}}, "/a/f", access{}},
		{"read of what is not there needs both", []sim.Grant{{"/a", sim.ReadDir}}, "/a/new", access{false, false, true, false}},
		{"execute lets contents out", []sim.Grant{{"/a", sim.Execute}}, "/a/f", access{false, false, true, false}},
		{"writing without truncating is a part", []sim.Grant{{"/a/f", sim.WriteFile}}, "/a/f", access{false, false, false, true}},
		{"making a device node is a write", []sim.Grant{{"/a", sim.MakeBlock}}, "/a", access{false, false, false, true}},
		{"moving alone is no write", []sim.Grant{{"/a", sim.Refer}}, "/a", access{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := sim.Landlock(abi7, tt.grants, hostTree())
			if err != nil {
				t.Fatal(err)
			}
			var got access
			got.read, got.write = d.Access(tt.path)
			got.readLeaks, got.writeLeaks = d.Leaks(tt.path)
			if got != tt.want {
				t.Errorf("access to %q = %+v, want %+v", tt.path, got, tt.want)
			}
		})
	}
}

func TestLandlockRefuses(t *testing.T) {
	tests := []struct {
		name    string
		handled uint64
		grant   sim.Grant
		want    string
	}{
		{"a ruleset that handles nothing", 0, sim.Grant{}, "handled rights"},
		{"a right that no kernel knows", 1 << 17, sim.Grant{}, "handled rights"},
		{"an empty rule", abi7, sim.Grant{Path: "/a"}, "empty rule"},
		{"a grant of what is not handled", sim.ReadFile, sim.Grant{Path: "/a", Rights: sim.WriteFile}, "not handled"},
		{"a missing path", abi7, sim.Grant{Path: "/none", Rights: sim.ReadFile}, "is missing"},
		{"a symlink", abi7, sim.Grant{Path: "/l", Rights: sim.ReadFile}, "is symlink"},
		{"listing granted on a file", abi7, sim.Grant{Path: "/a/f", Rights: sim.ReadFile | sim.ReadDir}, "to a directory"},
		{"refer granted on a device", abi7, sim.Grant{Path: "/a/disk", Rights: sim.Refer}, "to a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := sim.Landlock(tt.handled, []sim.Grant{tt.grant}, hostTree())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Landlock error = %v, want one with %q", err, tt.want)
			}
		})
	}
}
