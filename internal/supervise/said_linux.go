package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Said passes on what a command writes to standard error, which is then a pipe, and
// keeps the beginning of it. What comes after the command has ended, from a process
// that it left behind, goes nowhere: that process gets EPIPE. A nil Said leaves the
// command the launcher's own standard error.
type Said struct {
	Text []byte // what the command wrote
	More bool   // it wrote more than that
	Open bool   // its last line has no end

	from, to   int // the pipe
	stop, wake int // another, which tells the copier of the command's end
	done       chan struct{}
}

// maxSaid bounds what is kept.
const maxSaid = 4 << 20

// open returns the descriptor that is to be the command's standard error.
func (s *Said) open() (int, error) {
	if s == nil {
		return 2, nil
	}
	*s = Said{done: make(chan struct{})}
	for _, ends := range [][2]*int{{&s.from, &s.to}, {&s.stop, &s.wake}} {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return 0, fmt.Errorf("pipe: %w", err)
		}
		*ends[0], *ends[1] = p[0], p[1]
	}
	return s.to, nil
}

// begin starts to copy, once the command has its end of the pipe.
func (s *Said) begin() {
	if s == nil {
		return
	}
	unix.Close(s.to)
	go s.copy()
}

// finish returns when all that was written before the command ended has been copied.
func (s *Said) finish() {
	if s == nil {
		return
	}
	unix.Close(s.wake)
	<-s.done
	unix.Close(s.stop)
	unix.Close(s.from)
}

func (s *Said) copy() {
	defer close(s.done)
	buf := make([]byte, 64<<10)
	left := -1 // what is still to be copied, once the command has ended
	for left != 0 {
		fds := []unix.PollFd{{Fd: int32(s.from), Events: unix.POLLIN}, {Fd: int32(s.stop), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			if err == unix.EINTR {
				continue
			}
			return
		}
		if fds[0].Revents&unix.POLLIN == 0 {
			return // the writers or the command are gone
		}
		if left < 0 && fds[1].Revents != 0 {
			// More than this is from what the command left behind, and may have no end.
			if left, _ = unix.IoctlGetInt(s.from, unix.TIOCINQ); left <= 0 {
				return
			}
		}
		size := len(buf)
		if left > 0 {
			size = min(size, left)
		}
		n, err := unix.Read(s.from, buf[:size])
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return
		}
		if left > 0 {
			left -= n
		}
		s.keep(buf[:n])
		for rest := buf[:n]; len(rest) > 0; {
			n, err := unix.Write(2, rest)
			if err == unix.EAGAIN {
				unix.Poll([]unix.PollFd{{Fd: 2, Events: unix.POLLOUT}}, -1)
			} else if err != nil && err != unix.EINTR {
				break // nobody reads any more, which the command need not know
			}
			rest = rest[max(n, 0):]
		}
	}
}

func (s *Said) keep(p []byte) {
	s.Open = p[len(p)-1] != '\n'
	if room := maxSaid - len(s.Text); len(p) > room {
		p, s.More = p[:room], true
	}
	s.Text = append(s.Text, p...)
}
