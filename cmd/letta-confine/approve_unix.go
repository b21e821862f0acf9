//go:build (linux || darwin) && !launcher

package main

import (
	"errors"

	"github.com/letta-confine/letta-confine/approval"
	"github.com/letta-confine/letta-confine/internal/launch"
)

// Exit statuses of approve. The ones of check mean other things.
var approveStatus = map[approval.Outcome]int{
	approval.AllowedOnce: 0,
	approval.Rejected:    2,
	approval.Cancelled:   4,
	approval.Unavailable: 5,
}

// approve asks about a command, and runs none. What the flags say of the policy is
// the one under which the command would run: the answerer must be out of its reach.
func approve(args []string) (int, error) {
	o, err := parseCommand(args)
	if err != nil {
		return 0, err
	}
	if o.justification == "" {
		return 0, usageError("approve needs --justification")
	}
	in, err := gather(o)
	if err != nil {
		return 0, err
	}
	if _, err := in.answerer(); err != nil { // before another file has its descriptor's number
		return 0, err
	}
	reason := o.justification
	if o.widen != "" {
		if _, err := in.widened(); err != nil {
			return 0, err
		}
		reason = in.escalation()
	}
	if err := launch.CloseOnExec(nil); err != nil {
		return 0, err
	}
	if err := in.keepSession(); err != nil {
		return 0, err
	}
	outcome, why, err := in.ask(reason)
	if err != nil {
		return 0, err
	}
	text := ""
	if why != nil {
		text = why.Error()
	}
	status, ok := approveStatus[outcome]
	switch {
	case !ok:
		return 0, errors.New("internal error: no status for the outcome")
	case o.json:
		err = printJSON(struct {
			Schema  int              `json:"schema"`
			Outcome approval.Outcome `json:"outcome"`
			Reason  string           `json:"reason,omitempty"`
		}{schemaVersion, outcome, text})
	default:
		err = printText(string(outcome) + "\n")
		if text != "" {
			in.warn(text)
		}
	}
	return status, err
}
