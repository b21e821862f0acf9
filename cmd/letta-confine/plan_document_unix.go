//go:build linux || darwin

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/mask"
	"github.com/letta-confine/letta-confine/policy"
)

// planDocument is plan --json: what would be done, and all that this was concluded
// from, so that a harness can keep it and ask later whether it still holds.
type planDocument struct {
	Schema      int         `json:"schema"`
	Fingerprint string      `json:"fingerprint"`
	Inputs      planInputs  `json:"inputs"`
	Cwd         string      `json:"cwd"`
	Command     []string    `json:"command"` // what looks secret masked
	Default     string      `json:"default"`
	Layers      []layerJSON `json:"layers"`
	Backends    []planJSON  `json:"backends"`
	ExecArgv    []string    `json:"execArgv,omitempty"` // nothing masked
	Notes       []string    `json:"notes,omitempty"`
}

// planInputs is what a plan depends on beside its code.
type planInputs struct {
	Version     string            `json:"version"` // of the launcher
	System      string            `json:"system"`
	Kernel      string            `json:"kernel"`
	LandlockABI int               `json:"landlockABI,omitempty"`
	UID         int               `json:"uid"`
	Launcher    *stateJSON        `json:"launcher,omitempty"` // none where its path cannot be learned
	Helper      *stateJSON        `json:"helper,omitempty"`   // the program that the chosen backend starts
	Start       string            `json:"start,omitempty"`    // the directory in which the launcher was started
	Cwd         stateJSON         `json:"cwd"`                // and in which the command starts
	Flags       [][2]string       `json:"flags"`
	Policies    []stateJSON       `json:"policies,omitempty"`
	Once        [][2]string       `json:"policyTexts,omitempty"` // of policies that were no files
	Roots       []rootState       `json:"roots"`
	Environment map[string]string `json:"environment,omitempty"` // variables that the policy was made from
}

// stateJSON is a file as it was found. Numbers that JSON readers would round are
// text.
type stateJSON struct {
	Path     string `json:"path"`
	ID       string `json:"id,omitempty"` // device and inode; none where nothing is there
	Size     int64  `json:"size,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// rootState is a root of the policy as it was resolved.
type rootState struct {
	List  string `json:"list"`
	Given string `json:"given"`
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	ID    string `json:"id,omitempty"`
}

func idText(id policy.ID) string {
	if id == (policy.ID{}) {
		return ""
	}
	return fmt.Sprintf("%d:%d", id.Dev, id.Ino)
}

// stateOf looks at a file that decides about a plan. Of a directory, what is in it
// does not.
func stateOf(path string) *stateJSON {
	s := &stateJSON{Path: path}
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return s
	}
	s.ID = idText(policy.ID{Dev: uint64(st.Dev), Ino: st.Ino})
	if hostfs.KindOf(uint32(st.Mode)) == policy.File {
		s.Size = st.Size
		s.Modified = time.Unix(st.Mtim.Unix()).UTC().Format(time.RFC3339Nano)
	}
	return s
}

// document is the plan as a document, and the backend that it is about, or nil. start
// is where the launcher was started.
func (in *inputs) document(list []backend, start string) (doc planDocument, chosen *backend, err error) {
	doc = planDocument{
		Schema: schemaVersion, Cwd: in.cwd, Command: mask.Argv(in.opts.args),
		Default: in.resolved.Default().String(), Layers: in.layersJSON(),
	}
	for i := range list {
		p := in.planOf(&list[i])
		p.Chosen = chosen == nil && p.Error == ""
		if p.Chosen {
			chosen = &list[i]
		}
		doc.Backends = append(doc.Backends, p)
	}
	doc.Inputs = in.planInputs(chosen, start)
	if in.opts.execArgv && chosen != nil {
		if err := doc.addArgv(in, chosen); err != nil {
			return doc, nil, err
		}
	}
	doc.Fingerprint, err = doc.fingerprint()
	return doc, chosen, err
}

func (in *inputs) planInputs(chosen *backend, start string) planInputs {
	p := planInputs{
		Version: version(), System: runtime.GOOS, Kernel: kernelName(), LandlockABI: landlockABI(), UID: os.Geteuid(),
		Start: start, Cwd: *stateOf(in.cwd), Flags: [][2]string{}, Once: in.once, Roots: []rootState{},
	}
	if self, err := launcherPath(); err == nil {
		p.Launcher = stateOf(self)
	}
	for _, f := range in.opts.given {
		switch f[0] {
		case "json", "error-format", "quiet":
			continue // of how it is said
		case "env":
			f[1] = mask.Argv(f[1:])[0]
		}
		p.Flags = append(p.Flags, f)
	}
	if chosen != nil {
		if program := in.programOf(chosen); program != "" {
			p.Helper = stateOf(program)
		}
	}
	for _, f := range in.files {
		if f.flag == sessionFlag {
			continue // it grows; what it says shows in the plan
		}
		p.Policies = append(p.Policies, *stateOf(f.path))
	}
	for _, r := range in.resolved.Roots() {
		p.Roots = append(p.Roots, rootState{r.List.String(), r.Given, r.Path, r.Kind.String(), idText(r.ID)})
	}
	for _, name := range in.asked {
		if value := os.Getenv(name); value != "" {
			if p.Environment == nil {
				p.Environment = make(map[string]string)
			}
			p.Environment[name] = mask.Argv([]string{name + "=" + value})[0][len(name)+1:]
		}
	}
	return p
}

// programOf is what a run with b would start.
func (in *inputs) programOf(b *backend) string {
	if b.name == "seatbelt" {
		return sandboxExec
	}
	return b.program()
}

// kernelName says which kernel runs, as uname(2) does.
func kernelName() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:]) + " " + unix.ByteSliceToString(u.Version[:])
}

// chosen is the backend that the document is about, or nil.
func (d *planDocument) chosen() *planJSON {
	for i := range d.Backends {
		if d.Backends[i].Chosen {
			return &d.Backends[i]
		}
	}
	return nil
}

// lasting is the plan without the files that Landlock grants one by one beside a root:
// they come and go.
func (p *planJSON) lasting() *planJSON {
	if p == nil {
		return nil
	}
	q := *p
	q.Rules, q.Siblings = nil, 0
	return &q
}

// fingerprint is of all that matters to another command too. It tells plans apart;
// it does not keep anybody from making one with the same.
func (d *planDocument) fingerprint() (string, error) {
	text, err := json.Marshal([]any{d.Inputs, d.Default, d.Layers, d.chosen().lasting()})
	if err != nil {
		return "", err
	}
	sum := fnv.New128a()
	sum.Write(text)
	return fmt.Sprintf("fnv1a-128:%x", sum.Sum(nil)), nil
}

// print prints the document, unless that would change it: JSON cannot hold a path
// that is not UTF-8, and the encoder puts this escape in the place of what it cannot
// hold. A plan for another path is worse than none.
func (d *planDocument) print() error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte(`\ufffd`)) {
		return withHint(errors.New("a path or argument is not UTF-8, which JSON cannot hold"), "use plan without --json, or rename it")
	}
	return printJSON(d)
}
