package main

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// expected is the table of verdicts, written out by hand. A word such as
// "unix-sockets<9" is expected only where Landlock is older than version 9, for
// the hosts that this machine's own kernel plays.
//
//go:embed expected.tsv
var expected string

// columns are those of the table.
var columns = []string{"host", "user", "probe", "auto", "exit", "bwrap", "landlock"}

// row is one line of the table: a host, a user, and the verdict.
type row struct {
	host, user string
	want       []string // the columns from "probe"
}

// rows reads the table.
func rows(text string) ([]row, error) {
	var list []row
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) != len(columns) {
			return nil, fmt.Errorf("expected.tsv:%d: %d columns, want %d", n+1, len(fields), len(columns))
		}
		if n == 0 {
			if line != strings.Join(columns, "\t") {
				return nil, fmt.Errorf("expected.tsv: the columns are not %q", columns)
			}
			continue
		}
		list = append(list, row{fields[0], fields[1], fields[2:]})
	}
	return list, nil
}

// differs says where a verdict is not the expected one, or nothing.
func (r row) differs(v verdict) string {
	var wrong []string
	for i, got := range v.columns() {
		if want := on(r.want[i], v.ABI); got != want {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", columns[i+2], got, want))
		}
	}
	return strings.Join(wrong, "; ")
}

func (v verdict) columns() []string { return []string{v.Probe, v.Auto, v.Exit, v.Bwrap, v.Landlock} }

// on drops from an expected text what a Landlock of this version does not have.
func on(want string, abi int) string {
	var words []string
	for _, word := range strings.Fields(want) {
		name, below, conditional := strings.Cut(word, "<")
		if n, err := strconv.Atoi(below); conditional && err == nil && abi >= n {
			continue
		}
		words = append(words, name)
	}
	return strings.Join(words, " ")
}
