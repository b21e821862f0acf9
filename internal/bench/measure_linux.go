package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// contestant is one way to start the command.
type contestant struct {
	name    string
	argv    []string // argv[0] is the program's path
	missing string   // why it cannot be measured
	rules   int      // mounts or rules that it sets up; 0 where not known

	call func() (time.Duration, error) // in place of argv: done by the calling process
}

// start starts the command once and returns the time that took.
func (c contestant) start(sc *scratch) (time.Duration, error) {
	if c.call != nil {
		return c.call()
	}
	return sc.spawn(c.argv)
}

// enough bounds what one contestant may take: after this time it sits out, once
// it has run in three rounds.
const enough = 20 * time.Second

// start is what was found out about a contestant.
type start struct {
	Name    string        `json:"name"`
	Missing string        `json:"notMeasured,omitempty"`
	Rounds  int           `json:"rounds,omitempty"`
	Median  time.Duration `json:"medianNs,omitempty"`
	Min     time.Duration `json:"minNs,omitempty"`
	Added   time.Duration `json:"addedNs,omitempty"` // over bare exec
	Ratio   float64       `json:"ratioToExecOnly,omitempty"`
	Rules   int           `json:"rules,omitempty"`

	samples []time.Duration
}

// measure runs every contestant in every round. The first is bare exec; what is
// added is added to it. One whose command fails is left out, with its reason.
func measure(ctx context.Context, sc *scratch, field []contestant, rounds int) ([]start, error) {
	starts := make([]start, len(field))
	spent := make([]time.Duration, len(field))
	for i := range field {
		c := &field[i]
		switch {
		case c.missing != "":
		case c.call != nil:
			if _, err := c.call(); err != nil {
				c.missing = err.Error()
			}
		default:
			c.missing = sc.try(c.argv)
		}
		starts[i] = start{Name: c.name, Missing: c.missing, Rules: c.rules}
	}
	if field[0].missing != "" {
		return nil, errors.New(field[0].name + ": " + field[0].missing)
	}
	var p progress
	for round := range rounds {
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		p.show("round %d of %d", round+1, rounds)
		for i := range field {
			starts[i].samples = append(starts[i].samples, missing)
		}
		for _, i := range rand.Perm(len(field)) {
			s := &starts[i]
			if s.Missing != "" || (spent[i] > enough && s.Rounds >= 3) {
				continue
			}
			took, err := field[i].start(sc)
			if err != nil {
				s.Missing = err.Error()
				continue
			}
			s.samples[round] = took
			s.Rounds++
			spent[i] += took
		}
	}
	for i := range starts {
		s := &starts[i]
		if s.Missing == "" {
			s.Median, s.Min, s.Added = median(s.samples), minimum(s.samples), added(s.samples, starts[0].samples)
		}
	}
	if floor := find(starts, nameFloor); floor != nil {
		for i := range starts {
			starts[i].Ratio = ratio(starts[i].Added, floor.Added)
		}
	}
	return starts, nil
}

// find returns the contestant of that name that was measured, or nil.
func find(starts []start, name string) *start {
	for i := range starts {
		if starts[i].Name == name && starts[i].Missing == "" {
			return &starts[i]
		}
	}
	return nil
}

// spawn starts a program, waits for it, and returns the time that took.
func (sc *scratch) spawn(argv []string) (time.Duration, error) {
	attr := &syscall.ProcAttr{Dir: sc.workspace, Env: sc.env, Files: []uintptr{sc.null.Fd(), sc.null.Fd(), sc.null.Fd()}, Sys: sc.as}
	began := time.Now() // holds the monotonic clock
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", argv[0], err)
	}
	var ws syscall.WaitStatus
	for {
		_, err = syscall.Wait4(pid, &ws, 0, nil)
		if err != syscall.EINTR {
			break
		}
	}
	took := time.Since(began)
	if err == nil && ws != 0 {
		err = fmt.Errorf("%s ended with wait status %#x", argv[0], uint32(ws))
	}
	return took, err
}

// try runs a contestant once, to warm it up, and returns why it does not work.
func (sc *scratch) try(argv []string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = sc.workspace, sc.env, sc.as
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	if len(line) == 0 {
		return err.Error()
	}
	return strings.TrimPrefix(string(line), "letta-confine: error: ")
}

// progress tells on standard error how far a long measurement has come, no more
// than once in two seconds.
type progress struct{ last time.Time }

func (p *progress) show(format string, args ...any) {
	switch now := time.Now(); {
	case p.last.IsZero():
		p.last = now
	case now.Sub(p.last) >= 2*time.Second:
		p.last = now
		fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
	}
}
