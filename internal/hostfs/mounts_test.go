package hostfs_test

import (
	"slices"
	"testing"

	"github.com/letta-confine/letta-confine/internal/hostfs"
)

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:20 / /proc rw - proc proc rw
30 22 254:0 /home /srv/alias rw - ext4 /dev/vda rw
31 22 254:0 / /mnt/again rw - ext4 /dev/vda rw
32 22 254:0 /home/u/.letta/agents/bob/memory /srv/leaf rw - ext4 /dev/vda rw
33 22 0:40 / /home/u/.letta/agents/tmp rw - tmpfs x rw
34 22 0:40 /sub /srv/with\040space\134n rw - tmpfs x rw
35 22 254:1 / /other rw - ext4 /dev/vdb rw
36 22 254:0 /home/u2 /srv/sibling rw - ext4 /dev/vda rw
`

func TestAliases(t *testing.T) {
	mounts, err := hostfs.ParseMounts(mountinfo)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		root string
		want []string
	}{
		{"/home/u/.letta/agents", []string{
			"/mnt/again/home/u/.letta/agents", "/srv/alias/u/.letta/agents", "/srv/leaf", "/srv/with space\\n",
		}},
		{"/home", []string{"/mnt/again/home", "/srv/alias", "/srv/leaf", "/srv/sibling", "/srv/with space\\n"}},
		{"/other/x", nil},
		{"/srv/leaf", []string{"/home/u/.letta/agents/bob/memory", "/mnt/again/home/u/.letta/agents/bob/memory", "/srv/alias/u/.letta/agents/bob/memory"}},
	} {
		got := hostfs.Aliases(tt.root, mounts)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("Aliases(%q) = %q, want %q", tt.root, got, tt.want)
		}
	}
}

// TestOverlayAliases: an overlay and its layers show the same files.
func TestOverlayAliases(t *testing.T) {
	mounts, err := hostfs.ParseMounts(`22 1 254:0 / / rw - ext4 /dev/vda rw
40 22 0:50 / /merged rw - overlay o rw,lowerdir=/l/a\134,\134:\040b:/l/two,upperdir=/up,workdir=/work
41 22 0:50 /sub /part rw - overlay o rw,lowerdir=/l/a\134,\134:\040b:/l/two,upperdir=/up,workdir=/work
42 22 0:51 / /new rw - overlay o rw,lowerdir+=/home,datadir+=/data
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		root string
		want []string
	}{
		{"/merged/sub/x", []string{"/l/a,: b/sub/x", "/l/two/sub/x", "/part/x", "/up/sub/x"}},
		{"/part", []string{"/l/a,: b/sub", "/l/two/sub", "/merged/sub", "/up/sub"}},
		{"/up/sub/x", []string{"/l/a,: b/sub/x", "/l/two/sub/x", "/merged/sub/x", "/part/x"}},
		{"/home/u", []string{"/data/u", "/new/u"}},
		{"/l", []string{"/merged", "/part", "/up"}},
		{"/work", nil},
	} {
		got := hostfs.Aliases(tt.root, mounts)
		slices.Sort(got)
		if !slices.Equal(got, tt.want) {
			t.Errorf("Aliases(%q) = %q, want %q", tt.root, got, tt.want)
		}
	}
}

func TestParseMountsRefusesOtherForms(t *testing.T) {
	for _, text := range []string{"22 1 254:0 / /\n", "\n", "x"} {
		if _, err := hostfs.ParseMounts(text); err == nil {
			t.Errorf("ParseMounts(%q) succeeds", text)
		}
	}
}
