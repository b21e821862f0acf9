package denial

import (
	"slices"
	"testing"
)

func TestRights(t *testing.T) {
	text := `sudo: The "no new privileges" flag is set, which prevents sudo from running as root.
sudo: If sudo is running in a container, you may need to adjust the container configuration to disable the flag.
make: *** [all] Error 1
sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set or an NFS file system without root privileges?
pkexec must be setuid root
doas: not installed setuid
sudo: a password is required
sudo-rs: sudo must be owned by uid 0 and have the setuid bit set
`
	var got []int
	for _, l := range Rights(text) {
		got = append(got, l.Number)
	}
	if want := []int{1, 4, 5, 6, 8}; !slices.Equal(got, want) {
		t.Errorf("Rights finds lines %v, want %v", got, want)
	}
}
