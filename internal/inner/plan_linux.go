package inner

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/bwrap"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/policy"
)

// Plan is what the supervisor tells the stage.
type Plan struct {
	Argv   []string
	Env    []string // of the command; bubblewrap itself runs with an empty one. By path: see Word
	Dir    string   // working directory, canonical
	DirID  policy.ID
	Checks []bwrap.Check
	Keep   []int  // descriptors that the command inherits, besides 0, 1 and 2
	Stderr int    // the descriptor that becomes 2; bubblewrap's own is the supervisor's
	Root   int    // a descriptor of the host's root directory; none by path
	Mask   uint64 // the signals that the command starts with blocked

	Bare       bool // without bubblewrap: the layer is all there is
	Isolated   bool // the processes of the command are: no keyrings, no new user namespaces
	NoUserNS   bool // no new user namespaces
	NewSession bool // the command leads a session of its own

	// Report is where the stage itself writes Started, if there is no
	// supervisor to do it; -1 for nowhere.
	Report  int
	Started string

	Trial Trial // what is tried once all is in force, for the proof

	// Again are the standard descriptors that must be opened anew, so that they
	// belong to the sandbox's mounts.
	Again []Reopen

	// Layer is the Landlock domain inside the sandbox; none where its ABI is 0.
	Layer landlock.Ruleset

	byPath bool // nothing of the launcher is outside: no descriptor comes from it
}

// Words returns the arguments of a stage that somebody else starts in bubblewrap,
// with the launcher's program by its path and no descriptor. Argv is left out: the
// command follows. Env holds what to change in the environment that is found, for
// [launch.Alter].
//
// What such a stage cannot do is look at the host, where it has no descriptor: that a
// mask lies on what the policy denies it believes. It looks at the standard
// descriptors itself (see standard).
func (p Plan) Words(self string) []string {
	p.Argv = []string{self} // the form has at least one
	return []string{self, Word, carried + base64.RawURLEncoding.EncodeToString(p.Encode()), Alone}
}

// carried begins the word that is a plan and not the number of a descriptor.
const carried = "plan:"

// read returns the plan that the first word after Word is or leads to. rest are the
// words of a command that follow one that is the plan.
func read(word string, rest []string) (Plan, error) {
	text, ok := strings.CutPrefix(word, carried)
	if ok {
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(rest) == 0 {
			return Plan{}, errPlan
		}
		p, err := decode(data)
		p.Argv, p.Env = rest, launch.Alter(os.Environ(), p.Env)
		p.Stderr, p.Root, p.Report, p.byPath = 2, -1, -1, true
		return p, err
	}
	fd, err := strconv.Atoi(word)
	if err != nil || len(rest) > 0 {
		return Plan{}, errPlan
	}
	data, err := launch.ReadAll(fd, maxPlan)
	if err != nil {
		return Plan{}, err
	}
	p, err := decode(data)
	clear(data)
	// Bubblewrap keeps the file open as long as the command runs, and the plan has
	// the command's environment.
	if err == nil {
		err = unix.Ftruncate(fd, 0)
	}
	return p, err
}

// What stands in Plan.Started for what only the stage knows.
const (
	Namespace = "@mount-namespace@"
	Refused   = "@refused@" // the error of the trial
)

// Alone stands in the place of the control socket's number where there is no
// supervisor.
const Alone = "-"

// Messages on the control socket. Each is one packet: a letter and a text.
const (
	msgReady  = 'R' // stage to supervisor: confined and checked; a Proof follows
	msgRefuse = 'F' // stage to supervisor: the command must not start; the reason follows
	msgExec   = 'X' // stage to supervisor: exec failed; the status and the reason follow
	msgGo     = 'G' // supervisor to stage: execute the command
)

// Encode returns the plan in the form that decode reads. The form is private to
// one build of the program.
func (p Plan) Encode() []byte {
	e := encoder{make([]byte, 0, 8192)} // most of it is an environment
	e.strings(p.Argv)
	e.strings(p.Env)
	e.string(p.Dir)
	e.id(p.DirID)
	e.number(uint64(len(p.Checks)))
	for _, c := range p.Checks {
		e.string(c.Path)
		e.id(c.ID)
		e.number(uint64(c.State))
	}
	e.number(uint64(len(p.Keep)))
	for _, fd := range p.Keep {
		e.number(uint64(fd))
	}
	e.number(uint64(p.Stderr))
	e.number(uint64(p.Root))
	e.number(p.Mask)
	e.number(uint64(p.Report + 1))
	e.string(p.Started)
	e.string(p.Trial.Path)
	e.bool(p.Trial.Write)
	e.bool(p.Bare)
	e.bool(p.Isolated)
	e.bool(p.NoUserNS)
	e.bool(p.NewSession)
	e.number(uint64(len(p.Again)))
	for _, r := range p.Again {
		e.number(uint64(r.FD))
		e.string(r.Path)
		e.number(uint64(r.Flags))
		e.id(r.ID)
	}
	e.number(uint64(p.Layer.ABI))
	e.number(uint64(p.Layer.Handled))
	e.number(p.Layer.Scoped)
	e.bool(p.Layer.Log)
	e.number(uint64(len(p.Layer.Grants)))
	for _, g := range p.Layer.Grants {
		e.string(g.Path)
		e.number(uint64(g.Rights))
		e.id(g.ID)
		e.bool(g.Optional)
	}
	for _, ids := range [][]policy.ID{p.Layer.Guarded, p.Layer.Fixed} {
		e.number(uint64(len(ids)))
		for _, id := range ids {
			e.id(id)
		}
	}
	return e.out
}

type encoder struct{ out []byte }

func (e *encoder) bool(b bool) {
	if b {
		e.number(1)
	} else {
		e.number(0)
	}
}

func (e *encoder) number(n uint64) { e.out = binary.AppendUvarint(e.out, n) }

func (e *encoder) string(s string) {
	e.number(uint64(len(s)))
	e.out = append(e.out, s...)
}

func (e *encoder) strings(list []string) {
	e.number(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func (e *encoder) id(id policy.ID) {
	e.number(id.Dev)
	e.number(id.Ino)
}

var errPlan = errors.New("the plan cannot be read")

// decode reads what Encode wrote.
func decode(data []byte) (p Plan, err error) {
	d := decoder{rest: data, text: string(data)}
	p.Argv = d.strings()
	p.Env = d.strings()
	p.Dir = d.string()
	p.DirID = d.id()
	for n := d.number(); n > 0 && !d.failed; n-- {
		p.Checks = append(p.Checks, bwrap.Check{Path: d.string(), ID: d.id(), State: bwrap.State(d.number())})
	}
	for n := d.number(); n > 0 && !d.failed; n-- {
		p.Keep = append(p.Keep, int(d.number()))
	}
	p.Stderr = int(d.number())
	p.Root = int(d.number())
	p.Mask = d.number()
	p.Report = int(d.number()) - 1
	p.Started = d.string()
	p.Trial = Trial{d.string(), d.number() == 1}
	p.Bare = d.number() == 1
	p.Isolated = d.number() == 1
	p.NoUserNS = d.number() == 1
	p.NewSession = d.number() == 1
	for n := d.number(); n > 0 && !d.failed; n-- {
		p.Again = append(p.Again, Reopen{FD: int(d.number()), Path: d.string(), Flags: int(d.number()), ID: d.id()})
	}
	p.Layer.ABI = int(d.number())
	p.Layer.Handled = landlock.Rights(d.number())
	p.Layer.Scoped = d.number()
	p.Layer.Log = d.number() == 1
	for n := d.number(); n > 0 && !d.failed; n-- {
		p.Layer.Grants = append(p.Layer.Grants, landlock.Grant{
			Path: d.string(), Rights: landlock.Rights(d.number()), ID: d.id(), Optional: d.number() == 1,
		})
	}
	for _, ids := range []*[]policy.ID{&p.Layer.Guarded, &p.Layer.Fixed} {
		for n := d.number(); n > 0 && !d.failed; n-- {
			*ids = append(*ids, d.id())
		}
	}
	if d.failed || len(d.rest) > 0 || len(p.Argv) == 0 {
		return Plan{}, errPlan
	}
	return p, nil
}

// decoder has what is still to be read twice: the strings that it returns are parts
// of one.
type decoder struct {
	rest   []byte
	text   string
	failed bool
}

func (d *decoder) skip(n int) { d.rest, d.text = d.rest[n:], d.text[n:] }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.failed = true
		d.skip(len(d.rest))
		return 0
	}
	d.skip(size)
	return n
}

func (d *decoder) string() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.failed = true
		return ""
	}
	s := d.text[:n]
	d.skip(int(n))
	return s
}

func (d *decoder) strings() []string {
	var list []string
	for n := d.number(); n > 0 && !d.failed; n-- {
		list = append(list, d.string())
	}
	return list
}

func (d *decoder) id() policy.ID { return policy.ID{Dev: d.number(), Ino: d.number()} }
