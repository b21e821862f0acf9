// Package golden compares what a test made with a file that a person has
// reviewed: testdata/NAME.golden beside the test.
//
// `go test -update` rewrites the files. It refuses to where the environment
// variable CI is set, because a test that accepts whatever it gets tests
// nothing. The flag exists in the test programs that import this package only.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// Compare fails the test unless got is what testdata/name.golden holds.
func Compare(t testing.TB, name string, got []byte) {
	t.Helper()
	if err := compare("testdata", name, got, *update, os.Getenv("CI") != ""); err != nil {
		t.Error(err)
	}
}

func compare(dir, name string, got []byte, update, ci bool) error {
	file := filepath.Join(dir, name+".golden")
	if update {
		if ci {
			return errors.New("golden: -update is refused where CI is set")
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, got, 0o644)
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("golden: %w; review this and keep it with go test -update:\n%s", err, got)
	}
	if err != nil {
		return err
	}
	if bytes.Equal(got, want) {
		return nil
	}
	line, g, w := difference(got, want)
	return fmt.Errorf("golden: %s, line %d: got  %q\nwant %q\nall of it:\n%s", file, line, g, w, got)
}

// difference returns the first line in which two texts differ.
func difference(got, want []byte) (line int, g, w []byte) {
	gs, ws := bytes.SplitAfter(got, []byte("\n")), bytes.SplitAfter(want, []byte("\n"))
	at := func(lines [][]byte, i int) []byte {
		if i < len(lines) {
			return lines[i]
		}
		return nil
	}
	for i := 0; i < max(len(gs), len(ws)); i++ {
		if g, w = at(gs, i), at(ws, i); !bytes.Equal(g, w) {
			return i + 1, g, w
		}
	}
	return 0, nil, nil
}
