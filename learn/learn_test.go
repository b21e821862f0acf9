package learn

import (
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/policy"
)

// tree is a host after the command has ended, by its files.
type tree []string

func (t tree) Lstat(name string) (policy.Info, error) {
	for _, entry := range t {
		if entry == name {
			return policy.Info{Kind: policy.File}, nil
		}
		if name == "/" || strings.HasPrefix(entry, name+"/") {
			return policy.Info{Kind: policy.Dir}, nil
		}
	}
	return policy.Info{}, fs.ErrNotExist
}

func (t tree) Readlink(string) (string, error) { return "", fs.ErrInvalid }
func (t tree) Replaceable(string) bool         { return false }

var host = tree{
	"/h/u/work/f", "/h/u/.profile", "/h/u/.npm/a/x", "/h/u/out/sub/f", "/h/u/.cache/go/1", "/etc/app/x", "/tmp/y", "/etc/hosts",
	"/h/u/.ssh/id", "/h/u/.ssh/keys/a", "/h/u/many/a/f", "/h/u/many/b/f", "/h/u/many/c/f", "/h/u/many/d/f", "/h/u/many/e/f", "/proc/sys/x", "/dev/null",
}

// wished reads what said writes.
func wished(list []string) (wishes []denial.Wish) {
	for _, s := range list {
		op, path, _ := strings.Cut(s, " ")
		wishes = append(wishes, denial.Wish{Path: path, Op: denial.Op(op)})
	}
	return wishes
}

func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		what        string
		wishes      []string
		write, read []string
		left        []string
		deny        []string
	}{
		{what: "nothing", wishes: nil},
		{what: "what is allowed already", wishes: []string{"create /h/u/work/new", "read /etc/hosts", "write /dev/null"}},
		{what: "the directory of what is written", wishes: []string{"write /h/u/out/sub/f"}, write: []string{"/h/u/out/sub"}},
		{what: "a file in the home directory by its own name", wishes: []string{"create /h/u/.profile"}, write: []string{"/h/u/.profile"}},
		{what: "a directory that the command made in the home directory", wishes: []string{"create /h/u/.npm", "create /h/u/.npm/a"}, write: []string{"/h/u/.npm"}},
		{what: "a file that comes and goes in the home directory is left", wishes: []string{"create /h/u/.x", "delete /h/u/.x"}, left: []string{"create /h/u/.x", "delete /h/u/.x"}},
		{what: "not /etc, but what is in it", wishes: []string{"write /etc/hosts", "create /etc/app/new"}, write: []string{"/etc/app", "/etc/hosts"}},
		{what: "not ~/.cache, but what is in it", wishes: []string{"write /h/u/.cache/go/1"}, write: []string{"/h/u/.cache/go"}},
		{what: "many directories are one", wishes: []string{
			"write /h/u/many/a/f", "write /h/u/many/b/f", "write /h/u/many/c/f", "write /h/u/many/d/f", "write /h/u/many/e/f",
		}, write: []string{"/h/u/many"}},
		{what: "the kernel's files are left", wishes: []string{"write /proc/sys/x"}, left: []string{"write /proc/sys/x"}},
		{what: "a file of a denied tree", deny: []string{"/h/u/.ssh"}, wishes: []string{"read /h/u/.ssh/id", "look /h/u/.ssh"}, read: []string{"/h/u/.ssh/id"}},
		{what: "a denied root itself is never carved out", deny: []string{"/h/u/.ssh"}, wishes: []string{"list /h/u/.ssh"}, left: []string{"list /h/u/.ssh"}},
		{what: "what is written need not be read", deny: []string{"/h/u/.ssh"}, wishes: []string{"read /h/u/.ssh/keys/a", "write /h/u/.ssh/keys/a"}, write: []string{"/h/u/.ssh/keys"}},
		{what: "a denied root above what is written stays", deny: []string{"/h/u/out/sub"}, wishes: []string{"create /h/u/out/x"}, write: []string{"/h/u/out"}},
	} {
		p := policy.Policy{RestrictWrites: true, Writable: []string{"/h/u/work"}, Denied: c.deny}
		f, err := Policy(p, host, "/h/u", "/h/u/work", wished(c.wishes))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if want := append([]string{"/h/u/work"}, c.write...); !slices.Equal(f.Policy.Writable, want) || !slices.Equal(f.Policy.ReadOnly, c.read) || !slices.Equal(said(f.Left), c.left) {
			t.Errorf("%s: writable %q, readonly %q, left %q; want %q, %q, %q", c.what, f.Policy.Writable, f.Policy.ReadOnly, said(f.Left), want, c.read, c.left)
		}
		if !slices.Equal(f.Policy.Denied, c.deny) || !f.Policy.RestrictWrites {
			t.Errorf("%s: what was denied is no longer: %+v", c.what, f.Policy)
		}
	}
}

// Whatever a command did, no root is the root or the home directory, or above it.
func TestPolicyGrantsNoWholeHome(t *testing.T) {
	var wishes []denial.Wish
	for _, op := range []denial.Op{denial.Write, denial.Create, denial.Delete, denial.Rename, denial.Metadata} {
		for _, p := range []string{"/", "/h", "/h/u", "/h/u/new", "/h/x", "/x", "/etc", "/etc/x", "/tmp", "/tmp/x", "/h/u/.profile"} {
			wishes = append(wishes, denial.Wish{Path: p, Op: op})
		}
	}
	f, err := Policy(policy.Policy{RestrictWrites: true}, host, "/h/u", "/h/u/work", wishes)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/h/u/.profile"}; !slices.Equal(f.Policy.Writable, want) {
		t.Errorf("writable are %q, want %q", f.Policy.Writable, want)
	}
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"bufio", "encoding/hex", "io", "path", "slices", "strconv", "strings",
		"github.com/letta-confine/letta-confine/denial", "github.com/letta-confine/letta-confine/policy",
	}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("learn imports %q; allowed are %q", imp, allowed)
		}
	}
}
