package integration

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// folding is a file system that ignores case, with one directory /d/Secret.
type folding struct{}

func (folding) Lstat(name string) (policy.Info, error) {
	switch strings.ToLower(name) {
	case "/", "/d":
		return policy.Info{Kind: policy.Dir, ID: policy.ID{Dev: 1, Ino: uint64(len(name))}}, nil
	case "/d/secret":
		return policy.Info{Kind: policy.Dir, ID: policy.ID{Dev: 1, Ino: 7}}, nil
	}
	return policy.Info{}, fs.ErrNotExist
}

func (folding) Readlink(string) (string, error) { return "", fs.ErrInvalid }
func (folding) Replaceable(string) bool         { return true }

// TestCaseInsensitiveSibling: where a directory ignores case, a denied root that
// is spelled unlike its entry is not the entry's sibling. TestCaseInsensitiveDirectory
// shows it on a kernel that can; this one needs none.
func TestCaseInsensitiveSibling(t *testing.T) {
	t.Parallel()
	for _, spelled := range []string{"/d/Secret", "/d/secret"} {
		r, err := policy.Resolve(policy.Policy{Denied: []string{spelled}}, folding{})
		if err != nil {
			t.Fatal(err)
		}
		rs, err := landlock.New(r, landlock.Host{ABI: 7, MaxSiblings: 100, List: func(dir string) ([]landlock.Entry, error) {
			if dir == "/d" {
				return []landlock.Entry{{Name: "Secret", Kind: policy.Dir}}, nil
			}
			return []landlock.Entry{{Name: "d", Kind: policy.Dir}}, nil
		}})
		if err != nil {
			continue // a refusal is an answer
		}
		for _, g := range rs.Grants {
			if strings.EqualFold(g.Path, "/d/secret") {
				t.Errorf("with %s denied the rules grant %v on %s", spelled, g.Rights, g.Path)
			}
		}
	}
}
