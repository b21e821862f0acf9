package policy_test

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

// directories is a file system in which every path is a directory.
type directories struct{}

func (directories) Lstat(name string) (policy.Info, error) {
	h := fnv.New64a()
	h.Write([]byte(name))
	return policy.Info{Kind: policy.Dir, ID: policy.ID{Dev: 1, Ino: h.Sum64()}}, nil
}
func (directories) Readlink(string) (string, error) { return "", nil }
func (directories) Replaceable(string) bool         { return false }

// benchmarkPolicy is the text of a policy with n roots, a third of each kind.
func benchmarkPolicy(n int) []byte {
	lists := [3][]string{}
	for i := range n {
		lists[i%3] = append(lists[i%3], strconv.Quote(fmt.Sprintf("/home/user/project%d/dir%d", i/10, i)))
	}
	return fmt.Appendf(nil, `{"version": 1, "deniedRoots": [%s], "readonlyRoots": [%s], "writableRoots": [%s]}`,
		strings.Join(lists[0], ","), strings.Join(lists[1], ","), strings.Join(lists[2], ","))
}

// benchmark calls f with policies of several sizes.
func benchmark(b *testing.B, f func(b *testing.B, text []byte, p policy.Policy, r policy.Resolved)) {
	for _, n := range []int{1, 10, 100, 1000} {
		text := benchmarkPolicy(n)
		p, err := policy.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		r, err := policy.Resolve(p, directories{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			f(b, text, p, r)
		})
	}
}

func BenchmarkParse(b *testing.B) {
	benchmark(b, func(b *testing.B, text []byte, _ policy.Policy, _ policy.Resolved) {
		for b.Loop() {
			if _, err := policy.Parse(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	benchmark(b, func(b *testing.B, _ []byte, p policy.Policy, _ policy.Resolved) {
		for b.Loop() {
			if _, err := policy.Resolve(p, directories{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLayers(b *testing.B) {
	benchmark(b, func(b *testing.B, _ []byte, _ policy.Policy, r policy.Resolved) {
		for b.Loop() {
			if len(r.Layers()) == 0 {
				b.Fatal("no layers")
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	benchmark(b, func(b *testing.B, _ []byte, _ policy.Policy, r policy.Resolved) {
		for b.Loop() {
			r.Decide("/home/user/project0/dir0/src/main.go")
		}
	})
}
