package landlock

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LogABI is the version from which a domain can log what it denies to the programs
// that are executed in it (Linux 6.15).
const LogABI = 7

// Refusal is an access that a domain denied, as the kernel's audit log has it.
type Refusal struct {
	Path     string   // the directory, for a file that was to be made or removed
	Blockers []string // the rights that were missing: "fs.read_file"
}

// Log reads the kernel's audit log from when it was opened. It sees what the kernel
// sends to every reader, and leaves the log and its daemon alone.
type Log struct{ fd int }

// Why the log cannot be read.
var (
	ErrNoAudit      = errors.New("no-audit")      // not in this kernel, or not in this namespace
	ErrNotPermitted = errors.New("not-permitted") // it takes CAP_AUDIT_READ
	ErrAuditOff     = errors.New("audit-off")     // nothing is logged
)

// OpenLog begins to listen (AUDIT_NLGRP_READLOG of linux/audit.h).
func OpenLog() (*Log, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_AUDIT)
	if err != nil {
		return nil, ErrNoAudit
	}
	l := &Log{fd}
	err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.AUDIT_NLGRP_READLOG - 1)})
	if err != nil {
		l.Close()
		return nil, ErrNotPermitted
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
	if on, err := l.enabled(); err != nil || !on {
		l.Close()
		if err != nil {
			return nil, err
		}
		return nil, ErrAuditOff
	}
	return l, nil
}

// Close stops listening.
func (l *Log) Close() { unix.Close(l.fd) }

// enabled asks whether anything is logged. Who may listen but not ask (that takes
// CAP_AUDIT_CONTROL) cannot tell silence from a log that is off.
func (l *Log) enabled() (bool, error) {
	ask := make([]byte, unix.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint32(ask[0:], unix.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint16(ask[4:], unix.AUDIT_GET)
	binary.NativeEndian.PutUint16(ask[6:], unix.NLM_F_REQUEST)
	if err := unix.Sendto(l.fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, ErrNoAudit
	}
	for {
		kind, body, ok := l.receive(5 * time.Second)
		switch {
		case !ok:
			return false, ErrNoAudit
		case kind == unix.NLMSG_ERROR:
			return false, ErrNotPermitted
		case kind == unix.AUDIT_GET && len(body) >= 8:
			return binary.NativeEndian.Uint32(body[4:]) != 0, nil // struct audit_status: mask, enabled
		}
	}
}

// receive returns the next message, waiting for it as long as that.
func (l *Log) receive(wait time.Duration) (kind uint16, body []byte, ok bool) {
	for end := time.Now().Add(wait); ; {
		fds := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(max(time.Until(end), 0).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return 0, nil, false
		}
		buf := make([]byte, 16<<10)
		size, from, err := unix.Recvfrom(l.fd, buf, 0)
		if err == unix.ENOBUFS || err == unix.EINTR {
			continue // some are lost
		}
		if err != nil || size < unix.NLMSG_HDRLEN {
			return 0, nil, false
		}
		if sender, kernel := from.(*unix.SockaddrNetlink); !kernel || sender.Pid != 0 {
			continue
		}
		return binary.NativeEndian.Uint16(buf[4:]), buf[unix.NLMSG_HDRLEN:size], true
	}
}

// quiet is how long the log has to be silent before Refusals believes that it has
// seen everything: a thread of the kernel's sends the records.
const quiet = 200 * time.Millisecond

// Refusals returns what the domains that process pid made have denied, each once, and
// at most so many.
func (l *Log) Refusals(pid, most int) []Refusal {
	var list []Refusal
	seen := map[string]bool{}
	own := map[string]bool{} // domains
	waiting := map[string][]Refusal{}
	for {
		kind, body, ok := l.receive(quiet)
		if !ok {
			return list
		}
		domain, r, made := parseRecord(kind, string(body))
		switch {
		case made == pid && domain != "":
			own[domain] = true
			list = append(list, waiting[domain]...) // its first refusal comes before
			delete(waiting, domain)
		case r.Path == "":
		case !own[domain]:
			if len(waiting[domain]) < most {
				waiting[domain] = append(waiting[domain], r)
			}
		default:
			if key := strings.Join(append(r.Blockers, r.Path), "\x00"); !seen[key] && len(list) < most {
				seen[key] = true
				list = append(list, r)
			}
		}
	}
}

// parseRecord reads a record of the kernel's (Documentation/admin-guide/LSM/landlock.rst):
// of a refusal, or of the domain that process made, which is logged with its first.
func parseRecord(kind uint16, text string) (domain string, r Refusal, made int) {
	if kind != unix.AUDIT_LANDLOCK_ACCESS && kind != unix.AUDIT_LANDLOCK_DOMAIN {
		return "", Refusal{}, 0
	}
	for _, field := range strings.Fields(strings.TrimRight(text, "\x00\n")) {
		name, value, _ := strings.Cut(field, "=")
		switch {
		case name == "domain":
			domain = value
		case name == "blockers" && kind == unix.AUDIT_LANDLOCK_ACCESS:
			r.Blockers = strings.Split(value, ",")
		case name == "path" && kind == unix.AUDIT_LANDLOCK_ACCESS:
			r.Path = untrusted(value)
		case name == "pid" && kind == unix.AUDIT_LANDLOCK_DOMAIN:
			made, _ = strconv.Atoi(value)
		}
	}
	return domain, r, made
}

// untrusted reads what audit_log_untrustedstring wrote: quoted, or in hexadecimal
// where there is a quote, a space or what cannot be printed.
func untrusted(s string) string {
	if rest, quoted := strings.CutPrefix(s, `"`); quoted {
		return strings.TrimSuffix(rest, `"`)
	}
	text, err := hex.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(text)
}
