//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// report writes the events of a run, one JSON object a line, each with one
// write. A nil report writes nothing.
type report struct {
	fd          int
	about       about  // of the plan event
	enforcement string // likewise, for the exit event
}

// openReport opens --report. A file must be regular, reached through no
// symlink, and out of the command's reach: else a link that an earlier run
// planted would make the unconfined launcher write elsewhere.
func (in *inputs) openReport() (*report, error) {
	where := in.opts.report
	if where == "" {
		return nil, nil
	}
	if fd, ok, err := descriptor(where); ok {
		if err != nil {
			return nil, fmt.Errorf("--report %q: %w", where, err)
		}
		if slices.Contains(in.opts.keepFDs, fd) {
			return nil, withHint(fmt.Errorf("--report %q is a descriptor that the command keeps", where), "let the command have another, or none")
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return nil, fmt.Errorf("--report %q: %w", where, err)
		}
		return &report{fd: fd, about: in.about}, nil
	}
	dir, err := policy.Canonical(absolute(filepath.Dir(where)), hostfs.FS{})
	if err != nil {
		return nil, fmt.Errorf("--report %q: %w", where, err)
	}
	path := filepath.Join(dir, filepath.Base(where))
	if in.resolved.Restricts() && in.resolved.Decide(path).Access == policy.ReadWrite {
		return nil, withHint(fmt.Errorf("--report %q can be changed by the command", where),
			"write it elsewhere, or pass an open descriptor: --report fd:N")
	}
	fd, err := hostfs.OpenPlain(where, unix.O_WRONLY|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--report %q: %w", where, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && hostfs.KindOf(uint32(st.Mode)) != policy.File {
		err = errors.New("not a regular file")
	}
	id := policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}
	for _, f := range in.files {
		if err == nil && f.id == id {
			err = fmt.Errorf("it is what %s reads", f.flag)
		}
	}
	if err == nil {
		err = unix.Ftruncate(fd, 0)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("--report %q: %w", where, err)
	}
	return &report{fd: fd, about: in.about}, nil
}

// event is any event of a report.
type event struct {
	Schema       int       `json:"schema"`
	Event        string    `json:"event"`
	Backend      string    `json:"backend,omitempty"`
	Enforcement  string    `json:"enforcement,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Gaps         []string  `json:"gaps,omitempty"`
	OverDenials  []string  `json:"overDenials,omitempty"`
	Limits       []string  `json:"limits,omitempty"`
	Skipped      []skipped `json:"skipped,omitempty"`
	Created      []string  `json:"created,omitempty"`
	Exit         string    `json:"exit,omitempty"` // "unobserved" where no supervisor stays
	Proof        any       `json:"proof,omitempty"`
	Code         *int      `json:"code,omitempty"`
	RunnerFailed *bool     `json:"runnerFailed,omitempty"`
	Denied       string    `json:"denied,omitempty"`
	Dialect      []string  `json:"dialect,omitempty"`      // the errors by which the backend denies
	RunnerStatus []int     `json:"runnerStatus,omitempty"` // without a started event, not the command's own
	about
}

// about is what a plan says of the run beside its backend.
type about struct {
	Mode     string   `json:"mode,omitempty"`     // that was chosen
	ModeFrom string   `json:"modeFrom,omitempty"` // where neither --mode nor --preset named it
	Approval string   `json:"approval,omitempty"` // when to ask before going beyond the mode, where something says it
	Widened  bool     `json:"widened,omitempty"`  // the mode is that of --widen
	Outcome  string   `json:"outcome,omitempty"`  // of asking for it
	Profile  string   `json:"profile,omitempty"`
	Scrubbed []string `json:"scrubbed,omitempty"` // names of variables, never values
}

type skipped struct {
	List   string `json:"list"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

func (r *report) write(e event) error {
	if r == nil {
		return nil
	}
	line, err := e.line()
	if err != nil {
		return err
	}
	if _, err := unix.Write(r.fd, line); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

func (e event) line() ([]byte, error) {
	e.Schema = schemaVersion
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(line, '\n'), nil
}

func (r *report) plan(b *backend, made []string) error {
	if r == nil {
		return nil
	}
	e := planEvent(b)
	e.Created, e.about = made, r.about
	r.enforcement = e.Enforcement
	return r.write(e)
}

// planEvent is what a report and the plan subcommand say of a backend.
func planEvent(b *backend) event {
	e := event{Event: "plan", Backend: b.name, Enforcement: b.enforcement.Level(), Limits: b.enforcement.Limits}
	for _, g := range b.enforcement.Gaps {
		e.Gaps = append(e.Gaps, string(g))
	}
	for _, o := range b.enforcement.OverDenials {
		e.OverDenials = append(e.OverDenials, o.String())
	}
	for _, root := range b.skipped {
		reason := "missing"
		if root.NotDir {
			reason = "not a directory"
		}
		e.Skipped = append(e.Skipped, skipped{root.List.String(), root.Path, reason})
	}
	if b.name != "bwrap" || slices.Contains(b.enforcement.Limits, "unsupervised") {
		e.Exit = "unobserved"
	}
	for _, errno := range denial.Dialect(b.name) {
		e.Dialect = append(e.Dialect, string(errno))
	}
	e.RunnerStatus = []int{launch.ExitFailure}
	switch {
	case b.name == "seatbelt":
		e.RunnerStatus = append(e.RunnerStatus, 65, 71) // sandbox-exec's own
	case slices.Contains(b.enforcement.Limits, "unsupervised"):
		e.RunnerStatus = append(e.RunnerStatus, 1) // bubblewrap's own
	}
	return e
}

// What an exit event says of denials. Whoever has the command's standard error can
// find out more (explain --stderr); the launcher leaves it to the command, so that a
// command that failed may have been denied something, or not.
const (
	notDenied     = "notDenied"
	deniedUnknown = "unknown"
	deniedSure    = "denied"
)

// deniedBy says what a command's exit status tells of denials.
func deniedBy(status int) string {
	if status != 0 {
		return deniedUnknown
	}
	return notDenied
}

// failed says that the command did not run: it could not be executed, or the
// launcher failed before.
func (r *report) failed(err error) {
	if r == nil {
		return
	}
	code := exitStatus(err)
	runner := code == launch.ExitFailure
	denied := deniedUnknown
	if runner {
		denied = notDenied // nothing was tried
	}
	r.write(event{Event: "exit", Code: &code, RunnerFailed: &runner, Reason: err.Error(), Denied: denied, Enforcement: r.enforcement, about: about{Mode: r.about.Mode, Outcome: r.about.Outcome}})
}

func (r *report) unconfined(reason string) error {
	if r == nil {
		return nil
	}
	r.enforcement = "none"
	return r.write(event{Event: "plan", Enforcement: "none", Reason: reason, Exit: "unobserved", about: r.about})
}
