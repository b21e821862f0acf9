//go:build linux

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	reportID = regexp.MustCompile(`\bB[0-9]{3}\b`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// testsOf are the tests of a package.
func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// testdata/reports.tsv says of each expectation that people reported to other
// launchers which test shows it here, or which decision says why not. What it
// names is there, and the decision speaks of the rows that name it and of no other.
func TestReportsAreShown(t *testing.T) {
	const module = "../../"
	text, err := os.ReadFile("testdata/reports.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	var ids []string
	decided := map[string][]string{} // the rows that name a record
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range lines[1:] {
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || slices.Contains(fields, "") {
			t.Errorf("%q: want four fields", line)
			continue
		}
		id := fields[0]
		ids = append(ids, id)
		for where := range strings.FieldsSeq(fields[3]) {
			dir, name, isTest := strings.Cut(where, ":")
			if !isTest {
				decided[where] = append(decided[where], id)
				continue
			}
			if tests[dir] == nil {
				tests[dir] = testsOf(t, module+dir)
			}
			name, script, isScript := strings.Cut(name, "/")
			if !slices.Contains(tests[dir], name) {
				t.Errorf("%s: there is no test %s in %s", id, name, dir)
			}
			if isScript {
				text, err := os.ReadFile(module + dir + "/testdata/script/" + script + ".txtar")
				if err != nil {
					t.Errorf("%s: %v", id, err)
				} else if script == "reports" && !strings.Contains(string(text), id) {
					t.Errorf("%s: the script %s does not speak of it", id, script)
				}
			}
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != len(ids) || len(ids) < 100 {
		t.Errorf("%d rows, which want to be sorted and each there once", len(ids))
	}
	for record, rows := range decided {
		text, err := os.ReadFile(module + record)
		if err != nil {
			t.Error(err)
			continue
		}
		spoken := reportID.FindAllString(string(text), -1)
		slices.Sort(spoken)
		if !slices.Equal(slices.Compact(spoken), rows) {
			t.Errorf("%s speaks of %q, and the rows that name it are %q", record, spoken, rows)
		}
	}
	script, err := os.ReadFile("testdata/script/reports.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range reportID.FindAllString(string(script), -1) {
		if !slices.Contains(ids, id) {
			t.Errorf("the script speaks of %s, which is no row", id)
		}
	}
}
