//go:build linux || darwin

package approval

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal asks the person at the terminal that controls this process, and shows the
// command argv. What was typed before the question is thrown away; the person's
// line is read as a whole, with the terminal's own editing. ^C ends the question
// and nothing else, since the signal would end whoever waits for the launcher too.
func Terminal(argv []string, limit time.Duration) Answerer {
	return func(r Request) (Outcome, error) {
		fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return Unavailable, fmt.Errorf("/dev/tty: %w", err)
		}
		defer unix.Close(fd)
		// In the background, to read would stop the launcher.
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
			return Unavailable, errors.New("the terminal is another program's")
		}
		q, err := begin(limit)
		if err != nil {
			return failed(err)
		}
		defer q.stop()
		before, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return failed(err)
		}
		defer setTermios(fd, before) // after this nothing typed is left for the command
		asking := *before
		setLine(&asking)
		if err := setTermios(fd, &asking); err != nil {
			return failed(err)
		}
		line, err := q.prompt(fd, Prompt(r, argv))
		if err != nil {
			return failed(err)
		}
		return Typed(line), nil
	}
}

// setLine has the terminal give whole lines, show what is typed, and end a line with
// ^C and ^\ too, which are characters then.
func setLine(t *unix.Termios) {
	t.Iflag |= unix.ICRNL
	t.Iflag &^= unix.INLCR | unix.IGNCR | unix.ISTRIP | unix.PARMRK | unix.IXON | unix.IXOFF
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ICANON | unix.ECHO | unix.ECHOE | unix.ECHOK
	t.Lflag &^= unix.ISIG | unix.EXTPROC
	t.Cc[unix.VEOL], t.Cc[unix.VEOL2] = '\x03', '\x1c'
}

// prompt shows the text and returns the line that is typed.
func (q question) prompt(fd int, text string) (string, error) {
	for rest := []byte(text); len(rest) > 0; {
		if err := q.wait(fd, unix.POLLOUT); err != nil {
			return "", err
		}
		n, err := unix.Write(fd, rest[:min(len(rest), MaxLine)])
		if err != nil && err != unix.EINTR {
			return "", err
		}
		rest = rest[max(n, 0):]
	}
	line, err := q.read(fd)
	if !strings.HasSuffix(string(line), "\n") { // the next line of the terminal is another's
		unix.Write(fd, []byte("\n"))
	}
	return string(line), err
}
