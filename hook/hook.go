// Package hook speaks the protocols by which agent harnesses ask a program before
// they run a tool: Claude Code, letta-code, Codex, Gemini CLI and Cursor.
//
// [Parse] reads an event and [Event.Answer] says a verdict in the harness's own
// form: exactly one JSON object on standard output, or nothing there, and an exit
// status. The package decides nothing and does no I/O.
//
// # Limits
//
// Every harness but Gemini CLI runs the tool when its hook fails to start or is
// killed for its time, unless it is told otherwise; nothing here can change that.
// letta-code runs its PreToolUse hooks after the person has answered, and does not
// look at a rewritten command again.
package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// The protocols.
const (
	Claude = "claude"
	Letta  = "letta"
	Codex  = "codex"
	Gemini = "gemini"
	Cursor = "cursor"
)

// Protocols returns the names of all protocols.
func Protocols() []string { return []string{Claude, Letta, Codex, Gemini, Cursor} }

// Names of events. Where a harness has others, no answer of ours fits them.
const (
	preToolUse        = "PreToolUse"
	permissionRequest = "PermissionRequest"
	beforeTool        = "BeforeTool"
	cursorPreToolUse  = "preToolUse"
	beforeShell       = "beforeShellExecution"
	beforeRead        = "beforeReadFile"
	beforeMCP         = "beforeMCPExecution"
)

// Event is what a harness asks.
type Event struct {
	Protocol string
	Name     string          // as the harness calls the event
	Tool     string          // as the harness calls the tool
	Input    json.RawMessage // the tool's input, an object
	Cwd      string          // "" where the harness does not say

	// Attended is whether the harness says that a person answers its questions.
	Attended bool
}

// fields are those of all protocols.
type fields struct {
	EventType      string          `json:"event_type"`
	HookEventName  string          `json:"hook_event_name"`
	ToolName       string          `json:"tool_name"`
	ToolInput      json.RawMessage `json:"tool_input"`
	Cwd            string          `json:"cwd"`
	Working        string          `json:"working_directory"`
	WorkspaceRoots []string        `json:"workspace_roots"`
	PermissionMode string          `json:"permission_mode"`
	Command        json.RawMessage `json:"command"`
	FilePath       json.RawMessage `json:"file_path"`
	Attachments    json.RawMessage `json:"attachments"`
}

// Parse reads an event. The protocol is found from the names in it, unless one is
// given. What it does not understand is an error.
func Parse(raw []byte, protocol string) (Event, error) {
	var names map[string]json.RawMessage
	var f fields
	if err := json.Unmarshal(raw, &names); err != nil || names == nil {
		return Event{}, errors.New("standard input is not a JSON object")
	}
	if err := Unique(raw); err != nil {
		return Event{}, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return Event{}, fmt.Errorf("the event: %w", err)
	}
	e := Event{Protocol: protocol, Name: f.HookEventName, Tool: f.ToolName, Input: f.ToolInput, Cwd: f.Cwd, Attended: attended(f.PermissionMode)}
	if protocol == "" {
		e.Protocol = detect(names, f)
	}
	if e.Protocol == Letta {
		e.Name = f.EventType
	}
	if e.Cwd == "" {
		e.Cwd = f.Working
	}
	if e.Cwd == "" && len(f.WorkspaceRoots) > 0 {
		e.Cwd = f.WorkspaceRoots[0]
	}
	if !slices.Contains(eventsOf(e.Protocol), e.Name) {
		return Event{}, fmt.Errorf("protocol %s has no event %q that can be answered; want %s", e.Protocol, e.Name, strings.Join(eventsOf(e.Protocol), ", "))
	}
	if e.Protocol == Cursor {
		if err := e.cursor(f); err != nil {
			return Event{}, err
		}
	}
	if e.Tool == "" {
		return Event{}, errors.New("the event names no tool")
	}
	if in := bytes.TrimSpace(e.Input); len(in) == 0 || in[0] != '{' {
		return Event{}, errors.New("the tool's input is not a JSON object")
	}
	return e, nil
}

// eventsOf returns the events of a protocol that are answered.
func eventsOf(protocol string) []string {
	switch protocol {
	case Claude:
		return []string{preToolUse}
	case Letta, Codex:
		return []string{preToolUse, permissionRequest}
	case Gemini:
		return []string{beforeTool}
	case Cursor:
		return []string{cursorPreToolUse, beforeShell, beforeRead, beforeMCP}
	}
	return nil
}

// detect tells the protocols apart by names that one of them only has.
func detect(names map[string]json.RawMessage, f fields) string {
	has := func(name string) bool { _, ok := names[name]; return ok }
	switch {
	case has("event_type"):
		return Letta
	case has("cursor_version"), has("conversation_id"):
		return Cursor
	case f.HookEventName == beforeTool:
		return Gemini
	case has("turn_id"):
		return Codex
	}
	return Claude
}

// attended reports whether a harness's mode is one in which it asks a person. One
// that is not known may be one that asks nobody.
func attended(mode string) bool {
	return slices.Contains([]string{"default", "standard", "strict", "acceptEdits", "plan"}, mode)
}

// cursor gives an event of Cursor's the form of the others: a command and a file
// stand in the event itself, and the input of an MCP tool is JSON as text.
func (e *Event) cursor(f fields) error {
	input := map[string]json.RawMessage{}
	switch e.Name {
	case beforeShell:
		e.Tool, input["command"] = "Shell", f.Command
	case beforeRead:
		if name := ""; json.Unmarshal(f.FilePath, &name) != nil || name == "" {
			return errors.New("the event names no file")
		}
		e.Tool, input["file_path"] = "Read", f.FilePath
		if f.Attachments != nil {
			input["attachments"] = f.Attachments
		}
	default:
		var text string
		if json.Unmarshal(e.Input, &text) == nil {
			e.Input = json.RawMessage(text)
			return Unique([]byte(text))
		}
		return nil
	}
	e.Input, _ = json.Marshal(input) // what is missing becomes null, which names nothing
	return nil
}

// Unique refuses an event in which an object has a name twice: which of the two the
// harness takes is not known. Of the event's own names, which encoding/json reads in
// any case, none may be there in two. Nor is what is not UTF-8, which encoding/json
// mends, what the harness meant.
func Unique(raw []byte) error {
	if !utf8.Valid(raw) {
		return errors.New("the JSON is not valid UTF-8")
	}
	return unique(json.NewDecoder(bytes.NewReader(raw)), true)
}

func unique(d *json.Decoder, event bool) error {
	t, err := d.Token()
	if err != nil || t != json.Delim('{') && t != json.Delim('[') {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		if t == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := name.(string)
			if event {
				key = strings.ToLower(key)
			}
			if seen[key] {
				return fmt.Errorf("the name %q is there twice", key)
			}
			seen[key] = true
		}
		if err := unique(d, false); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// Polls reports whether the tool only waits for what a command says that was started
// before: it types nothing.
func (e Event) Polls() bool {
	var input map[string]any
	if strings.ReplaceAll(strings.ToLower(e.Tool), "_", "") != "writestdin" || json.Unmarshal(e.Input, &input) != nil {
		return false
	}
	for name, value := range input {
		switch name {
		case "session_id", "yield_time_ms", "max_output_tokens":
		case "chars":
			if value != nil && value != "" {
				return false
			}
		default:
			return false // may be another name for what is typed
		}
	}
	return true
}

// Escalates reports whether the tool's input asks for more than the harness's
// sandbox gives. No hook may allow such a call. Models also write the arguments out
// where they ask for nothing, as false or use_default.
func (e Event) Escalates() bool {
	var input any
	return json.Unmarshal(e.Input, &input) != nil || holdsKey(input)
}

func holdsKey(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key)) {
			case "sandboxpermissions", "justification", "withescalatedpermissions", "dangerouslydisablesandbox":
				if value != nil && value != false && value != "" && value != "use_default" {
					return true
				}
			}
			if holdsKey(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsKey)
	}
	return false
}
