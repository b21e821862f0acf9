//go:build linux || darwin

package main

import (
	"fmt"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// explain --self runs inside a sandbox, and answers for the policy that is in force:
// it asks the kernel, by trying (docs/decisions/0023). It is told no policy, so there
// is none that could be forged, and it can do nothing that the command could not.

// selfAnswer is explain --self --json.
type selfAnswer struct {
	Schema   int     `json:"schema"`
	Confined bool    `json:"confined"`
	Backend  string  `json:"backend,omitempty"`
	Reason   string  `json:"reason,omitempty"` // for not being confined
	Tried    []tried `json:"tried,omitempty"`
}

// tried is what the kernel made of one operation.
type tried struct {
	Path    string       `json:"path"`
	For     denial.Op    `json:"for"`
	Outcome string       `json:"outcome"`
	Cause   string       `json:"cause,omitempty"` // of a denial
	Errno   string       `json:"errno,omitempty"`
	At      string       `json:"at,omitempty"`     // the mask or mount that is in the way
	Says    string       `json:"says"`             // the same for a person
	Policy  *explanation `json:"policy,omitempty"` // what the policy of the flags says, where one is given
}

// Outcomes, besides denied, and unknown where it cannot be tried without doing it.
const (
	allowed = "allowed"
	missing = "missing"

	bySandbox     = "sandbox"
	byPermissions = "permissions" // owner, mode, an access list: it would be denied without us
	byFileSystem  = "file-system" // which is read-only wherever it is mounted, or busy
)

// triable are the operations that can be tried and leave nothing behind.
var triable = []denial.Op{denial.Read, denial.List, denial.Write, denial.Create}

func (o *options) explainSelf() error {
	ops := []denial.Op{denial.Read, denial.Write}
	if o.wish != "" {
		ops = []denial.Op{denial.Op(o.wish)}
		if !slices.Contains(triable, ops[0]) {
			return withHint(fmt.Errorf("explain --self cannot try to %s without doing it", o.wish), "ask for read, list, write or create")
		}
	}
	answer := selfAnswer{Schema: schemaVersion}
	answer.Backend, answer.Reason = activeBackend(os.Getenv)
	if answer.Confined = answer.Backend != ""; answer.Confined {
		var in *inputs
		if o.statesPolicy() {
			var err error
			if in, err = collect(o); err != nil {
				return err
			}
		}
		t := trial{answer.Backend, tableOfMounts()}
		for _, p := range o.args {
			for _, op := range ops {
				r := tried{Path: p, For: op}
				t.try(&r)
				if in != nil {
					e, err := in.explainPath(p)
					if err != nil {
						return err
					}
					e.wanted = in.want(e.Resolved, op)
					r.Policy = &e
				}
				answer.Tried = append(answer.Tried, r)
			}
		}
	}
	if o.json {
		return printJSON(answer)
	}
	if !answer.Confined {
		return printText("not confined: " + answer.Reason + "\n")
	}
	fmt.Println("confined by " + answer.Backend)
	for _, r := range answer.Tried {
		fmt.Printf("%q: %s: %s\n", r.Path, r.For, r.Says)
		if r.Policy != nil {
			fmt.Print("  the policy given says: ")
			r.Policy.print()
		}
	}
	return nil
}

// activeBackend returns the backend that this process is confined by, or why it seems
// to be confined by none. The variable is a hint that anybody can set; what is
// then said comes from the kernel all the same.
func activeBackend(getenv func(string) string) (name, reason string) {
	name = getenv("LETTA_CONFINE")
	switch {
	case name == "":
		return "", "LETTA_CONFINE is not set"
	case denial.Dialect(name) == nil:
		return "", fmt.Sprintf("LETTA_CONFINE is %q, which is no backend", name)
	case !lockedIn():
		return "", "LETTA_CONFINE is set, but this process could gain privileges, and no confined one can"
	}
	return name, ""
}

// trial asks the kernel under one backend.
type trial struct {
	backend string
	mounts  []hostfs.Mount // nil where they are not known
}

// noop are the flags of an open that must have no effect: it waits for nobody, takes
// no terminal, creates and truncates nothing.
const noop = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// try fills in what comes of r.For on r.Path.
func (t *trial) try(r *tried) {
	p, err := policy.Canonical(absolute(r.Path), hostfs.FS{})
	if err != nil {
		r.failed(err)
		return
	}
	var st unix.Stat_t
	err = unix.Lstat(p, &st)
	kind := hostfs.KindOf(uint32(st.Mode))
	absent := err == unix.ENOENT || err == unix.ENOTDIR
	if at, masked := t.mask(p, kind); masked {
		r.deny(bySandbox, "", at, fmt.Sprintf("denied by the sandbox, which hides %q", at))
		return
	}
	switch making := r.For == denial.Write || r.For == denial.Create; {
	case err == unix.EACCES:
		r.deny(byPermissions, "EACCES", "", "denied by the permissions of a directory above, with the sandbox or without")
	case absent && !making:
		r.Outcome, r.Errno, r.Says = missing, "ENOENT", "there is no such file, and no mask of the sandbox's hides one"
		if m, known := t.at(p); known && m.Type == "tmpfs" && m.Point != "/" {
			r.Says = fmt.Sprintf("there is no such file; %q is a file system of its own here, which may hide one", m.Point)
		}
	case absent, r.For == denial.Create:
		t.create(r, path.Dir(p))
	case err != nil:
		r.failed(err)
	case making && kind == policy.Dir:
		t.create(r, p)
	case making:
		t.open(r, p, kind, unix.O_WRONLY, unix.W_OK)
	default:
		t.open(r, p, kind, unix.O_RDONLY, unix.R_OK)
	}
}

// open opens what is a file or a directory. Anything else is not opened: that could
// wake a process, or move a tape.
func (t *trial) open(r *tried, p string, kind policy.Kind, flags int, mode uint32) {
	if t.plain(r, p, mode) {
		return
	}
	if kind != policy.File && kind != policy.Dir {
		r.Outcome, r.Says = unknown, "permissions allow it; it is not opened, because that could have an effect"
		return
	}
	fd, err := unix.Open(p, flags|noop, 0)
	if err != nil {
		r.refused(err)
		return
	}
	unix.Close(fd)
	r.allow()
}

// create finds out whether a file could be made in a directory, by making one that
// has no name and is gone when it is closed.
func (t *trial) create(r *tried, dir string) {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil || hostfs.KindOf(uint32(st.Mode)) != policy.Dir {
		r.Outcome, r.Errno, r.Says = missing, "ENOENT", fmt.Sprintf("there is no directory %q to make it in", dir)
		return
	}
	if t.plain(r, dir, unix.W_OK|unix.X_OK) {
		return
	}
	switch err := nameless(dir); err {
	case nil:
		r.allow()
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL:
		if t.backend != "landlock" {
			r.allow() // by a mount, which the question before was about
			return
		}
		r.Outcome, r.Says = unknown, "permissions allow it; this file system has no files without a name to try it with"
	default:
		r.refused(err)
	}
}

// plain asks access(2), which knows permissions and mounts, and what Seatbelt denies,
// and not what Landlock does. It reports whether that settles it.
func (t *trial) plain(r *tried, p string, mode uint32) bool {
	err := unix.Faccessat(unix.AT_FDCWD, p, mode, unix.AT_EACCESS)
	switch {
	case err == nil:
		return false
	case err == unix.EROFS:
		m, known := t.at(p)
		switch {
		case known && m.FileSystemReadOnly:
			r.deny(byFileSystem, "EROFS", m.Point, "denied by the file system, which is read-only, not by the sandbox")
		case t.backend != "bwrap":
			r.deny(byFileSystem, "EROFS", m.Point, "denied by a read-only mount, which is not the sandbox's")
		default:
			r.deny(bySandbox, "EROFS", m.Point, fmt.Sprintf("denied by the sandbox, which mounts %q read-only", m.Point))
		}
	case err == unix.EPERM && t.backend == "seatbelt":
		r.refused(err)
	case err == unix.EACCES, err == unix.EPERM:
		r.deny(byPermissions, errnoName(err), "", "denied by its permissions, with the sandbox or without")
	default:
		r.failed(err)
	}
	return true
}

// mask returns the mask of bubblewrap that hides p: an empty directory over a denied
// one, or the null device over a denied file, both read-only mounts.
func (t *trial) mask(p string, kind policy.Kind) (at string, ok bool) {
	m, known := t.at(p)
	if t.backend != "bwrap" || !known || !m.ReadOnly || m.FileSystemReadOnly {
		return "", false
	}
	file := m.Point == p && m.Root == "/null" && kind != policy.File && p != os.DevNull
	return m.Point, file || (m.Type == "tmpfs" && m.Root == "/" && m.Point != "/dev")
}

// at returns the mount that shows p: the last one whose place holds it most closely.
func (t *trial) at(p string) (found hostfs.Mount, known bool) {
	for _, m := range t.mounts {
		if policy.Holds(m.Point, p) && len(m.Point) >= len(found.Point) {
			found, known = m, true
		}
	}
	return found, known
}

func (r *tried) allow() { r.Outcome, r.Says = allowed, allowed }

func (r *tried) deny(cause, errno, at, says string) {
	r.Outcome, r.Cause, r.Errno, r.At, r.Says = denied, cause, errno, at, says
}

// refused judges the error of something that permissions allow.
func (r *tried) refused(err error) {
	switch err {
	case unix.EACCES, unix.EPERM:
		r.deny(bySandbox, errnoName(err), "", "denied by the sandbox; its permissions allow it")
	case unix.ETXTBSY:
		r.deny(byFileSystem, errnoName(err), "", "denied while it is running as a program, not by the sandbox")
	default:
		r.failed(err)
	}
}

func (r *tried) failed(err error) {
	r.Outcome, r.Errno, r.Says = unknown, errnoName(err), bare(err).Error()
}

func errnoName(err error) string {
	if errno, ok := bare(err).(unix.Errno); ok {
		return unix.ErrnoName(errno)
	}
	return ""
}
