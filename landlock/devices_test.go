package landlock_test

import (
	"testing"

	"github.com/letta-confine/letta-confine/internal/sim"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// A root that the policy lists below /dev is writable whether or not writes are
// restricted elsewhere, although what else is there is not granted.
func TestListedDevices(t *testing.T) {
	for _, path := range []string{"/dev/kvm", "/dev/shm"} {
		for _, restrict := range []bool{true, false} {
			tree := sim.SmallTree().Dirs("/dev/shm", "/dev/pts", "/proc", "/sys").Add(policy.Device, "/dev/kvm")
			r, err := policy.Resolve(policy.Policy{Denied: []string{"/a/b"}, Writable: []string{path}, RestrictWrites: restrict}, tree)
			if err != nil {
				t.Fatal(err)
			}
			rs, err := landlock.New(r, landlock.Host{ABI: 7, List: lister(tree), MaxSiblings: 100})
			if err != nil {
				t.Fatal(err)
			}
			d, err := domain(rs, tree)
			if err != nil {
				t.Fatal(err)
			}
			if read, write := d.Access(path); !read || !write {
				t.Errorf("restrictWrites %v, writable root %q: read %v, write %v, want both\n%v", restrict, path, read, write, rs.Grants)
			}
		}
	}
}
