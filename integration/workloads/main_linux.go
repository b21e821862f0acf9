// Workloads runs some fifty things that people and agents do in a workspace (git,
// npm, compilers, debuggers, data bases, terminals), each unconfined and on both
// backends in the mode workspace-write, and prints what became of each.
//
// What passes unconfined must pass confined, or stand with its reason in the table
// of docs/limits.md; and what stands there must fail. Anything else is a failure.
//
// # Limits
//
// A workload whose program is not there, or that fails unconfined, is skipped by
// name and counted: it says nothing. Fewer than twenty that say something are a
// failure. The workspace is not denied anything but writing elsewhere.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const fewest = 20

var backends = []string{"bwrap", "landlock"}

func main() {
	launcher := flag.String("launcher", "bin/letta-confine", "the launcher to try")
	page := flag.String("limits", "docs/limits.md", "the page that lists what fails")
	only := flag.String("only", "", "run the one workload of this name")
	plain := flag.Bool("plain", false, "as root, run everything as uid 65534 too")
	flag.Parse()
	bad, err := run(*launcher, *page, *only, users(*plain))
	if err != nil {
		fmt.Fprintln(os.Stderr, "workloads:", err)
	}
	if err != nil || bad {
		os.Exit(1)
	}
}

func run(launcher, page, only string, as []user) (bad bool, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return false, err
	}
	listed, err := parseLimits(string(text))
	if err != nil {
		return false, fmt.Errorf("%s: %w", page, err)
	}
	s, err := newStage(launcher, as)
	if err != nil {
		return false, err
	}
	defer s.remove()
	var rows []row
	for _, u := range as {
		for _, w := range workloads {
			if only == "" || only == w.name {
				rows = append(rows, row{workload: w, user: u})
			}
		}
	}
	start := time.Now()
	s.fill(rows)
	compared := 0
	for i := range rows {
		r := &rows[i]
		if r.judge(listed) {
			bad = true
		}
		if r.skipped == "" {
			compared++
		}
		fmt.Println(r)
	}
	fmt.Printf("%d compared, %d skipped, in %.0f s\n", compared, len(rows)-compared, time.Since(start).Seconds())
	if only == "" && compared < fewest {
		return true, fmt.Errorf("%d workloads say something, want at least %d", compared, fewest)
	}
	return bad, nil
}

// fill runs everything, some at a time: most workloads wait more than they work.
func (s *stage) fill(rows []row) {
	next := make(chan *row)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for r := range next {
				s.try(r)
			}
		})
	}
	for i := range rows {
		next <- &rows[i]
	}
	close(next)
	workers.Wait()
}

// try runs one workload unconfined, and then, if that works, confined.
func (s *stage) try(r *row) {
	start := time.Now()
	defer func() { r.took = time.Since(start) }()
	for _, program := range strings.Fields(r.needs) {
		if _, err := exec.LookPath(program); err != nil {
			r.skipped = "no " + program
			return
		}
	}
	if out, ok := s.one(r, "free", nil); !ok {
		r.skipped = "fails unconfined: " + out
		return
	}
	for i, backend := range backends {
		r.said[i], r.passed[i] = s.one(r, backend, []string{s.launcher, "--backend", backend, "--mode", "workspace-write", "--"})
	}
}

// one runs a workload behind a wrapper, in a workspace of its own outside the
// temporary directory, and returns the last of what it said.
func (s *stage) one(r *row, variant string, wrapper []string) (said string, ok bool) {
	dir := filepath.Join(s.work, r.user.name, r.name, variant)
	if err := r.user.mkdir(dir); err != nil {
		return err.Error(), false
	}
	argv := append(wrapper, "bash", "-c", "set -e\n"+r.script)
	out, err := s.command(r.user, dir, argv)
	if err == nil {
		return "", true
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return fmt.Sprintf("%v: %s", err, lines[len(lines)-1]), false
}
