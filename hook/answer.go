package hook

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/letta-confine/letta-confine/verdict"
)

// Opinion is what there is to say about a call.
type Opinion struct {
	// Verdict is nil where there is no opinion: nothing objects, and nothing says
	// that the harness need not ask.
	Verdict *verdict.Verdict

	// Change has the arguments of the tool that are to be changed, or is nil.
	Change map[string]json.RawMessage

	// DenyAsk denies where the answer is to ask, and the event has no way to say it.
	DenyAsk bool
}

// Answer is what a hook says, and the status with which it ends.
type Answer struct {
	Stdout []byte // one JSON object and a newline, or nothing
	Stderr string // one line without its end, or nothing
	Status int
}

// object is the JSON of every protocol, in the order in which they are documented.
type object struct {
	Specific      *specific                  `json:"hookSpecificOutput,omitempty"`
	Decision      string                     `json:"decision,omitempty"`
	Reason        string                     `json:"reason,omitempty"`
	SystemMessage string                     `json:"systemMessage,omitempty"`
	Permission    string                     `json:"permission,omitempty"`
	UserMessage   string                     `json:"user_message,omitempty"`
	AgentMessage  string                     `json:"agent_message,omitempty"`
	UpdatedInput  map[string]json.RawMessage `json:"updated_input,omitempty"`
}

type specific struct {
	Event        string                     `json:"hookEventName,omitempty"`
	Permission   string                     `json:"permissionDecision,omitempty"`
	Reason       string                     `json:"permissionDecisionReason,omitempty"`
	Decision     *behavior                  `json:"decision,omitempty"`
	UpdatedInput map[string]json.RawMessage `json:"updatedInput,omitempty"`
	ToolInput    map[string]json.RawMessage `json:"tool_input,omitempty"`
}

type behavior struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// CanAsk reports whether the event's answer can be to ask a person, or to leave it
// to the harness whether it does.
func (e Event) CanAsk() bool {
	return e.Name != beforeRead && (e.Name != preToolUse || e.Protocol == Claude)
}

// CanRewrite reports whether the event's answer can change the tool's input.
func (e Event) CanRewrite() bool {
	return e.Name == preToolUse || e.Name == beforeTool || e.Name == cursorPreToolUse
}

// Answer says an opinion in the event's protocol. Where the answer is to ask and the
// event cannot, o.DenyAsk decides.
func (e Event) Answer(o Opinion) Answer {
	v := o.Verdict
	if v != nil && v.Decision == verdict.Ask && !e.CanAsk() {
		if o.DenyAsk {
			v = &verdict.Verdict{Decision: verdict.Deny, Reason: v.Reason + " (and nobody can be asked here)"}
		} else {
			v = nil
		}
	}
	if v != nil && v.Decision == verdict.Deny || !e.CanRewrite() {
		o.Change = nil
	}
	if e.Protocol == Gemini {
		return gemini(v, o.Change) // it merges them itself
	}
	var input map[string]json.RawMessage
	if len(o.Change) > 0 {
		if err := json.Unmarshal(e.Input, &input); err != nil {
			panic(err) // Parse has seen that it is an object
		}
		maps.Copy(input, o.Change)
	}
	switch e.Protocol {
	case Letta:
		return e.letta(v, input)
	case Codex:
		return e.codex(v, input)
	case Cursor:
		return cursor(v, input)
	}
	return e.claude(v, input)
}

func (e Event) claude(v *verdict.Verdict, input map[string]json.RawMessage) Answer {
	s := specific{Event: e.Name, UpdatedInput: input}
	switch {
	case v != nil:
		s.Permission, s.Reason = v.Decision.String(), v.Reason
	case input == nil:
		return Answer{}
	default: // a change without a decision is not documented
		s.Permission = verdict.Ask.String()
	}
	return say(object{Specific: &s})
}

// letta-code reads no decision but the status, which means different things at its
// two events.
func (e Event) letta(v *verdict.Verdict, input map[string]json.RawMessage) Answer {
	switch {
	case v != nil && v.Decision == verdict.Deny:
		return Answer{Stderr: v.Reason, Status: 2}
	case e.Name == permissionRequest && (v == nil || v.Decision == verdict.Ask):
		return Answer{Status: 1} // 0 would allow
	case input != nil:
		return say(object{Specific: &specific{UpdatedInput: input}})
	}
	return Answer{}
}

// Codex takes a decision it does not know for a failure, and then runs the tool:
// PreToolUse takes no ask and no bare allow.
func (e Event) codex(v *verdict.Verdict, input map[string]json.RawMessage) Answer {
	s := specific{Event: e.Name, UpdatedInput: input}
	switch {
	case e.Name == permissionRequest && (v == nil || v.Decision == verdict.Ask):
		return Answer{}
	case e.Name == permissionRequest:
		s.Decision = &behavior{Behavior: v.Decision.String()}
		if v.Decision == verdict.Deny {
			s.Decision.Message = v.Reason
		}
	case v != nil && v.Decision == verdict.Deny:
		s.Permission, s.Reason = v.Decision.String(), v.Reason
	case input != nil:
		s.Permission = verdict.Allow.String()
	default:
		return Answer{}
	}
	return say(object{Specific: &s})
}

func gemini(v *verdict.Verdict, input map[string]json.RawMessage) Answer {
	var o object
	if input != nil {
		o.Specific = &specific{Event: beforeTool, ToolInput: input}
	}
	if v != nil {
		switch v.Decision {
		case verdict.Deny:
			o.Decision, o.Reason = v.Decision.String(), v.Reason
		case verdict.Ask:
			o.Decision, o.SystemMessage = v.Decision.String(), v.Reason
		}
	}
	return say(o)
}

func cursor(v *verdict.Verdict, input map[string]json.RawMessage) Answer {
	o := object{Permission: verdict.Allow.String(), UpdatedInput: input}
	if v != nil && v.Decision != verdict.Allow {
		o.Permission, o.UserMessage, o.AgentMessage = v.Decision.String(), v.Reason, v.Reason
	}
	return say(o)
}

func say(o object) Answer {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o); err != nil {
		panic(err) // the program's failure, and so a denial
	}
	return Answer{Stdout: out.Bytes()}
}
