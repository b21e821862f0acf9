package inner

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/harden"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// maxPlan bounds what the stage reads: an environment and an argument list are
// each smaller than this (execve(2), E2BIG).
const maxPlan = 64 << 20

// Main is the whole stage; args are the words after Word. It returns the exit
// status only when the command was not executed. The caller has locked the
// goroutine to its thread: what the stage gives up, that thread gives up, and
// that thread executes.
func Main(args []string) int {
	if len(args) < 2 {
		return launch.ExitFailure
	}
	to, err := supervisor(args[1])
	if err != nil {
		return launch.ExitFailure
	}
	p, err := read(args[0], args[2:])
	if err != nil {
		return launch.ExitFailure
	}
	if _, supervised := to.(control); supervised {
		// Bubblewrap arms this for its child, a moment late: killed before, it
		// leaves the child to go on. From here on the supervisor only has to see
		// that bubblewrap lives.
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
			to.refuse(err)
			return launch.ExitFailure
		}
	}
	proof, err := confine(p)
	if err != nil {
		to.refuse(err)
		return launch.ExitFailure
	}
	if !to.ready(p, proof) {
		return launch.ExitFailure // the supervisor is gone, and with it whoever asked
	}
	err = launch.Exec(p.Argv, p.Env)
	status := launch.ExitCannot
	if failed, ok := errors.AsType[*launch.ExecError](err); ok {
		status = failed.Status
	}
	to.execFailed(status, err)
	return status
}

// listener is whom the stage tells what becomes of it.
type listener interface {
	refuse(err error)                 // the command must not start
	ready(p Plan, proof Proof) bool   // the command could start: shall it?
	execFailed(status int, err error) // the command could not be executed
}

// supervisor returns the listener that the command line names.
func supervisor(arg string) (listener, error) {
	if arg == Alone {
		return alone{}, nil
	}
	fd, err := strconv.Atoi(arg)
	return control(fd), err
}

func (c control) refuse(err error) { c.send(msgRefuse, []byte(err.Error())) }

func (c control) ready(_ Plan, proof Proof) bool {
	c.send(msgReady, proof.encode())
	kind, _, err := c.receive()
	return err == nil && kind == msgGo
}

func (c control) execFailed(status int, err error) {
	c.send(msgExec, append([]byte{byte(status)}, err.Error()...))
}

// alone is the listener of a stage without supervisor: the user.
type alone struct{}

func (a alone) refuse(err error) { a.say("bwrap: " + ErrRefused.Error() + ": " + err.Error()) }

func (a alone) ready(p Plan, proof Proof) bool {
	if p.Report < 0 {
		return true
	}
	line := strings.Replace(p.Started, Namespace, proof.MountNamespace, 1)
	line = strings.Replace(line, Refused, proof.Refused, 1)
	_, err := unix.Write(p.Report, []byte(line))
	if err != nil {
		a.say("report: " + err.Error())
	}
	return err == nil
}

func (a alone) execFailed(_ int, err error) { a.say(err.Error()) }

func (alone) say(text string) { os.Stderr.WriteString("letta-confine: error: " + text + "\n") }

// confine brings the process into the state in which the command starts, and
// proves it.
func confine(p Plan) (Proof, error) {
	if err := p.prerequisites(); err != nil {
		return Proof{}, err
	}
	if err := p.arrange(); err != nil {
		return Proof{}, err
	}
	if err := p.verify(); err != nil {
		return Proof{}, err
	}
	// To be closed at exec is too late: the interpreter that a script or program names
	// is looked up before that, and /proc/self/fd leads past the masks.
	if !p.byPath {
		if err := unix.Close(p.Root); err != nil {
			return Proof{}, fmt.Errorf("the host's root directory: %w", err)
		}
	}
	if err := p.reopenAll(); err != nil {
		return Proof{}, err
	}
	if err := p.detach(); err != nil {
		return Proof{}, err
	}
	if p.Layer.ABI > 0 {
		if err := p.Layer.Restrict(1, 2); err != nil {
			return Proof{}, fmt.Errorf("landlock: %w", err)
		}
	}
	refused, err := p.Trial.Try()
	if err != nil {
		return Proof{}, err
	}
	if err := harden.Apply(harden.Options{Keyrings: p.Isolated, NoUserNS: p.Isolated || p.NoUserNS}); err != nil {
		return Proof{}, err
	}
	if !p.byPath { // else nobody changed it
		mask := Sigset(p.Mask)
		if err := unix.PthreadSigmask(unix.SIG_SETMASK, &mask, nil); err != nil {
			return Proof{}, fmt.Errorf("signal mask: %w", err)
		}
	}
	return prove(refused)
}

// prerequisites checks what must be true of the process before it does anything.
func (p Plan) prerequisites() error {
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if nnp != 1 && !p.Bare { // then the layer sets it
		return errors.New("no_new_privs is not set")
	}
	if p.Bare && p.Layer.ABI == 0 {
		return landlock.ErrABI
	}
	return nil
}

// arrange gives the process the descriptors and the working directory of the command.
func (p Plan) arrange() error {
	if p.Stderr != 2 {
		if err := unix.Dup3(p.Stderr, 2, 0); err != nil {
			return fmt.Errorf("standard error: %w", err)
		}
	}
	if err := launch.CloseOnExec(p.Keep); err != nil {
		return err
	}
	if err := unix.Chdir(p.Dir); err != nil {
		return fmt.Errorf("working directory %q: %w", p.Dir, err)
	}
	if err := same(".", p.DirID); err != nil {
		return fmt.Errorf("working directory %q: %w", p.Dir, err)
	}
	return nil
}

// reopenAll opens anew what was reached through the host's mounts.
func (p Plan) reopenAll() (err error) {
	again := p.Again
	if p.byPath {
		if again, err = standard(); err != nil {
			return err
		}
	}
	for _, r := range again {
		if err := r.reopen(); err != nil {
			return fmt.Errorf("standard descriptor %d, the file %q: %w", r.FD, r.Path, err)
		}
	}
	return nil
}

// detach leaves the caller's session and keyring, where the plan says so.
func (p Plan) detach() error {
	if p.NewSession {
		if _, err := unix.Setsid(); err != nil {
			return fmt.Errorf("new session: %w", err)
		}
	}
	if p.Isolated {
		// A keyring of its own: the session's belongs to the user, not to a namespace.
		if _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err != nil && err != unix.ENOSYS && err != unix.EPERM {
			return fmt.Errorf("session keyring: %w", err)
		}
	}
	return nil
}

// reopen puts the same file, at the same offset, but reached through the
// sandbox's own mounts, in the descriptor's place.
func (r Reopen) reopen() error {
	offset, err := unix.Seek(r.FD, 0, unix.SEEK_CUR)
	if err != nil {
		return err
	}
	fd, err := hostfs.OpenPlain(r.Path, r.Flags&(unix.O_ACCMODE|unix.O_APPEND|unix.O_NOATIME), 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if (policy.ID{Dev: uint64(st.Dev), Ino: st.Ino}) != r.ID {
		return errChanged
	}
	if _, err := unix.Seek(fd, offset, unix.SEEK_SET); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, r.Flags); err != nil {
		return err
	}
	return unix.Dup3(fd, r.FD, 0)
}

func same(path string, want policy.ID) error {
	info, err := hostfs.FS{}.Lstat(path)
	if err != nil {
		return err
	}
	if info.ID != want {
		return errChanged
	}
	return nil
}

// Proof is what the stage found out about itself once it was confined.
type Proof struct {
	PID            int    // as the supervisor's pid namespace numbers it
	MountNamespace string // as /proc/self/ns/mnt names it
	Refused        string // the error that the plan's trial ended in, or ""
	NoNewPrivs     bool
}

func prove(refused string) (Proof, error) {
	ns, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return Proof{}, fmt.Errorf("mount namespace: %w", err)
	}
	return Proof{MountNamespace: ns, Refused: refused, NoNewPrivs: true}, nil
}

func (p Proof) encode() []byte { return []byte(p.MountNamespace + " " + p.Refused) }
