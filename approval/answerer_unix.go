//go:build linux || darwin

package approval

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// Descriptor is an answerer at the other end of fd, which is open for reading and
// writing: a socket, as a rule. It reads a request and writes an answer, and its
// end stays open for the next.
func Descriptor(fd int, limit time.Duration) Answerer {
	return func(r Request) (Outcome, error) {
		q, err := begin(limit)
		if err != nil {
			return failed(err)
		}
		defer q.stop()
		if err := q.write(fd, r.Line()); err != nil {
			return failed(err)
		}
		var text []byte
		for len(text) <= MaxLine && bytes.IndexByte(text, '\n') < 0 {
			more, err := q.read(fd)
			if err != nil {
				return failed(err)
			}
			if len(more) == 0 {
				break
			}
			text = append(text, more...)
		}
		return Answer(r.ID, text)
	}
}

// Program is an answerer that is started for each request, from its path, without
// arguments and without a shell. It reads the request from standard input, writes
// the answer to standard output and exits with 0. Its standard error is dropped; it
// has no other descriptor, starts in the root directory, with the environment env,
// and leads a process group, which is killed when the answer is there.
func Program(path string, env []string, limit time.Duration) Answerer {
	return func(r Request) (Outcome, error) {
		q, err := begin(limit)
		if err != nil {
			return failed(err)
		}
		defer q.stop()
		p, err := startProgram(path, env)
		if err != nil {
			return failed(err)
		}
		text, err := p.answer(q, r.Line())
		status := p.end()
		switch {
		case err != nil:
			return failed(err)
		case status != 0:
			return failed(errors.New("it did not exit with 0"))
		}
		return Answer(r.ID, text)
	}
}

// program is an answerer that runs.
type program struct {
	pid     int
	in, out int // our ends of its standard input and output
}

func startProgram(path string, env []string) (*program, error) {
	// Whatever the launcher has open is the launcher's, or the command's.
	if err := launch.CloseOnExec(nil); err != nil {
		return nil, err
	}
	null, err := unix.Open("/dev/null", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/null: %w", err)
	}
	defer unix.Close(null)
	var in, out [2]int
	if err := unix.Pipe(in[:]); err != nil {
		return nil, err
	}
	defer unix.Close(in[0])
	if err := unix.Pipe(out[:]); err != nil {
		unix.Close(in[1])
		return nil, err
	}
	defer unix.Close(out[1])
	for _, fd := range []int{in[0], in[1], out[0], out[1]} {
		unix.CloseOnExec(fd)
	}
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{
		Dir: "/", Env: env,
		Files: []uintptr{uintptr(in[0]), uintptr(out[1]), uintptr(null)},
		Sys:   apart(),
	})
	if err != nil {
		unix.Close(in[1])
		unix.Close(out[0])
		return nil, err
	}
	return &program{pid: pid, in: in[1], out: out[0]}, nil
}

// answer gives the program its request, and returns what it says until it ends.
func (p *program) answer(q question, line []byte) ([]byte, error) {
	// One that ends without reading is judged by what it says.
	if err := q.write(p.in, line); err != nil && err != unix.EPIPE {
		return nil, err
	}
	p.closeIn()
	var text []byte
	for {
		more, err := q.read(p.out)
		if err != nil {
			return nil, err
		}
		text = append(text, more...)
		switch {
		case len(text) > MaxLine:
			return nil, errors.New("it says too much")
		case len(more) == 0:
			return text, p.exited(q)
		}
	}
}

func (p *program) closeIn() {
	if p.in >= 0 {
		unix.Close(p.in)
		p.in = -1
	}
}

// exited waits for the end of a program that has closed its output.
func (p *program) exited(q question) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		over, err := ended(p.pid)
		if over || err != nil {
			return err
		}
		// Nothing that both systems have says that a child ended: look again.
		if err := q.pause(pause); err != nil {
			return err
		}
	}
}

// end kills what is left of the program's group, and then waits for the program:
// until it is waited for no other process gets its number, which is the group's.
func (p *program) end() syscall.WaitStatus {
	p.closeIn()
	unix.Close(p.out)
	unix.Kill(-p.pid, unix.SIGKILL)
	unix.Kill(p.pid, unix.SIGKILL) // where it left the group
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(p.pid, &status, 0, nil); err != unix.EINTR {
			return status
		}
	}
}
