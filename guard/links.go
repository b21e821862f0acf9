package guard

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/letta-confine/letta-confine/policy"
	"github.com/letta-confine/letta-confine/verdict"
)

// ErrMagic is the reason for which a path through a link in /proc is refused: such
// a link leads elsewhere for each process, and past its text (proc_pid_fd(5)).
var ErrMagic = errors.New("path goes through a link in /proc")

// plain is a file system without the kernel's magic links.
type plain struct{ policy.FS }

func (p plain) Readlink(name string) (string, error) {
	if policy.Holds("/proc", name) {
		return "", ErrMagic
	}
	return p.FS.Readlink(name)
}

// unresolvable denies a path of which nobody can say where it leads. The kernel's
// own refusal has a code of its own: no policy is the reason.
func unresolvable(t target, err error) verdict.Verdict {
	code := Unresolvable
	if errors.Is(err, fs.ErrPermission) {
		code = KernelDenied
	}
	return verdict.Verdict{Decision: verdict.Deny, Code: code, Reason: fmt.Sprintf("path %q: %v", t.given, cause(err))}
}

// cause is err without a path, which the caller names.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
