//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/internal/mask"
)

// planJSON is what plan says of one backend.
type planJSON struct {
	event
	Error        string      `json:"error,omitempty"`
	Chosen       bool        `json:"chosen"`
	Argv         []string    `json:"argv,omitempty"`
	Creates      []string    `json:"creates,omitempty"`
	ABI          int         `json:"abi,omitempty"`
	Handled      string      `json:"handled,omitempty"`
	Rules        []grantJSON `json:"rules,omitempty"`
	Siblings     int         `json:"siblings,omitempty"`
	Capabilities []string    `json:"capabilities,omitempty"` // kept by a privileged command
	Filtered     []string    `json:"filtered,omitempty"`     // system calls that fail
	ControlFiles []string    `json:"controlFiles,omitempty"` // the kernel's, read-only where root could write them
	SBPL         string      `json:"sbpl,omitempty"`         // Seatbelt's profile, which argv has too
	Parameters   []paramJSON `json:"parameters,omitempty"`   // of it

	Environment *envJSON `json:"environment,omitempty"`
}

// envJSON is what the command's environment differs in from the caller's.
type envJSON struct {
	Set    []varJSON `json:"set,omitempty"`
	Secret []string  `json:"secret,omitempty"` // names of what is set, too, and looks secret
	Unset  []string  `json:"unset,omitempty"`
}

type varJSON struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type paramJSON varJSON

type grantJSON struct {
	Path   string `json:"path"`
	Rights string `json:"rights"`
}

// planFlags are those of plan alone.
var planFlags = []flag{
	{"exec-argv", true, func(o *options, s string) error { return boolean(&o.execArgv, s) }},
	{"check", false, func(o *options, s string) error { return text(&o.checkPlan, s) }},
}

// plan prints what a run would do, from the code that would do it. It creates
// and starts nothing.
func plan(args []string) (int, error) {
	o, err := parse(args, planFlags...)
	if err != nil {
		return 0, err
	}
	if done, err := o.planElsewhere(args); done {
		return 0, err
	}
	if o.printPolicy {
		return 0, usageError("plan prints what would be run: --print-policy goes without it")
	}
	if err := o.checkArgs(); err != nil {
		return 0, err
	}
	if err := o.checkWidening(); err != nil {
		return 0, err
	}
	start, _ := getcwd() // with --chdir it may be gone
	in, err := o.gatherPlan()
	if err != nil {
		return 0, err
	}
	if err := in.checkCommand(o.args); err != nil {
		return 0, err
	}
	if !in.resolved.Restricts() {
		reason, text := in.unrestricted()
		switch {
		case o.execArgv:
			return 0, withHint(errors.New(text+": there is nothing to plan"), "start the command itself")
		case o.json:
			return 0, printJSON(map[string]any{"schema": schemaVersion, "enforcement": "none", "reason": reason})
		}
		fmt.Println(text + ": the command would run unconfined")
		return 0, nil
	}
	list := in.backends()
	doc, chosen, err := in.document(list, start)
	if err != nil {
		return 0, err
	}
	switch {
	case o.json:
		err = doc.print()
	case !o.execArgv:
		in.printPlans(doc.Backends)
	case chosen != nil:
		err = printText(strings.Join(doc.ExecArgv, "\x00") + "\x00")
	}
	if err == nil && chosen == nil {
		err = unavailable(list)
	}
	return 0, err
}

// gatherPlan is gather for a plan.
func (o *options) gatherPlan() (*inputs, error) {
	if o.execArgv {
		if err := o.byPath(); err != nil {
			return nil, err
		}
	}
	return gather(o)
}

// changes is what the command's environment differs in from the caller's. What the
// command must not have goes whether the caller has it now or later.
func (in *inputs) changes(backend string) []string {
	changes := launch.Changes(os.Environ(), in.childEnv(backend))
	never := []string{sentinel}
	if in.opts.chdir != "" {
		never = append(never, "PWD")
	}
	for _, name := range never {
		changes = slices.DeleteFunc(changes, func(c string) bool { return c == name })
		if _, set := launch.Getenv(changes, name); !set {
			changes = append(changes, name)
		}
	}
	return changes
}

func (in *inputs) planOf(b *backend) planJSON {
	if b.err != nil {
		return planJSON{event: event{Schema: schemaVersion, Event: "plan", Backend: b.name}, Error: b.err.Error()}
	}
	p := planJSON{event: planEvent(b)}
	p.about = in.about
	p.Schema = schemaVersion
	if b.name == "seatbelt" {
		p.Argv, p.SBPL = b.profile.Argv(nil), b.profile.Text
		for _, param := range b.profile.Params {
			p.Parameters = append(p.Parameters, paramJSON{param.Name, param.Value})
		}
	} else {
		b.describe(b.name, &p)
	}
	p.Environment = &envJSON{}
	for _, entry := range in.changes(b.name) {
		switch name, value, set := strings.Cut(entry, "="); {
		case !set:
			p.Environment.Unset = append(p.Environment.Unset, name)
		case launch.Secret(name, value) || slices.ContainsFunc(in.secrets, func(s secret) bool { return s.Name == name }):
			p.Environment.Secret = append(p.Environment.Secret, name)
		default:
			masked, _ := strings.CutPrefix(mask.Argv([]string{entry})[0], name+"=")
			p.Environment.Set = append(p.Environment.Set, varJSON{name, masked})
		}
	}
	return p
}

type layerJSON struct {
	Root   *rootJSON `json:"root"`
	Access string    `json:"access"`
}

func (in *inputs) layersJSON() []layerJSON {
	layers := []layerJSON{}
	for _, l := range in.resolved.Layers() {
		layers = append(layers, layerJSON{jsonOf(l.Root), l.Access.String()})
	}
	return layers
}

func (in *inputs) printPlans(plans []planJSON) {
	fmt.Printf("default: %s\n", in.resolved.Default())
	for _, l := range in.resolved.Layers() {
		fmt.Printf("%s: %q (%s, %s)\n", l.Access, l.Root.Path, l.Root.List, l.Root.Kind)
	}
	for _, p := range plans {
		switch {
		case p.Error != "":
			fmt.Printf("\n%s: not used: %s\n", p.Backend, p.Error)
			continue
		case p.Chosen:
			fmt.Printf("\n%s: chosen, enforcement %s\n", p.Backend, p.Enforcement)
		default:
			fmt.Printf("\n%s: enforcement %s\n", p.Backend, p.Enforcement)
		}
		printList("gap", p.Gaps)
		printList("over-denial", p.OverDenials)
		printList("limit", p.Limits)
		for _, path := range p.Creates {
			fmt.Printf("  creates: %q\n", path)
		}
		printWords("capabilities kept, if there are any", p.Capabilities)
		printWords("system calls refused", p.Filtered)
		printWords("kernel files read-only for root", p.ControlFiles)
		for _, s := range p.Skipped {
			fmt.Printf("  skipped: %s %q: %s\n", s.List, s.Path, s.Reason)
		}
		lines := bwrapLines
		if p.Backend == "seatbelt" {
			lines = seatbeltLines
		}
		for _, line := range lines(p.Argv) {
			fmt.Println("  " + line)
		}
		for _, g := range p.Rules {
			fmt.Printf("  %q: %s\n", g.Path, g.Rights)
		}
	}
}

func printList(what string, words []string) {
	for _, w := range words {
		fmt.Printf("  %s: %s\n", what, w)
	}
}

func printWords(what string, words []string) {
	if len(words) > 0 {
		fmt.Printf("  %s: %s\n", what, strings.Join(words, " "))
	}
}

// bwrapLines puts each option of an argument list on a line of its own.
func bwrapLines(argv []string) []string {
	var lines []string
	for _, arg := range argv {
		quoted := quote(arg)
		if len(lines) == 0 || strings.HasPrefix(arg, "--") {
			lines = append(lines, quoted)
		} else {
			lines[len(lines)-1] += " " + quoted
		}
	}
	return lines
}

// seatbeltLines puts each line of the profile and each parameter on a line of its
// own.
func seatbeltLines(argv []string) []string {
	var lines []string
	for i, arg := range argv {
		if i > 0 && argv[i-1] == "-p" {
			for line := range strings.Lines(arg) {
				lines = append(lines, "  "+strings.TrimSuffix(line, "\n"))
			}
			continue
		}
		lines = append(lines, quote(arg))
	}
	return lines
}

// quote returns an argument so that it is one word on one line.
func quote(arg string) string {
	if strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r > '~' }) {
		return strconv.Quote(arg)
	}
	return arg
}
