//go:build linux || darwin

package main

import (
	"fmt"
	"strings"

	"github.com/letta-confine/letta-confine/denial"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/policy"
)

// explanation is what explain says of one path.
type explanation struct {
	Path     string        `json:"path"`
	Resolved string        `json:"resolved"`
	Read     bool          `json:"read"`
	Write    bool          `json:"write"`
	Root     *rootJSON     `json:"root"` // null: the default decided
	Default  string        `json:"default,omitempty"`
	AliasOf  string        `json:"aliasOf,omitempty"`  // the root whose other place the deciding one is
	Implicit string        `json:"implicit,omitempty"` // why the deciding root is there, which nobody listed
	Hint     string        `json:"hint,omitempty"`
	Access   policy.Access `json:"-"`
	*wanted
}

// rootJSON names a root as written and as resolved.
type rootJSON struct {
	List     string `json:"list"`
	Index    int    `json:"index"`
	Given    string `json:"given"`
	Resolved string `json:"resolved"`
	Kind     string `json:"kind"`
}

// explain prints what the policy says of paths, and which root decides. It asks
// the same policy.Resolved that a run would enforce.
func explain(args []string) (int, error) {
	o, err := parse(args)
	if err != nil {
		return 0, err
	}
	if err := o.checkExplain(); err != nil {
		return 0, err
	}
	if err := o.checkWidening(); err != nil {
		return 0, err
	}
	if o.self {
		return 0, o.explainSelf()
	}
	in, err := gather(o)
	if err != nil {
		return 0, err
	}
	if o.stderr != "" {
		return 0, in.explainStderr()
	}
	var all []explanation
	for _, path := range o.args {
		e, err := in.explainPath(path)
		if err != nil {
			return 0, err
		}
		if o.wish != "" {
			e.wanted = in.want(e.Resolved, denial.Op(o.wish))
		}
		all = append(all, e)
	}
	var risks []risk
	if o.risks {
		risks = in.risks()
	}
	if o.json {
		out := map[string]any{"schema": schemaVersion, "paths": all}
		if len(in.hidden) > 0 {
			out["implicit"] = in.hidden
		}
		if o.risks {
			out["risks"] = risks
		}
		return 0, printJSON(out)
	}
	for _, h := range in.hidden {
		fmt.Printf("implicit denied root %q: %s\n", h.Path, h.Why)
	}
	for _, e := range all {
		e.print()
	}
	for _, r := range risks {
		fmt.Println(r.text())
	}
	return 0, nil
}

func jsonOf(r *policy.Root) *rootJSON {
	if r == nil {
		return nil
	}
	return &rootJSON{r.List.String(), r.Index, r.Given, r.Path, r.Kind.String()}
}

func (r rootJSON) String() string {
	s := fmt.Sprintf("%s[%d] %q", r.List, r.Index, r.Given)
	if r.Given != r.Resolved {
		s += fmt.Sprintf(" (%q)", r.Resolved)
	}
	return s
}

// lateFlag refuses a flag behind a path. It would be taken for a path itself, and the
// answer be about another policy than was asked about.
func (o *options) lateFlag() error {
	for _, word := range o.args {
		if o.bareWord && len(word) > 2 && strings.HasPrefix(word, "--") {
			name, _, _ := strings.Cut(word, "=")
			return withHint(fmt.Errorf("flag %s is behind a path", name), "flags go first; a path that begins with -- goes behind a word that is -- alone")
		}
	}
	return nil
}

// checkExplain refuses questions that do not go together.
func (o *options) checkExplain() error {
	switch {
	case o.stderr != "" && (len(o.args) > 0 || o.risks || o.wish != ""):
		return usageError("explain --stderr takes no path, --for or --risks")
	case o.stderr == "" && o.report != "":
		return usageError("explain --report needs --stderr")
	case len(o.args) == 0 && !o.risks && o.stderr == "":
		return usageError("explain needs a path")
	case o.self && (o.stderr != "" || o.risks):
		return usageError("explain --self takes paths, and neither --stderr nor --risks")
	}
	return o.lateFlag()
}

func (in *inputs) explainPath(given string) (explanation, error) {
	if given == "" {
		return explanation{}, fmt.Errorf("path %q: %w", given, policy.ErrEmpty)
	}
	path, err := policy.Canonical(absolute(given), hostfs.FS{})
	if err != nil {
		return explanation{}, fmt.Errorf("path %q: %w", given, err)
	}
	d := in.resolved.Decide(path)
	e := explanation{Path: given, Resolved: path, Read: d.Access >= policy.Read, Write: d.Access == policy.ReadWrite, Access: d.Access}
	if d.Root == nil {
		e.Default = d.Access.String()
	} else {
		e.AliasOf = in.aliasOf[d.Root.Path]
		e.Root = jsonOf(d.Root)
		e.Implicit = in.implicit(d.Root.Path)
	}
	switch {
	case in.hides(d):
		e.Hint = errPrivate.Error()
	case e.Implicit != "":
		e.Hint = "no policy uncovers it: --credential NAME=REF gives a command one of them"
	case !e.Write && len(in.opts.gitWorktree) == 0:
		e.Hint = in.worktreeHint(path)
	}
	if !e.Write && e.Read && in.opts.caches == "none" {
		for _, c := range in.hostCaches() {
			if policy.Holds(c.path, path) {
				e.Hint = "this is a cache: --caches private gives the workspace its own, --caches host shares yours"
			}
		}
	}
	return e, nil
}

func (e explanation) print() {
	fmt.Println(e.text())
	if e.wanted != nil {
		e.wanted.print()
	}
	if e.Hint != "" {
		fmt.Println("  hint: " + e.Hint)
	}
}

func (e explanation) text() string {
	s := fmt.Sprintf("%q: %s", e.Path, e.Access)
	if e.Resolved != e.Path {
		s += fmt.Sprintf(" (%q)", e.Resolved)
	}
	if e.Root == nil {
		return s + ", by default"
	}
	if e.AliasOf != "" {
		return s + fmt.Sprintf(", by %s[%d] %q, where %q is mounted too", e.Root.List, e.Root.Index, e.Root.Given, e.AliasOf)
	}
	if e.Implicit != "" {
		return s + fmt.Sprintf(", by an implicit denied root: %s", e.Implicit)
	}
	return s + ", by " + e.Root.String()
}
