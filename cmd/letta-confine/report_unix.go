//go:build linux || darwin

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// report writes the events of a run, one JSON object a line, each with one
// write. A nil report writes nothing.
type report struct {
	fd          int
	about       about  // of the plan event
	enforcement string // likewise, for the exit event
	passedOver  []passedOver
	stage       string // what is going on, should it fail
}

// openReport opens --report.
func (in *inputs) openReport() (*report, error) {
	if in.opts.report == "" {
		return nil, nil
	}
	fd, err := in.openOutput("--report", in.opts.report, 0)
	if err != nil {
		return nil, err
	}
	return &report{fd: fd, about: in.about, stage: stageLauncher}, nil
}

// event is any event of a report.
type event struct {
	Schema       int          `json:"schema"`
	Event        string       `json:"event"`
	Backend      string       `json:"backend,omitempty"`
	Enforcement  string       `json:"enforcement,omitempty"`
	Reason       string       `json:"reason,omitempty"`
	Gaps         []string     `json:"gaps,omitempty"`
	OverDenials  []string     `json:"overDenials,omitempty"`
	Limits       []string     `json:"limits,omitempty"`
	Skipped      []skipped    `json:"skipped,omitempty"`
	Created      []string     `json:"created,omitempty"`
	Exit         string       `json:"exit,omitempty"` // "unobserved" where no supervisor stays
	Proof        any          `json:"proof,omitempty"`
	Code         *int         `json:"code,omitempty"`
	RunnerFailed *bool        `json:"runnerFailed,omitempty"`
	Denied       string       `json:"denied,omitempty"`
	PassedOver   []passedOver `json:"passedOver,omitempty"`   // backends that were to be tried first
	Denials      []denialJSON `json:"denials,omitempty"`      // what is known of them
	Unreadable   string       `json:"unreadable,omitempty"`   // why the kernel's log is, with --audit-denials
	Stage        string       `json:"stage,omitempty"`        // of a command that did not run: what failed
	Dialect      []string     `json:"dialect,omitempty"`      // the errors by which the backend denies
	RunnerStatus []int        `json:"runnerStatus,omitempty"` // without a started event, not the command's own
	about
}

// passedOver is a backend that did not take the command, and why.
type passedOver struct {
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
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

	Credentials []secret `json:"credentials,omitempty"` // names and where from, never values
}

// denialJSON is a denial in the report's exit event.
type denialJSON struct {
	Path  string `json:"path"`
	For   string `json:"for"`
	Errno string `json:"errno,omitempty"`
	By    string `json:"by"` // who says so

	OverDenial bool `json:"overDenial,omitempty"` // the policy allows it
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
	e.Created, e.PassedOver, e.about = made, r.passedOver, r.about
	r.enforcement = e.Enforcement
	return r.write(e)
}

// passOver has the next plan event say that b did not take the command.
func (r *report) passOver(b *backend) {
	if r != nil {
		r.passedOver = append(r.passedOver, passedOver{b.name, b.reason()})
	}
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
	if !b.observed {
		e.Exit = unobserved
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
	denied    = "denied"
	notDenied = "notDenied"
	unknown   = "unknown"
)

// The stages in which a run can fail before the command runs.
const (
	stageLauncher = "launcher" // no backend was tried yet
	stageBackend  = "backend"
	stageExec     = "exec" // all was ready, and the command could not be executed
)

// errInterrupted is why a command did not run that a signal came before.
var errInterrupted = errors.New("a signal ended the launcher before the command ran")

// reaches notes what is going on.
func (r *report) reaches(stage string) {
	if r != nil {
		r.stage = stage
	}
}

// failed says that the command did not run: it could not be executed, or the
// launcher failed before.
func (r *report) failed(err error) {
	if r == nil {
		return
	}
	code := exitStatus(err)
	runner := code == launch.ExitFailure
	verdict, stage := unknown, stageExec
	if runner {
		verdict, stage = notDenied, r.stage // nothing was tried
	}
	r.write(event{Event: "exit", Code: &code, RunnerFailed: &runner, Stage: stage, Reason: err.Error(), Denied: verdict, Enforcement: r.enforcement, about: about{Mode: r.about.Mode, Outcome: r.about.Outcome}})
}

// interrupted says that a signal ended the launcher before the command ran.
func (r *report) interrupted(code int) {
	if r == nil {
		return
	}
	yes := true
	r.write(event{Event: "exit", Code: &code, RunnerFailed: &yes, Stage: r.stage, Reason: errInterrupted.Error(), Denied: notDenied, Enforcement: r.enforcement, about: about{Mode: r.about.Mode}})
}

func (r *report) unconfined(reason string) error {
	if r == nil {
		return nil
	}
	r.enforcement = "none"
	return r.write(event{Event: "plan", Enforcement: "none", Reason: reason, Exit: "unobserved", PassedOver: r.passedOver, about: r.about})
}
