package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// row is what became of one workload as one user.
type row struct {
	workload
	user    user
	skipped string    // why it says nothing
	passed  [2]bool   // by backend
	said    [2]string // the last words of a failure
	verdict [2]string
	took    time.Duration
}

// limit is a workload that fails confined, as docs/limits.md lists it.
type limit struct{ name, backend, user string }

// heading begins the table of the page, and word stands for all there.
const (
	heading = "| workload | backend | as | why |"
	both    = "both"
)

// parseLimits reads the table of what fails.
func parseLimits(page string) ([]limit, error) {
	_, table, ok := strings.Cut(page, heading+"\n")
	if !ok {
		return nil, errors.New("there is no table of workloads")
	}
	var list []limit
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			break
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if strings.HasPrefix(cells[0], "---") {
			continue
		}
		l := limit{cells[0], cells[1], cells[2]}
		known := slices.ContainsFunc(workloads, func(w workload) bool { return w.name == l.name }) &&
			(l.backend == both || slices.Contains(backends, l.backend)) && slices.Contains([]string{both, "root", "user"}, l.user)
		if !known || cells[3] == "" {
			return nil, fmt.Errorf("the row %q names no workload, backend, user or reason", strings.TrimSpace(line))
		}
		list = append(list, l)
	}
	return list, nil
}

// judge compares what became of a workload with the list, and reports whether they
// differ.
func (r *row) judge(listed []limit) (bad bool) {
	for i, backend := range backends {
		known := slices.ContainsFunc(listed, func(l limit) bool {
			return l.name == r.name && (l.backend == both || l.backend == backend) && (l.user == both || l.user == r.user.name)
		})
		switch {
		case r.skipped != "":
			r.verdict[i] = "-"
		case r.passed[i] && known:
			r.verdict[i], bad = "PASSES, and is listed", true
		case r.passed[i]:
			r.verdict[i] = "passes"
		case known:
			r.verdict[i] = "listed"
		default:
			r.verdict[i], bad = "FAILS", true
		}
	}
	return bad
}

// String is the line of the printed table.
func (r *row) String() string {
	line := fmt.Sprintf("%-20s %-5s %-8s %-8s %5.1f s", r.name, r.user.name, r.verdict[0], r.verdict[1], r.took.Seconds())
	if r.skipped != "" {
		return line + " skipped: " + r.skipped
	}
	for i, said := range r.said {
		if said != "" {
			line += fmt.Sprintf(" %s: %.100s;", backends[i], said)
		}
	}
	return strings.TrimSpace(line)
}
