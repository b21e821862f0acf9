//go:build linux || darwin

package approval

import (
	"errors"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errLate        = errors.New("it gave no answer in time")
	errInterrupted = errors.New("a signal ended the question")
)

// question is what bounds the wait for an answer: its time, and the signals that
// would end the launcher. They end the question instead, so that what an answerer
// started is ended too, and a terminal is as it was.
type question struct {
	deadline time.Time
	signals  int // readable once a signal came
	stop     func()
}

func begin(limit time.Duration) (question, error) {
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		return question{}, err
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	came := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		if !signal.Ignored(sig) { // by whoever started the launcher, nohup for one
			signal.Notify(came, sig)
		}
	}
	over := make(chan struct{})
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		select {
		case <-came:
			unix.Write(ends[1], []byte{0})
		case <-over:
		}
	}()
	stop := func() {
		signal.Stop(came)
		close(over)
		<-heard
		unix.Close(ends[0])
		unix.Close(ends[1])
	}
	return question{time.Now().Add(limit), ends[0], stop}, nil
}

// wait waits until fd is ready for the events, or at its end.
func (q question) wait(fd int, events int16) error {
	for {
		left := time.Until(q.deadline)
		if left <= 0 {
			return errLate
		}
		fds := []unix.PollFd{{Fd: int32(q.signals), Events: unix.POLLIN}, {Fd: int32(fd), Events: events}}
		n, err := unix.Poll(fds, int(min(left, time.Hour)/time.Millisecond)+1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
		case fds[0].Revents != 0:
			return errInterrupted
		case fds[1].Revents&unix.POLLNVAL != 0:
			return unix.EBADF
		default:
			return nil
		}
	}
}

// pause lets time pass, unless a signal comes.
func (q question) pause(d time.Duration) error {
	if time.Until(q.deadline) <= 0 {
		return errLate
	}
	fds := []unix.PollFd{{Fd: int32(q.signals), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, int(d/time.Millisecond)); n > 0 {
		return errInterrupted
	}
	return nil
}

// read returns what there is to read, once there is something; nothing at the end.
func (q question) read(fd int) ([]byte, error) {
	buf := make([]byte, MaxLine+1)
	for {
		if err := q.wait(fd, unix.POLLIN); err != nil {
			return nil, err
		}
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		return buf[:max(n, 0)], err
	}
}

// write writes a line, which is not longer than MaxLine.
func (q question) write(fd int, line []byte) error {
	if err := q.wait(fd, unix.POLLOUT); err != nil {
		return err
	}
	n, err := unix.Write(fd, line)
	if err == nil && n < len(line) {
		err = errors.New("it took a part of the request only")
	}
	return err
}

// failed is the outcome of a question that ended with an error.
func failed(err error) (Outcome, error) {
	if err == errInterrupted {
		return Cancelled, err
	}
	return Unavailable, err
}
