//go:build (linux || darwin) && !launcher

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/letta-confine/letta-confine/sessionlog"
)

// custom is what a mode and an approval policy are that no preset names. It cannot
// be chosen.
const custom = "custom"

// preset is a mode and when to ask before going beyond it.
type preset struct {
	Name     string `json:"name"`
	Mode     string `json:"mode"`
	Approval string `json:"approval"`
}

// presetList are DSH's; each has the name of its mode.
var presetList = []preset{{readOnly, readOnly, ask}, {workspaceWrite, workspaceWrite, ask}, {danger, danger, never}}

// presets is letta-confine preset.
func presets(args []string) (int, error) {
	verbs := map[string]func(o *options, name string) error{"list": listPresets, "current": currentPreset, "set": setPreset}
	if len(args) == 0 || verbs[args[0]] == nil {
		return 0, usageError("preset what? want current, list, set NAME")
	}
	verb, name := args[0], ""
	args = args[1:]
	if verb == "set" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	o, err := parse(args)
	if err != nil {
		return 0, err
	}
	if verb == "set" && name == "" && len(o.args) > 0 {
		name, o.args = o.args[0], o.args[1:]
	}
	switch {
	case len(o.args) > 0:
		return 0, usageError(fmt.Sprintf("preset %s takes no argument %q", verb, o.args[0]))
	case verb == "set" && name == "":
		return 0, usageError("preset set needs a name")
	}
	return 0, verbs[verb](o, name)
}

func listPresets(o *options, _ string) error {
	if o.json {
		return printJSON(map[string]any{"schema": schemaVersion, "presets": presetList})
	}
	var s strings.Builder
	for _, p := range presetList {
		fmt.Fprintf(&s, "%s: mode %s, approval %s\n", p.Name, p.Mode, p.Approval)
	}
	return printText(s.String())
}

// presetOf derives the preset from what is in force. The one that was chosen last
// goes before others that say the same.
func presetOf(mode, approval, chosen string) preset {
	is := func(p preset) bool { return p.Mode == mode && p.Approval == approval }
	if i := slices.IndexFunc(presetList, func(p preset) bool { return is(p) && p.Name == chosen }); i >= 0 {
		return presetList[i]
	}
	if i := slices.IndexFunc(presetList, is); i >= 0 {
		return presetList[i]
	}
	return preset{custom, mode, approval}
}

func currentPreset(o *options, _ string) error {
	in, err := collect(o)
	if err != nil {
		return err
	}
	mode := in.mode
	if mode == "" {
		return withHint(errors.New("preset current: no mode is in force"), "leave out the flags that name roots")
	}
	p := presetOf(mode, in.approval(), in.session.Preset)
	if o.json {
		return printJSON(struct {
			Schema int `json:"schema"`
			preset
		}{schemaVersion, p})
	}
	return printText(fmt.Sprintf("%s: mode %s, approval %s\n", p.Name, p.Mode, p.Approval))
}

// setPreset adds to the session log what changes, if this host can keep it.
func setPreset(o *options, name string) error {
	i := slices.IndexFunc(presetList, func(p preset) bool { return p.Name == name })
	switch {
	case o.sessionLog == "":
		return usageError("preset set needs --session-log")
	case name == custom:
		return usageError("the preset custom cannot be chosen: it is what no preset says")
	case i < 0:
		return usageError(fmt.Sprintf("preset %q: want %s", name, strings.Join(modes, ", ")))
	}
	p := presetList[i]
	o.preset = p.Name
	in, err := gather(o)
	if err != nil {
		return err
	}
	if err := in.canKeep(p.Mode); err != nil {
		return err
	}
	if err := in.keepSession(); err != nil {
		return err
	}
	added, err := in.kept.Set(func(s sessionlog.State) []sessionlog.Event { return changes(s, p) })
	if err != nil {
		return in.sessionError(err)
	}
	if !o.json {
		return nil
	}
	names := []string{}
	for _, e := range added {
		names = append(names, e.Event)
	}
	return printJSON(map[string]any{"schema": schemaVersion, "preset": p.Name, "events": names})
}

// changes are the events by which a session gets the preset: none where it has it.
func changes(s sessionlog.State, p preset) (events []sessionlog.Event) {
	if s.Preset != p.Name {
		events = append(events, sessionlog.Event{Event: sessionlog.PermissionPreset, Preset: p.Name})
	}
	if s.Mode != p.Mode {
		events = append(events, sessionlog.Event{Event: sessionlog.SandboxMode, Mode: p.Mode})
	}
	if s.Policy != p.Approval {
		events = append(events, sessionlog.Event{Event: sessionlog.ApprovalPolicy, Policy: p.Approval})
	}
	return events
}

// canKeep is an error where no backend of this host can confine what the mode
// means. Each is tried, as probe tries it.
func (in *inputs) canKeep(mode string) error {
	if mode == danger {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("the launcher's own path: %w", err)
	}
	list := in.backends()
	for i := range list {
		if list[i].err != nil {
			continue
		}
		p := list[i].probe(self, in.opts)
		if p.Usable {
			return nil
		}
		list[i].err = withHint(errors.New(p.Reason), p.Hint)
	}
	return fmt.Errorf("preset %s: %w", mode, unavailable(list))
}
