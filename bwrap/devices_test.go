package bwrap_test

import (
	"testing"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/policy"
)

// A root that the policy lists below /dev, or that is a device, is writable
// whether or not writes are restricted elsewhere: the private /dev would hide the
// first, and a bind without devices refuses the second.
func TestListedDevices(t *testing.T) {
	for _, path := range []string{"/dev/kvm", "/dev/shm", "/w/disk"} {
		for _, restrict := range []bool{true, false} {
			tree := sim.NewTree().Dirs("/dev/shm", "/proc/sys", "/sys").Add(policy.Device, "/dev/kvm", "/w/disk")
			r, err := policy.Resolve(policy.Policy{Writable: []string{path}, RestrictWrites: restrict}, tree)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := bwrap.New(r, bwrap.Host{Layered: true})
			if err != nil {
				t.Fatal(err)
			}
			v, err := sim.Bwrap(plan.Args, tree, nil)
			if err != nil {
				t.Errorf("restrictWrites %v, writable root %q: %v\n%q", restrict, path, err, plan.Args)
				continue
			}
			if read, write := v.Access(path); !read || !write {
				t.Errorf("restrictWrites %v, writable root %q: read %v, write %v, want both\n%q", restrict, path, read, write, plan.Args)
			}
		}
	}
}
