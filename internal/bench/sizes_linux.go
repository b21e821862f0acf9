package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// size is the field of one policy size: bare exec, the exec-only program, and
// the launcher with that policy.
type size struct {
	What   string  `json:"what"` // "writable roots" or "entries beside a denied root"
	Count  int     `json:"count"`
	Starts []start `json:"starts"`
}

const (
	writableRoots = "writable roots"
	siblings      = "entries beside a denied root"
)

// measureSizes measures how a start grows with the policy. The sizes of one kind
// share their rounds.
func measureSizes(ctx context.Context, sc *scratch, o options) ([]size, error) {
	rounds := max(o.rounds/10, 5)
	var sizes []size
	var field []contestant
	base := []contestant{
		{name: nameBare, argv: []string{command}},
		{name: nameFloor, argv: []string{sc.floor, command}},
	}
	for _, n := range []int{1, 10, 100, 1000} {
		file, err := sc.rootsPolicy(n)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size{What: writableRoots, Count: n})
		flags := []string{"--policy", file}
		field = append(field, launcher(sc, o.launcher, "landlock", nameLandlock, flags),
			launcher(sc, o.launcher, "bwrap", nameBwrap, flags), aloneFor(sc, o.launcher, nameAlone, flags))
	}
	for _, n := range []int{10, 100, 1000, 4000, 20000} {
		dir, err := sc.crowd(n)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, size{What: siblings, Count: n})
		flags := []string{"--deny", filepath.Join(dir, "denied"), "--max-siblings", "50000"}
		field = append(field, launcher(sc, o.launcher, "landlock", nameLandlock, flags))
	}
	starts, err := measure(ctx, sc, append(base, field...), rounds)
	if err != nil {
		return nil, err
	}
	next := starts[len(base):]
	for i := range sizes {
		n := 3
		if sizes[i].What == siblings {
			n = 1
		}
		sizes[i].Starts, next = next[:n], next[n:]
	}
	return sizes, nil
}

// rootsPolicy makes n directories, and a policy file in which these alone are
// writable.
func (sc *scratch) rootsPolicy(n int) (string, error) {
	home := filepath.Dir(sc.workspace)
	var list []string
	for i := range n {
		dir := filepath.Join(home, "roots", strconv.Itoa(n), fmt.Sprintf("root%04d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		list = append(list, strconv.Quote(dir))
	}
	file := filepath.Join(home, "policy"+strconv.Itoa(n)+".json")
	text := `{"version": 1, "restrictWrites": true, "writableRoots": [` + strings.Join(list, ", ") + "]}\n"
	return file, os.WriteFile(file, []byte(text), 0o644)
}

// crowd makes a directory of n files and one directory that is to be denied.
func (sc *scratch) crowd(n int) (string, error) {
	dir := filepath.Join(filepath.Dir(sc.workspace), "crowd"+strconv.Itoa(n))
	if err := os.MkdirAll(filepath.Join(dir, "denied"), 0o755); err != nil {
		return "", err
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%05d", i)), nil, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}
