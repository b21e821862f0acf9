package main

import (
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/supervise"
)

func (d denialJSON) String() string {
	if d.Errno == "" {
		return fmt.Sprintf("%s of %q", d.For, d.Path)
	}
	return fmt.Sprintf("%s of %q (%s)", d.For, d.Path, d.Errno)
}

// mostDenials bounds what a report and a build's log are told.
const mostDenials = 50

// denials returns what the command was denied, as far as its standard error tells,
// and the verdict of the exit event.
func (in *inputs) denials(b *backend, status int, said *supervise.Said) (list []denialJSON, verdict string) {
	if said != nil {
		for _, c := range denial.Judge(in.resolved, b.name, in.cwd, host{}, denial.Scan(string(said.Text))) {
			d := denialJSON{c.Path, string(c.Op), string(c.Errno)}
			if len(list) < mostDenials && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	if len(list) > 0 {
		return list, denied
	}
	return nil, deniedBy(status)
}

// judge says what was denied, where it was asked to, and returns the status to end
// with: a denial is a failure whatever the command made of it.
func (in *inputs) judge(status int, list []denialJSON, said *supervise.Said) int {
	o := in.opts
	if !o.watches() {
		return status
	}
	if said.Open {
		endLine()
	}
	for _, d := range list {
		annotate("denied "+d.For, d.String())
	}
	switch {
	case o.failOnDenial == 0:
	case len(list) > 0:
		more := ""
		if len(list) > 1 {
			more = fmt.Sprintf(", and %d more", len(list)-1)
		}
		failed(o.failOnDenial, fmt.Sprintf("the command was denied %v%s, and --fail-on-denial makes that a failure", list[0], more))
		return o.failOnDenial
	case status != 0 || said.More:
		in.warn(fmt.Sprintf("whether the command was denied anything is not known: it ended with %d, and what it wrote to standard error names no path that the policy denies", status))
	}
	return status
}
