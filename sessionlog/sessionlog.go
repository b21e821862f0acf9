// Package sessionlog keeps what a session has settled: the mode that its runs are
// in, when to ask, and what was asked and decided. It is a file of JSON lines to
// which events are added; the last of a kind counts.
//
// A log that does not parse is an error, whatever the fault: a line that is skipped
// could be the one that narrowed the mode. The one exception is the beginning of a
// question or of its outcome at the end of the file, which a writer left that was
// killed in the middle. Such a line chooses nothing, and the next writer cuts it off.
//
// # Limits
//
// Whoever can write the file decides. The caller keeps it where no confined command
// can.
package sessionlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/jsonline"
)

// The events.
const (
	SandboxMode      = "sandbox/mode"
	ApprovalPolicy   = "approval/policy"
	ApprovalAsked    = "approval/asked"
	ApprovalDecided  = "approval/decided"
	PermissionPreset = "permission/preset"
)

// MaxFile and MaxLine bound a log and a line of it, in bytes.
const (
	MaxFile = 16 << 20
	MaxLine = 4096
)

// Event is one line. Which members an event has is in [members].
type Event struct {
	Schema   int    `json:"schema"`
	Event    string `json:"event"`
	Mode     string `json:"mode,omitempty"`
	Policy   string `json:"policy,omitempty"`
	Preset   string `json:"preset,omitempty"`
	ID       string `json:"id,omitempty"`
	ToolName string `json:"toolName,omitempty"`
	CallID   string `json:"callId,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Outcome  string `json:"outcome,omitempty"`
}

// modes, policies and outcomes are the words that events may have; presets have the
// names of modes.
var (
	modes    = []string{"read-only", "workspace-write", "danger-full-access"}
	policies = []string{"ask", "never"}
	outcomes = []string{"allowed-once", "rejected", "cancelled", "unavailable"}
)

// unanswered is the outcome of a question whose run ended before it was decided.
const unanswered = "unavailable"

// member is one that an event has beside schema and event.
type member struct {
	name     string
	optional bool
	words    []string // nil for any text
}

func members(event string) []member {
	switch event {
	case SandboxMode:
		return []member{{"mode", false, modes}}
	case ApprovalPolicy:
		return []member{{"policy", false, policies}}
	case PermissionPreset:
		return []member{{"preset", false, modes}}
	case ApprovalAsked:
		return []member{{"id", false, nil}, {"toolName", false, nil}, {"callId", true, nil}, {"reason", true, nil}}
	case ApprovalDecided:
		return []member{{"id", false, nil}, {"outcome", false, outcomes}}
	}
	return nil
}

// Line returns the event as it is written.
func (e Event) Line() ([]byte, error) {
	e.Schema = 1
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	if err := out.Encode(e); err != nil {
		return nil, err
	}
	// What is written must be what is read, and nothing less strict.
	if _, err := parseLine(line.Bytes()); err != nil {
		return nil, err
	}
	return line.Bytes(), nil
}

func parseLine(line []byte) (map[string]string, error) {
	if len(line) > MaxLine {
		return nil, fmt.Errorf("longer than %d bytes", MaxLine)
	}
	got, err := jsonline.Object(line)
	if err != nil {
		return nil, err
	}
	if got["schema"] != "1" {
		return nil, errors.New(`its "schema" is not 1`)
	}
	want := members(got["event"])
	if want == nil {
		return nil, fmt.Errorf("the event %q is unknown", got["event"])
	}
	known := 2
	for _, m := range want {
		value, there := got[m.name]
		switch {
		case !there && m.optional:
			continue
		case value == "":
			return nil, fmt.Errorf("it has no %q", m.name)
		case m.words != nil && !slices.Contains(m.words, value):
			return nil, fmt.Errorf("its %q is %q", m.name, value)
		}
		known++
	}
	if len(got) != known {
		return nil, errors.New("it has a member too many")
	}
	return got, nil
}

// State is what a log says.
type State struct {
	Mode   string // the last one, or ""
	Policy string // likewise
	Preset string // likewise
	Open   []Pair // questions without an outcome

	end  int64 // of the last whole line
	torn bool  // something follows it
}

// Pair is a question that has no outcome yet.
type Pair struct {
	ID string
	at int64 // where its line begins
}

// Parse reads a log.
func Parse(text []byte) (State, error) {
	var s State
	seen := map[string]bool{}
	if len(text) > MaxFile {
		return s, fmt.Errorf("more than %d bytes", MaxFile)
	}
	for n := 1; len(text) > 0; n++ {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			if s.torn = torn(text); s.torn {
				return s, nil
			}
			return State{}, fmt.Errorf("line %d has no end", n)
		}
		line, err := parseLine(text[:end])
		if err == nil {
			err = s.add(line, seen)
		}
		if err != nil {
			return State{}, fmt.Errorf("line %d: %w", n, err)
		}
		s.end += int64(end)
		text = text[end:]
	}
	return s, nil
}

func (s *State) add(line map[string]string, seen map[string]bool) error {
	id := line["id"]
	switch line["event"] {
	case SandboxMode:
		s.Mode = line["mode"]
	case ApprovalPolicy:
		s.Policy = line["policy"]
	case PermissionPreset:
		s.Preset = line["preset"]
	case ApprovalAsked:
		if seen[id] {
			return fmt.Errorf("%q was asked before", id)
		}
		seen[id] = true
		s.Open = append(s.Open, Pair{id, s.end})
	case ApprovalDecided:
		i := slices.IndexFunc(s.Open, func(p Pair) bool { return p.ID == id })
		if i < 0 {
			return fmt.Errorf("%q is not asked", id)
		}
		s.Open = slices.Delete(s.Open, i, i+1)
	}
	return nil
}

// torn says that what stands at the end of a log is the beginning of a line about a
// question, as this package writes it.
func torn(rest []byte) bool {
	for _, event := range []string{ApprovalAsked, ApprovalDecided} {
		begins := `{"schema":1,"event":"` + event + `",`
		if bytes.HasPrefix(rest, []byte(begins)) {
			return len(rest) <= MaxLine
		}
	}
	return false
}
