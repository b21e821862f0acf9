package main

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/inner"
	"github.com/letta-confine/letta-confine/policy"
)

type proofJSON struct {
	MountNamespace string      `json:"mountNamespace,omitempty"`
	NoNewPrivs     bool        `json:"noNewPrivs"`
	Denied         *deniedJSON `json:"denied,omitempty"`
	Untried        string      `json:"untried,omitempty"` // why nothing denied was tried
}

// deniedJSON is something denied that was tried from inside, before the command.
type deniedJSON struct {
	Path  string `json:"path"`
	For   string `json:"for"`
	Errno string `json:"errno"`
}

// proof says in a report what is known of a sandbox that stands.
func proof(namespace string, t inner.Trial, errno string) *proofJSON {
	p := &proofJSON{MountNamespace: namespace, NoNewPrivs: true}
	switch {
	case t.Path == "":
		p.Untried = "nothing-to-try"
	case t.Write:
		p.Denied = &deniedJSON{t.Path, string(denial.Create), errno}
	default:
		p.Denied = &deniedJSON{t.Path, string(denial.Read), errno}
	}
	return p
}

// started says that confinement took effect and the command is about to run.
func (r *report) started(p *proofJSON) error {
	if r == nil {
		return nil
	}
	return r.write(event{Event: "started", Proof: p})
}

// trial picks what is tried from inside: a denied root, or else a place that is only
// read. A try proves something where the user has the right to it without us.
func (in *inputs) trial(b *backend, rep *report) inner.Trial {
	if rep == nil {
		return inner.Trial{}
	}
	may := func(path string, mode uint32) bool {
		return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
	}
	var list []inner.Trial
	var places []string
	for _, l := range in.resolved.Layers() {
		path, kind := l.Root.Path, l.Root.Kind
		switch {
		case kind != policy.Dir && kind != policy.File || slices.Contains(in.private, path) || in.aliasOf[path] != "":
		case l.Access == policy.Read && kind == policy.Dir:
			places = append(places, path)
		case l.Access == policy.None: // bubblewrap's mask of a directory can be opened, and not written
			list = append(list, inner.Trial{Path: path, Write: b.name == "bwrap" && kind == policy.Dir})
		}
	}
	places = append(places, in.cwd, path.Dir(in.cwd), path.Dir(path.Dir(in.cwd)), "/")
	for _, place := range places {
		if in.resolved.Decide(place).Access == policy.Read {
			list = append(list, inner.Trial{Path: place, Write: true})
		}
	}
	for _, t := range list[:min(len(list), maxTrials)] {
		if t.Write && may(t.Path, unix.W_OK|unix.X_OK) || !t.Write && may(t.Path, unix.R_OK) {
			return t
		}
	}
	return inner.Trial{}
}

// maxTrials bounds how many things the user's rights are asked for.
const maxTrials = 8

// exit says how the command ended, which created directories stay, and what it was
// denied.
func (r *report) exit(code int, stay []string, k known) {
	if r == nil {
		return
	}
	no := false
	r.write(event{Event: "exit", Code: &code, RunnerFailed: &no, Created: stay, Denied: k.verdict, Denials: k.list, Unreadable: k.unreadable, Enforcement: r.enforcement, about: about{Mode: r.about.Mode}})
}
