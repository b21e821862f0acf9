package sim

import (
	"iter"
	"runtime"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

// Strided is whether Sweep takes every eleventh policy only: under the race
// detector, which makes the whole take minutes and has little to find.
const Strided = stride > 1

// Sweep resolves each policy on the tree and hands it to check, on all
// processors at once, until one fails. It returns how many it handed over.
func Sweep(t *testing.T, tree *Tree, policies iter.Seq[policy.Policy], check func(t testing.TB, p policy.Policy, r policy.Resolved)) int {
	t.Helper()
	work := make(chan []policy.Policy, 4)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for batch := range work {
				for _, p := range batch {
					if t.Failed() {
						continue
					}
					r, err := policy.Resolve(p, tree)
					if err != nil {
						t.Errorf("Resolve(%+v): %v", p, err)
						continue
					}
					check(t, p, r)
				}
			}
		})
	}
	seen, count := 0, 0
	var batch []policy.Policy
	for p := range policies {
		if seen++; seen%stride != 0 {
			continue
		}
		if count++; len(batch) == 256 {
			work <- batch
			batch = nil
		}
		batch = append(batch, p)
		if t.Failed() {
			break
		}
	}
	work <- batch
	close(work)
	all.Wait()
	return count
}
