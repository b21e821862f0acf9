//go:build linux || darwin

package sessionlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// Log is an open log. Descriptor FD is open for reading and, for all but Read, for
// appending; nothing else of the process has the file open, because locks of a
// process end when it closes any descriptor of the file.
//
// Two kinds of record locks (fcntl(2)) keep its writers apart: one byte far behind
// the end for as long as a writer reads and writes, and the first byte of each
// question's line for as long as it is open. The kernel releases both with the
// process, so that a question whose byte nobody holds is a dead one.
type Log struct {
	FD   int
	mine string // the question of this process that is open
}

// writing is the byte that a writer holds.
const writing = int64(1) << 62

// patience is how long to wait for another writer, which needs no time to speak of.
const patience = 10 * time.Second

// Read returns what the log says, and changes nothing.
func (l *Log) Read() (State, error) {
	unlock, err := l.lock(unix.F_RDLCK)
	if err != nil {
		return State{}, err
	}
	defer unlock()
	return l.parse()
}

// Settle gives the questions of runs that have ended their outcome.
func (l *Log) Settle() error { return l.update(func(State) []Event { return nil }) }

// Asked adds a question, which is this process's until it is decided.
func (l *Log) Asked(e Event) error {
	e.Event = ApprovalAsked
	err := l.update(func(State) []Event {
		l.mine = e.ID
		return []Event{e}
	})
	if err != nil {
		l.mine = ""
	}
	return err
}

// Decided adds the outcome of the question that is open.
func (l *Log) Decided(outcome string) error {
	err := l.update(func(s State) []Event {
		return []Event{{Event: ApprovalDecided, ID: l.mine, Outcome: outcome}}
	})
	l.mine = ""
	return err
}

// Set adds the events that events makes of what the log says now, and returns them.
func (l *Log) Set(events func(State) []Event) (added []Event, err error) {
	err = l.update(func(s State) []Event {
		added = events(s)
		return added
	})
	return added, err
}

// update closes what dead runs left open, adds events, and leaves the log as it was
// where it cannot.
func (l *Log) update(events func(State) []Event) error {
	unlock, err := l.lock(unix.F_WRLCK)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := l.parse()
	if err != nil {
		return err
	}
	add, err := l.dead(s)
	if err != nil {
		return err
	}
	add = append(add, events(s)...)
	if len(add) == 0 {
		return nil
	}
	if s.torn { // the beginning of a line that a killed writer left
		if err := unix.Ftruncate(l.FD, s.end); err != nil {
			return err
		}
	}
	end := s.end
	for _, e := range add {
		n, err := l.append(e, end)
		if err != nil {
			unix.Ftruncate(l.FD, s.end) // all or nothing
			return err
		}
		end += n
	}
	return nil
}

// dead are the outcomes of the questions that nobody waits for any more.
func (l *Log) dead(s State) (add []Event, err error) {
	for _, p := range s.Open {
		if p.ID == l.mine {
			continue
		}
		held := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: p.at, Len: 1}
		if err := unix.FcntlFlock(uintptr(l.FD), unix.F_GETLK, &held); err != nil {
			return nil, err
		}
		if held.Type != unix.F_WRLCK { // the lock of a reader is nobody's question
			add = append(add, Event{Event: ApprovalDecided, ID: p.ID, Outcome: unanswered})
		}
	}
	return add, nil
}

// reserved is what only outcomes may use of a log, in bytes: a question that is
// written down can always be closed. It is enough for a thousand open ones.
const reserved = 256 << 10

// append writes one event with one write, at the end, which is at.
func (l *Log) append(e Event, at int64) (int64, error) {
	line, err := e.Line()
	if err != nil {
		return 0, err
	}
	room := int64(MaxFile)
	if e.Event != ApprovalDecided {
		room -= reserved
	}
	if at+int64(len(line)) > room {
		return 0, unix.EFBIG // or nobody could read it any more
	}
	if e.Event == ApprovalAsked {
		mine := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
		if err := unix.FcntlFlock(uintptr(l.FD), unix.F_SETLK, &mine); err != nil {
			return 0, err
		}
	}
	// At the limit for the size of files the kernel sends this, and the Go runtime
	// ends the program with a status of its own.
	full := make(chan os.Signal, 1)
	signal.Notify(full, unix.SIGXFSZ)
	defer signal.Stop(full)
	n, err := unix.Write(l.FD, line)
	if err == nil && n < len(line) {
		err = unix.ENOSPC
	}
	return int64(n), err
}

func (l *Log) parse() (State, error) {
	var text []byte
	buf := make([]byte, 8192)
	for {
		n, err := unix.Pread(l.FD, buf, int64(len(text)))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return State{}, err
		case n == 0:
			return Parse(text)
		}
		if text = append(text, buf[:n]...); len(text) > MaxFile {
			return State{}, fmt.Errorf("more than %d bytes", MaxFile)
		}
	}
}

func (l *Log) lock(kind int16) (unlock func(), err error) {
	set := func(kind int16) error {
		return unix.FcntlFlock(uintptr(l.FD), unix.F_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: writing, Len: 1})
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		last := time.Now().After(deadline) // before the try: a process may be stopped after it
		switch err := set(kind); {
		case err == nil:
			return func() { set(unix.F_UNLCK) }, nil
		case err != unix.EAGAIN && err != unix.EACCES && err != unix.EINTR:
			return nil, err
		case last:
			return nil, errors.New("another program holds its lock")
		}
	}
}
