package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// size is what was found out about one policy size.
type size struct {
	What   string  `json:"what"` // "writable roots" or "entries beside a denied root"
	Count  int     `json:"count"`
	Starts []start `json:"starts"`
}

const (
	writableRoots = "writable roots"
	siblings      = "entries beside a denied root"
)

// measureSizes measures how a start grows with the policy. Landlock's sizes share
// their rounds, and bubblewrap's do: taking down two thousand mounts keeps a
// processor busy long after their command has ended.
func measureSizes(ctx context.Context, sc *scratch, o options) ([]size, error) {
	var onLandlock, onBwrap []size
	var fieldLandlock, fieldBwrap []contestant
	for _, n := range []int{1, 10, 100, 1000} {
		file, err := sc.rootsPolicy(n)
		if err != nil {
			return nil, err
		}
		flags := []string{"--policy", file}
		onLandlock = append(onLandlock, size{What: writableRoots, Count: n})
		fieldLandlock = append(fieldLandlock, launcher(sc, o.launcher, "landlock", nameLandlock, flags))
		onBwrap = append(onBwrap, size{What: writableRoots, Count: n})
		fieldBwrap = append(fieldBwrap, launcher(sc, o.launcher, "bwrap", nameBwrap, flags), aloneFor(sc, o.launcher, nameAlone, flags))
	}
	for _, n := range []int{10, 100, 1000, 20000} {
		dir, err := sc.crowd(n)
		if err != nil {
			return nil, err
		}
		flags := []string{"--deny", filepath.Join(dir, "denied"), "--max-siblings", "50000"}
		onLandlock = append(onLandlock, size{What: siblings, Count: n})
		fieldLandlock = append(fieldLandlock, launcher(sc, o.launcher, "landlock", nameLandlock, flags))
	}
	if err := fillSizes(ctx, sc, onLandlock, fieldLandlock, 1, sizeRounds(o.rounds)); err != nil {
		return nil, err
	}
	if err := fillSizes(ctx, sc, onBwrap, fieldBwrap, 2, sizeRounds(o.rounds)); err != nil {
		return nil, err
	}
	return append(onLandlock, onBwrap...), nil
}

// fillSizes measures a field that has so many contestants for each size.
func fillSizes(ctx context.Context, sc *scratch, sizes []size, field []contestant, each, rounds int) error {
	base := []contestant{
		{name: nameBare, argv: []string{command}},
		{name: nameFloor, argv: []string{sc.floor, command}},
	}
	starts, err := measure(ctx, sc, append(base, field...), rounds)
	if err != nil {
		return err
	}
	for i := range sizes {
		sizes[i].Starts = starts[len(base)+i*each:][:each]
	}
	return nil
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
