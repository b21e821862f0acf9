package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/internal/supervise"
	"github.com/letta-confine/letta-confine/landlock"
)

func (d denialJSON) String() string {
	if d.Errno == "" {
		return fmt.Sprintf("%s of %q", d.For, d.Path)
	}
	return fmt.Sprintf("%s of %q (%s)", d.For, d.Path, d.Errno)
}

// Who says that something was denied.
const (
	byStderr = "stderr" // the command
	byKernel = "kernel"
)

// mostDenials bounds what a report and a build's log are told.
const mostDenials = 50

// mostFailures bounds the lines for which the host's files are looked at.
const mostFailures = 1000

// known is what is known of denials once the command has ended.
type known struct {
	list       []denialJSON
	verdict    string
	unreadable string // why the kernel's log could not be read, where it was to be
}

// listener hears from the kernel what a run's domain denies.
type listener struct {
	log *landlock.Log
	err error
	pid int // who made the domain
}

// listen begins to read the kernel's log, with --audit-denials, and has s tell who
// makes the domain.
func (in *inputs) listen(s *supervise.Sandbox) *listener {
	if !in.opts.auditDenials {
		return nil
	}
	l := &listener{}
	l.log, l.err = landlock.OpenLog()
	started := s.Started
	s.Started = func(p inner.Proof) error {
		l.pid = p.PID
		return started(p)
	}
	return l
}

// deniedBy says what a command's exit status tells of denials.
func deniedBy(status int) string {
	if status != 0 {
		return unknown
	}
	return notDenied
}

// denials returns what the command was denied, as far as its standard error and the
// kernel tell.
func (in *inputs) denials(b *backend, status int, said *supervise.Said, l *listener) known {
	k := known{verdict: deniedBy(status)}
	add := func(d denialJSON) {
		d.Path = in.withoutSecrets(d.Path)
		if len(k.list) == mostDenials || slices.Contains(k.list, d) {
			return
		}
		k.list = append(k.list, d)
		if !d.OverDenial {
			k.verdict = denied
		}
	}
	if said != nil {
		failures := denial.Scan(string(said.Text))
		if len(failures) > mostFailures { // whoever writes that many is not to be waited for
			failures, said.More = failures[:mostFailures], true
		}
		for _, c := range denial.Judge(in.resolved, b.name, in.cwd, host{}, failures) {
			add(denialJSON{Path: c.Path, For: string(c.Op), Errno: string(c.Errno), By: byStderr})
		}
	}
	switch {
	case l == nil:
	case l.err != nil:
		k.unreadable = l.err.Error()
	default:
		for _, r := range l.log.Refusals(l.pid, mostDenials) {
			op := operation(r.Blockers)
			_, _, blocked := denial.Blocked(in.resolved, r.Path, op)
			add(denialJSON{Path: r.Path, For: string(op), By: byKernel, OverDenial: !blocked})
		}
		l.log.Close()
	}
	return k
}

// shortestSecret is the length from which a value is looked for in what is told: where
// a shorter one is left out, that alone would tell it.
const shortestSecret = 6

// withoutSecrets is a path that the command chose, without the values that it got.
func (in *inputs) withoutSecrets(path string) string {
	for _, s := range in.secrets {
		if len(s.value) >= shortestSecret {
			path = strings.ReplaceAll(path, s.value, "["+s.Name+"]")
		}
	}
	return path
}

// operation is what somebody wanted who lacked these rights. The kernel names the
// directory for what is made in it and removed from it, which is then written.
func operation(blockers []string) denial.Op {
	op := denial.Write
	for _, right := range blockers {
		switch {
		case right == "fs.read_file":
			op = denial.Read
		case right == "fs.read_dir":
			op = denial.List
		case right == "fs.execute":
			op = denial.Execute
		case strings.HasPrefix(right, "fs."):
			return denial.Write // whoever wants both is denied that, too
		}
	}
	return op
}

// judge says what was denied, where it was asked to, and returns the status to end
// with: a denial is a failure whatever the command made of it.
func (in *inputs) judge(status int, list []denialJSON, said *supervise.Said) int {
	o := in.opts
	if !o.watches() {
		return status
	}
	if said.Open {
		complain("") // so that ours begins a line
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d denialJSON) bool { return d.OverDenial })
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
		failed(o.failOnDenial, fmt.Sprintf("the command was denied %v%s, and --fail-on-denial makes that a failure", list[0], more), "")
		return o.failOnDenial
	case status != 0 || said.More:
		in.warn(fmt.Sprintf("whether the command was denied anything is not known: it ended with %d, and what it wrote to standard error names no path that the policy denies", status))
	}
	return status
}
