//go:build (linux || darwin) && !launcher

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/internal/mask"
	"github.com/letta-confine/letta-confine/policy"
)

// planElsewhere is plan --check. The launcher hands it to the companion, with
// --exec-argv.
func (o *options) planElsewhere([]string) (done bool, err error) {
	if o.checkPlan == "" {
		return false, nil
	}
	return true, o.checkRecorded()
}

// checkRecorded makes the plan again, from the flags that the
// document holds, and fails where it comes out otherwise. So nothing in the document
// is believed: one that somebody changed is as stale as one that time did.
func (o *options) checkRecorded() error {
	for _, f := range o.given {
		if f[0] != "check" && f[0] != "error-format" && f[0] != "quiet" {
			return usageError("plan --check takes no other flag, and was given --" + f[0])
		}
	}
	if len(o.args) > 0 {
		return usageError("plan --check takes no command: the plan has one")
	}
	name := fmt.Sprintf("plan %q", o.checkPlan)
	text, file, err := readDocument(o.checkPlan)
	if err != nil {
		return again(fmt.Errorf("%s: %w", name, err), err)
	}
	was, err := parseDocument(text)
	if err != nil {
		return withHint(fmt.Errorf("%s: %w", name, err), makeAnother)
	}
	is, in, err := was.again()
	if err != nil {
		return withHint(fmt.Errorf("%s does not hold any more: %w", name, err), makeAnother)
	}
	// A plan decides what the next command may do.
	if file != "" && in.resolved.Decide(file).Access == policy.ReadWrite && hostfs.CanReplace(file) {
		return withHint(fmt.Errorf("%s can be changed by the command that it is about", name),
			"keep it where the policy lets nothing be written, or make it with --read-only and its own path")
	}
	if why := was.differs(is); why != "" {
		return withHint(fmt.Errorf("%s does not hold any more: %s", name, why), makeAnother)
	}
	return nil
}

const makeAnother = "make a new plan, with letta-confine plan --json"

// again keeps a hint that the cause has.
func again(err, cause error) error {
	if hint := hintOf(cause); hint != "" {
		return withHint(err, hint)
	}
	return err
}

// readDocument reads a plan, and says where it lies if that is known.
func readDocument(source string) (text []byte, path string, err error) {
	if source == "-" {
		text, err = launch.ReadAll(0, maxPolicy)
		return text, "", err
	}
	if fd, ok, err := descriptor(source); ok {
		if err != nil {
			return nil, "", err
		}
		defer unix.Close(fd)
		text, err = launch.ReadAll(fd, maxPolicy)
		return text, "", err
	}
	text, file, err := readInput("--check", source)
	return text, file.path, err
}

// parseDocument reads what print wrote, and nothing else.
func parseDocument(text []byte) (d planDocument, err error) {
	var first struct {
		Schema      *int
		Enforcement string
	}
	switch err := json.Unmarshal(text, &first); {
	case err != nil || !utf8.Valid(text) || first.Schema == nil:
		return d, errors.New("it is no plan")
	case *first.Schema != schemaVersion:
		return d, fmt.Errorf("its schema version is %d, and this launcher knows %d", *first.Schema, schemaVersion)
	case first.Enforcement == "none":
		return d, errors.New("it confines nothing, and so has nothing to check")
	}
	if err := uniqueNames(text); err != nil {
		return d, err
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return d, errors.New("it is no plan of this launcher")
	}
	// What the types do not hold, and names in another case, do not come back.
	written, err := json.Marshal(d)
	if err != nil {
		return d, err
	}
	var was, is any
	if json.Unmarshal(text, &was) != nil || json.Unmarshal(written, &is) != nil || !reflect.DeepEqual(was, is) {
		return d, errors.New("it has members that a plan has not")
	}
	if d.chosen() == nil {
		return d, errors.New("it has no backend")
	}
	return d, nil
}

// uniqueNames refuses an object with two members of one name, of which a reader
// takes the first or the last.
func uniqueNames(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	var open []map[string]bool // of each object or array that is open; nil for an array
	name := false              // a name comes next, or the end of the object
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, make(map[string]bool))
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			name = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if name {
				if open[len(open)-1][t] {
					return fmt.Errorf("it has the member %q twice", t)
				}
				open[len(open)-1][t], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}

// again makes the plan anew.
func (d *planDocument) again() (is planDocument, in *inputs, err error) {
	if start := d.Inputs.Start; start != "" {
		if err := unix.Chdir(start); err != nil {
			return is, nil, fmt.Errorf("directory %q: %w", start, err)
		}
	}
	var args []string
	for _, f := range d.Inputs.Flags {
		if f[0] == "help" {
			return is, nil, errors.New("it asks for help") // an answer with status 0
		}
		args = append(args, "--"+f[0]+"="+f[1])
	}
	o, err := parse(append(append(args, "--"), d.Command...), planFlags[0])
	if err != nil {
		return is, nil, err
	}
	if err := o.checkArgs(); err != nil {
		return is, nil, err
	}
	o.recorded = make(map[string]string)
	for _, p := range d.Inputs.Once {
		o.recorded[p[0]] = p[1]
	}
	for _, source := range o.policies {
		if _, ok := o.recorded[source]; readOnce(source) && !ok {
			return is, nil, fmt.Errorf("the text of policy %q is not in it", source)
		}
	}
	in, err = o.gatherPlan()
	if err != nil {
		return is, nil, err
	}
	if !in.resolved.Restricts() {
		return is, nil, errors.New("the policy restricts nothing")
	}
	list := in.backends()
	is, chosen, err := in.document(list, d.Inputs.Start)
	if err == nil && chosen == nil {
		err = unavailable(list)
	}
	return is, in, err
}

// differs says what is not as it was, the cause before its effects.
func (d *planDocument) differs(is planDocument) string {
	a, b := d.Inputs, is.Inputs
	switch {
	case a.Version != b.Version:
		return fmt.Sprintf("the launcher was %s, and is %s", a.Version, b.Version)
	case a.System != b.System || a.Kernel != b.Kernel || a.LandlockABI != b.LandlockABI:
		return fmt.Sprintf("the kernel was %q with Landlock ABI %d, and is %q with %d", a.Kernel, a.LandlockABI, b.Kernel, b.LandlockABI)
	case a.UID != b.UID:
		return fmt.Sprintf("the user was %d, and is %d", a.UID, b.UID)
	case a.Launcher != nil && b.Launcher != nil && *a.Launcher != *b.Launcher:
		return "the launcher " + a.Launcher.became(*b.Launcher)
	case a.Cwd != b.Cwd:
		return "working directory " + a.Cwd.became(b.Cwd)
	}
	for i := range min(len(a.Policies), len(b.Policies)) {
		if a.Policies[i] != b.Policies[i] {
			return "policy " + a.Policies[i].became(b.Policies[i])
		}
	}
	if why := rootsDiffer(a.Roots, b.Roots); why != "" {
		return why
	}
	switch {
	case d.chosen().Backend != is.chosen().Backend:
		return fmt.Sprintf("the backend was %s, and is %s", d.chosen().Backend, is.chosen().Backend)
	case a.Helper != nil && b.Helper != nil && *a.Helper != *b.Helper:
		return d.chosen().Backend + " " + a.Helper.became(*b.Helper)
	case !maps.Equal(a.Environment, b.Environment):
		return "one of the variables that the policy is made from"
	}
	if len(d.ExecArgv) > 0 || len(is.ExecArgv) > 0 {
		// The command itself is known without what looks secret.
		from := len(d.ExecArgv) - len(d.Command)
		if from < 0 || !slices.Equal(mask.Argv(d.ExecArgv[from:]), d.Command) ||
			!slices.Equal(d.ExecArgv[:from], is.ExecArgv[:max(0, len(is.ExecArgv)-len(is.Command))]) {
			return "execArgv is not what the plan comes to"
		}
	}
	for _, rule := range d.chosen().Rules {
		// One that came since is refused until there is a new plan; one that went
		// cannot be granted.
		if !slices.Contains(is.chosen().Rules, rule) && hostfs.Visible(rule.Path) {
			return fmt.Sprintf("the rule for %q is not what the plan comes to", rule.Path)
		}
	}
	for _, m := range []struct {
		name    string
		was, is any
	}{
		{"cwd", d.Cwd, is.Cwd},
		{"default", d.Default, is.Default},
		{"layers", d.Layers, is.Layers},
		{"the plan of " + is.chosen().Backend, d.chosen().lasting(), is.chosen().lasting()},
		{"inputs", a, b},
		{"fingerprint", d.Fingerprint, is.Fingerprint},
		{"notes", d.Notes, is.Notes},
	} {
		was, err1 := json.Marshal(m.was)
		now, err2 := json.Marshal(m.is)
		if err1 != nil || err2 != nil || !bytes.Equal(was, now) {
			return m.name + memberOf(was, now) + " came out otherwise"
		}
	}
	return ""
}

// memberOf names the first member that differs.
func memberOf(was, is []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(was, &a) != nil || json.Unmarshal(is, &b) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if !bytes.Equal(a[name], b[name]) {
			return ", " + name + ","
		}
	}
	return ""
}

// became says what became of a file.
func (s stateJSON) became(is stateJSON) string {
	switch {
	case s.Path != is.Path:
		return fmt.Sprintf("was %q, and is %q", s.Path, is.Path)
	case is.ID == "":
		return fmt.Sprintf("%q is gone", s.Path)
	case s.ID != is.ID:
		return fmt.Sprintf("%q was replaced", s.Path)
	}
	return fmt.Sprintf("%q was changed", s.Path)
}

func rootsDiffer(was, is []rootState) string {
	find := func(list []rootState, r rootState) *rootState {
		for i := range list {
			if list[i].List == r.List && list[i].Given == r.Given {
				return &list[i]
			}
		}
		return nil
	}
	for _, a := range was {
		name := fmt.Sprintf("%s %q", a.List, a.Given)
		switch b := find(is, a); {
		case b == nil:
			return name + " is no root any more"
		case a.Path != b.Path:
			return fmt.Sprintf("%s led to %q, and leads to %q", name, a.Path, b.Path)
		case a.Kind != b.Kind:
			return fmt.Sprintf("%s was %s, and is %s", name, kindText(a.Kind), kindText(b.Kind))
		case a.ID != b.ID:
			return name + " was replaced"
		}
	}
	for _, b := range is {
		if find(was, b) == nil {
			return fmt.Sprintf("%s %q is a new root", b.List, b.Given)
		}
	}
	return ""
}

// kindText makes a kind a word of a sentence.
func kindText(kind string) string {
	switch {
	case kind == "missing":
		return kind
	case strings.ContainsAny(kind[:min(1, len(kind))], "aeiou"):
		return "an " + kind
	}
	return "a " + kind
}
