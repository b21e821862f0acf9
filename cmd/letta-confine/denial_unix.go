//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// wanted is what explain says of a path and an operation.
type wanted struct {
	For     denial.Op   `json:"for"`
	Allowed bool        `json:"allowed"`
	At      string      `json:"at,omitempty"` // what is in the way, where that is not the path
	AtRoot  *rootJSON   `json:"atRoot,omitempty"`
	Nearest *rootJSON   `json:"nearestWritable,omitempty"`
	Backend *mediation  `json:"backend,omitempty"`
	Change  []editJSON  `json:"change,omitempty"`
	Said    *complained `json:"said,omitempty"`
}

// mediation is what the chosen backend does and does not do about a path.
type mediation struct {
	Name        string   `json:"name"`
	Enforcement string   `json:"enforcement"`
	Gaps        []string `json:"gaps,omitempty"`
	OverDenials []string `json:"overDenials,omitempty"` // that concern the path
}

// editJSON is one step of a change of the policy.
type editJSON struct {
	Add    string `json:"add,omitempty"`
	Remove string `json:"remove,omitempty"`
	List   string `json:"list,omitempty"`
	Text   string `json:"text"`
}

// complained is where a command said so.
type complained struct {
	Line  int          `json:"line"`
	Text  string       `json:"text"`
	Errno denial.Errno `json:"errno"`
}

// rightsJSON is a line in which a program says that it lacks its owner's rights.
type rightsJSON struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

// noRights is why, and what to do instead.
const noRights = "in a sandbox no program gains the rights of its owner (no_new_privs), whatever the policy; start the launcher with those rights instead: sudo letta-confine ..."

// want answers for one operation on a canonical path.
func (in *inputs) want(p string, op denial.Op) *wanted {
	w := &wanted{For: op, Allowed: true}
	if at, d, blocked := denial.Blocked(in.resolved, p, op); blocked {
		w.blocked(p, at, d)
		w.change(in, d, denial.Wish{Path: p, Op: op})
	}
	w.Nearest = jsonOf(denial.Nearest(in.resolved, p))
	for _, b := range in.backends() {
		if b.err == nil {
			w.Backend = mediates(b, p)
			break
		}
	}
	return w
}

func (w *wanted) blocked(p, at string, d policy.Decision) {
	w.Allowed = false
	if at != p {
		w.At, w.AtRoot = at, jsonOf(d.Root)
	}
}

// change proposes nothing where the root is not one that somebody wrote: another
// place of a mount, what a private directory hides, or where credentials lie.
func (w *wanted) change(in *inputs, d policy.Decision, wishes ...denial.Wish) {
	if d.Root != nil && (in.hides(d) || in.aliasOf[d.Root.Path] != "" || in.implicit(d.Root.Path) != "") {
		return
	}
	for _, e := range denial.Change(in.policy, hostfs.FS{}, wishes...) {
		j := editJSON{Add: e.Add, Remove: e.Remove, Text: e.String()}
		if e.Add != "" || e.Remove != "" {
			j.List = e.List.String()
		}
		w.Change = append(w.Change, j)
	}
}

func mediates(b backend, p string) *mediation {
	m := &mediation{Name: b.name, Enforcement: b.enforcement.Level()}
	for _, g := range b.enforcement.Gaps {
		m.Gaps = append(m.Gaps, string(g))
	}
	for _, o := range b.enforcement.OverDenials {
		if o.Path == p || o.Path == path.Dir(p) {
			m.OverDenials = append(m.OverDenials, o.String())
		}
	}
	return m
}

func (w *wanted) print() {
	switch {
	case w.Allowed:
		fmt.Printf("  %s: allowed\n", w.For)
	case w.At == "":
		fmt.Printf("  %s: denied\n", w.For)
	case w.AtRoot == nil:
		fmt.Printf("  %s: denied at %q, by default\n", w.For, w.At)
	default:
		fmt.Printf("  %s: denied at %q, by %v\n", w.For, w.At, w.AtRoot)
	}
	if w.Nearest != nil {
		fmt.Printf("  nearest writable root: %v\n", w.Nearest)
	}
	if w.Backend != nil {
		fmt.Printf("  backend: %s, enforcement %s\n", w.Backend.Name, w.Backend.Enforcement)
		printList("gap", w.Backend.Gaps)
		printList("over-denial", w.Backend.OverDenials)
	}
	for _, e := range w.Change {
		fmt.Printf("  change: %s\n", e.Text)
	}
}

// explainStderr looks for this sandbox's denials in what a command wrote.
func (in *inputs) explainStderr() error {
	o := in.opts
	text, err := in.readText(o.stderr)
	if err != nil {
		return fmt.Errorf("--stderr %q: %w", o.stderr, err)
	}
	backend, reason, err := in.usedBackend()
	if err != nil {
		return err
	}
	var all []explanation
	var rights []rightsJSON
	if backend == "bwrap" || backend == "landlock" {
		for _, l := range denial.Rights(string(text)) {
			rights = append(rights, rightsJSON{l.Number, l.Text, noRights})
		}
	}
	if backend != "" {
		for _, c := range denial.Judge(in.resolved, backend, in.cwd, host{}, denial.Scan(string(text))) {
			e, err := in.explainPath(c.Path)
			if err != nil {
				return err
			}
			e.Path = c.Given
			e.wanted = &wanted{For: c.Op, Nearest: jsonOf(denial.Nearest(in.resolved, c.Path)), Said: &complained{c.Line, c.Text, c.Errno}}
			e.blocked(c.Path, c.At, c.Decision)
			e.change(in, c.Decision, c.Wishes...)
			all = append(all, e)
		}
		if len(all) == 0 {
			reason = "no line names a path that this policy denies, with an error that " + backend + " gives for it"
		}
	}
	if o.json {
		verdict := "unknown" // what a command leaves unsaid, nobody knows
		if len(all) > 0 {
			verdict = "denied"
		}
		out := map[string]any{"schema": schemaVersion, "denied": verdict, "backend": backend, "denials": all}
		if reason != "" {
			out["reason"] = reason
		}
		if rights != nil {
			out["rights"] = rights
		}
		return printJSON(out)
	}
	for _, e := range all {
		fmt.Printf("line %d: %q: %s of %s\n", e.Said.Line, e.Said.Text, e.Said.Errno, backend)
		e.print()
	}
	for _, r := range rights {
		fmt.Printf("line %d: %q: %s\n", r.Line, r.Text, r.Why)
	}
	if len(all)+len(rights) == 0 {
		fmt.Println("not this sandbox: " + reason)
	}
	return nil
}

// usedBackend returns the backend that the report names, or that a run would use;
// or, with none, why nothing was denied.
func (in *inputs) usedBackend() (name, reason string, err error) {
	if !in.resolved.Restricts() {
		return "", "the policy restricts nothing", nil
	}
	if in.opts.report == "" {
		list := in.backends()
		for _, b := range list {
			if b.err == nil {
				return b.name, "", nil
			}
		}
		return "", "", unavailable(list)
	}
	text, err := in.readText(in.opts.report)
	if err != nil {
		return "", "", fmt.Errorf("--report %q: %w", in.opts.report, err)
	}
	for line := range bytes.Lines(text) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return "", "", fmt.Errorf("--report %q: %w", in.opts.report, err)
		}
		switch {
		case e.Event == "plan" && e.Backend == "":
			return "", "the command ran unconfined: " + e.Reason, nil
		case e.Event == "plan":
			name = e.Backend // the last is the one that was used
		case e.RunnerFailed != nil && *e.RunnerFailed:
			return "", "the command did not run: " + e.Reason, nil
		}
	}
	if denial.Dialect(name) == nil {
		return "", "", withHint(fmt.Errorf("--report %q: %w", in.opts.report, errors.New("it names no backend")), "pass what --report wrote when the command ran")
	}
	return name, "", nil
}

// host is this host as the user sees it without a sandbox.
type host struct{ hostfs.FS }

// Facts asks the kernel, with the effective user.
func (h host) Facts(p string) denial.Facts {
	info, err := h.Lstat(p)
	if err != nil {
		return denial.Facts{}
	}
	may := func(mode uint32) error { return unix.Faccessat(unix.AT_FDCWD, p, mode, unix.AT_EACCESS) }
	f := denial.Facts{
		Kind: info.Kind, Readable: may(unix.R_OK) == nil, Writable: may(unix.W_OK) == nil,
		Executable: may(unix.X_OK) == nil, ReadOnly: may(unix.W_OK) == unix.EROFS,
	}
	if above, err := h.Lstat(path.Dir(p)); err == nil {
		f.Mounted = above.ID.Dev != info.ID.Dev
	}
	return f
}
