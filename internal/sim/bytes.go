package sim

import (
	"math/rand/v2"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

// FromBytes makes a tree and a policy over it of a fuzzer's bytes. Each choice
// takes one byte, so that a change of one changes one choice; when they end the
// rest is zeros. Names are the bytes themselves where they can be.
func FromBytes(data []byte) (*Tree, policy.Policy) {
	next := func(n int) int {
		if len(data) == 0 {
			return 0
		}
		b := int(data[0])
		data = data[1:]
		return b % n
	}
	tree := NewTree()
	dirs, all := []string{"/"}, []string{"/"}
	for range next(40) {
		dir := dirs[next(len(dirs))]
		name := string(rune('a' + next(4)))
		if next(4) == 0 && len(data) > 0 && data[0] != 0 && data[0] != '/' && data[0] != '.' {
			name += string(data[:1]) // any byte that a name can hold
		}
		path := rebase("/"+name, "/", dir)
		if tree.Kind(path) != policy.Missing {
			continue
		}
		all = append(all, path)
		switch next(8) {
		case 0:
			tree.Files(path)
		case 1:
			tree.Add(policy.Other, path)
		case 2: // a root that may be missing
		default:
			tree.Dirs(path)
			dirs = append(dirs, path)
		}
	}
	p := policy.Policy{RestrictWrites: next(2) == 1}
	for range next(16) {
		lists := []*[]string{&p.BaseWritable, &p.Denied, &p.ReadOnly, &p.Writable}
		l := lists[next(4)]
		if path := all[next(len(all))]; path != "/" || l != &p.Denied {
			*l = append(*l, path)
		}
	}
	return tree, p
}

// AddFuzzSeeds adds bytes for FromBytes: none, and enough for trees and policies
// of some size.
func AddFuzzSeeds(f *testing.F) {
	f.Add([]byte{})
	rng := rand.New(rand.NewPCG(9, 9))
	for range 30 {
		data := make([]byte, 80+rng.IntN(150))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
}
