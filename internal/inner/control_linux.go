package inner

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// control is one end of the socket between the supervisor and the stage. Each
// message is a packet; the kernel adds the sender's pid, in the numbers of the
// receiver's own pid namespace, so the stage cannot give a wrong one (unix(7),
// SCM_CREDENTIALS).
type control int

// maxMessage is longer than any message: the longest holds a path and an error.
const maxMessage = 16 << 10

func (c control) send(kind byte, text []byte) error {
	msg := append([]byte{kind}, text...)
	return unix.Sendto(int(c), msg[:min(len(msg), maxMessage)], unix.MSG_NOSIGNAL, nil)
}

// receive returns one message. The end of the stream is the empty kind.
func (c control) receive() (kind byte, text []byte, err error) {
	kind, text, _, err = c.receiveFrom(0)
	return kind, text, err
}

// receiveFrom is receive with the sender's pid, or 0 where the socket does not
// ask for it.
func (c control) receiveFrom(flags int) (kind byte, text []byte, pid int, err error) {
	buf := make([]byte, maxMessage)
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	var n, oobn int
	for {
		n, oobn, _, _, err = unix.Recvmsg(int(c), buf, oob, unix.MSG_CMSG_CLOEXEC|flags)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil || n == 0 {
		return 0, nil, 0, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, nil, 0, err
	}
	for _, m := range msgs {
		if cred, err := unix.ParseUnixCredentials(&m); err == nil {
			pid = int(cred.Pid)
		}
	}
	return buf[0], buf[1:n], pid, nil
}

// Peer is the supervisor's side of the control socket.
type Peer struct{ fd control }

// NewPeer returns the supervisor's side and the descriptor of the stage's side.
// Both are closed at exec.
func NewPeer() (Peer, int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Peer{}, -1, fmt.Errorf("socketpair: %w", err)
	}
	if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return Peer{}, -1, fmt.Errorf("SO_PASSCRED: %w", err)
	}
	return Peer{control(fds[0])}, fds[1], nil
}

// Errors of Ready beside those of the system.
var (
	ErrGone    = errors.New("the sandbox ended before the command could start")
	ErrRefused = errors.New("the sandbox is not what the policy asks for")
)

// Await waits until the stage has something to say or the process of a pidfd has
// ended, for at most the given time. It fails with ErrGone when the process has
// ended and the stage is silent: what is left of the sandbox may hold the socket
// open for good.
func (p Peer) Await(pidfd int, limit time.Duration) error {
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}, {Fd: int32(pidfd), Events: unix.POLLIN}}
	for end := time.Now().Add(limit); ; {
		_, err := unix.Poll(fds, int(max(time.Until(end), 0).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if fds[0].Revents == 0 && fds[1].Revents != 0 {
			// The kernel looks at one after the other: the stage may have said
			// something, and ended, in between.
			if n, err := unix.Poll(fds[:1], 0); n == 0 && err == nil {
				return ErrGone
			}
		}
		return nil
	}
}

// Ready waits for the stage to be confined, for at most the given time. It fails
// with ErrGone when the sandbox ends first, with ErrRefused and the reason when
// the stage found that it must not start the command.
func (p Peer) Ready(limit time.Duration) (Proof, error) {
	tv := unix.NsecToTimeval(limit.Nanoseconds())
	if err := unix.SetsockoptTimeval(int(p.fd), unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return Proof{}, err
	}
	kind, text, pid, err := p.fd.receiveFrom(0)
	switch {
	case err == unix.EAGAIN:
		return Proof{}, fmt.Errorf("the sandbox is not set up after %v", limit)
	case err != nil && err != unix.ECONNRESET:
		return Proof{}, err
	case kind == msgReady && pid > 0:
		namespace, refused, _ := strings.Cut(string(text), " ")
		return Proof{PID: pid, MountNamespace: namespace, Refused: refused, NoNewPrivs: true}, nil
	case kind == msgRefuse:
		return Proof{}, fmt.Errorf("%w: %s", ErrRefused, text)
	}
	return Proof{}, ErrGone
}

// Go tells the stage to execute the command. It does not wait until it has: that
// would wake the supervisor just when the command starts.
func (p Peer) Go() error {
	if err := p.fd.send(msgGo, nil); err != nil {
		return ErrGone
	}
	return nil
}

// ExecError returns why the command could not be executed, as a
// [*launch.ExecError], or nil if it was. It answers once the sandbox has ended;
// what the stage sent last is then still to be read.
func (p Peer) ExecError() error {
	kind, text, _, err := p.fd.receiveFrom(unix.MSG_DONTWAIT)
	if err == nil && kind == msgExec && len(text) > 0 {
		return &launch.ExecError{Status: int(text[0]), Text: string(text[1:])}
	}
	return nil // the socket was closed at exec, or with the stage
}

// Close closes the supervisor's side; a stage that waits for Go then ends.
func (p Peer) Close() { unix.Close(int(p.fd)) }
