//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/internal/mask"
)

// audit is --audit-log: one line for a run, appended with one write, so that lines
// of runs at the same time are not mixed. A nil audit writes nothing.
type audit struct {
	fd    int
	began time.Time
	line  auditLine
}

// auditLine is what the log says of a run (docs/audit.schema.json).
type auditLine struct {
	Schema      int       `json:"schema"`
	Time        string    `json:"time"` // RFC 3339, in UTC
	PID         int       `json:"pid"`  // the launcher's, and the command's where nothing stays
	Backend     string    `json:"backend,omitempty"`
	Enforcement string    `json:"enforcement,omitempty"`
	Reason      string    `json:"reason,omitempty"` // why nothing is confined
	Mode        string    `json:"mode,omitempty"`
	Profile     string    `json:"profile,omitempty"`
	Roots       *roots    `json:"roots,omitempty"`
	Cwd         string    `json:"cwd,omitempty"`
	Argv        []string  `json:"argv"` // without what looks secret
	Cut         bool      `json:"argvCut,omitempty"`
	Exit        any       `json:"exit"` // a status, or "unobserved"
	Denied      string    `json:"denied,omitempty"`
	Error       string    `json:"error,omitempty"` // why the command did not run
	Duration    *duration `json:"durationMs,omitempty"`
}

// roots counts the roots of the policy.
type roots struct {
	Base     int  `json:"baseWritable"`
	Denied   int  `json:"denied"`
	ReadOnly int  `json:"readonly"`
	Writable int  `json:"writable"`
	Restrict bool `json:"restrictWrites"`
}

type duration time.Duration

// MarshalJSON gives milliseconds, to the microsecond.
func (d duration) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(time.Duration(d).Microseconds())/1000), nil
}

// unobserved is the exit of a command that replaces the launcher.
const unobserved = "unobserved"

// maxArgv bounds what a line holds of a command line: one of two megabytes is no
// record but a way to fill a disk.
const maxArgv = 8 << 10

// openAudit opens --audit-log.
func (in *inputs) openAudit(began time.Time) error {
	if in.opts.auditLog == "" || in.log != nil {
		return nil
	}
	fd, err := in.openOutput("--audit-log", in.opts.auditLog, unix.O_APPEND)
	if err != nil {
		return err
	}
	l := auditLine{
		Schema: schemaVersion, Time: began.UTC().Format(time.RFC3339Nano), PID: os.Getpid(),
		Mode: in.about.Mode, Profile: in.about.Profile, Cwd: in.cwd, Argv: []string{},
	}
	if p := in.policy; !in.unresolved {
		l.Roots = &roots{len(p.BaseWritable), len(p.Denied), len(p.ReadOnly), len(p.Writable), p.RestrictWrites}
	}
	room := maxArgv
	for _, arg := range mask.Argv(in.opts.args) {
		if room -= len(arg); room < 0 {
			l.Cut = true
			break
		}
		l.Argv = append(l.Argv, arg)
	}
	in.log = &audit{fd, began, l}
	return nil
}

// refused writes the line of a run that ended before the log was opened. Where the
// policy was not resolved nobody knows what the command can write, so the file must
// have no second name: no earlier run can have linked another one there.
func (in *inputs) refused(began time.Time, cause error) {
	if in.log == nil {
		if in.openAudit(began) != nil || in.log == nil {
			return // the first error is the one to tell
		}
		var st unix.Stat_t
		if err := unix.Fstat(in.log.fd, &st); err != nil || st.Nlink != 1 {
			return
		}
	}
	in.log.failed(cause, exitStatus(cause))
}

// on names the backend that is about to run the command, or with none why not.
func (a *audit) on(backend, enforcement, reason string) {
	if a != nil {
		a.line.Backend, a.line.Enforcement, a.line.Reason = backend, enforcement, reason
	}
}

// leaves writes the line of a run whose command replaces the launcher. What cannot
// be found is an error before that; what cannot be executed adds a second line.
func (a *audit) leaves(argv, env []string) error {
	if a == nil {
		return nil
	}
	if argv != nil {
		if _, err := launch.LookPath(argv[0], env); err != nil {
			return err
		}
	}
	a.line.Exit = unobserved
	return a.write()
}

// ended writes the line of a run that was seen to its end.
func (a *audit) ended(status int, denied string) error {
	if a == nil {
		return nil
	}
	a.line.Exit, a.line.Denied = status, denied
	a.took()
	return a.write()
}

// failed writes the line of a run whose command did not run.
func (a *audit) failed(cause error, status int) {
	if a == nil {
		return
	}
	a.line.Exit, a.line.Error = status, oneLine(cause.Error())
	a.took()
	if err := a.write(); err != nil {
		warn(err.Error())
	}
}

func (a *audit) took() {
	d := duration(time.Since(a.began)) // by the monotonic clock
	a.line.Duration = &d
}

func (a *audit) write() error {
	line, err := json.Marshal(a.line)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	line = append(line, '\n')
	n, err := unix.Write(a.fd, line)
	if err == nil && n < len(line) {
		err = unix.ENOSPC
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}
