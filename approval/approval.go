// Package approval asks whether one run may go beyond what it is allowed, once.
//
// A [Request] goes to one answerer, which is a program, a descriptor or a person at
// the terminal, and comes back as one of four outcomes. Whatever is not plainly a
// permission is none: an answerer that is missing, fails, is slow or says more than
// it was asked is [Unavailable]. Under the policy [Never] nobody is asked.
//
// # Limits
//
// An answer is for one request and is forgotten with it: there is no way to allow
// always. An answerer is trusted to be who it is; the caller keeps it out of reach
// of what is asked about.
package approval

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/letta-confine/letta-confine/internal/jsonline"
)

// Outcome is the end of a request.
type Outcome string

// The outcomes. Only AllowedOnce permits anything.
const (
	AllowedOnce Outcome = "allowed-once"
	Rejected    Outcome = "rejected"
	Cancelled   Outcome = "cancelled"   // the question was ended before it was answered
	Unavailable Outcome = "unavailable" // nobody gave an answer that counts
)

// Outcomes returns them all.
func Outcomes() []Outcome { return []Outcome{AllowedOnce, Rejected, Cancelled, Unavailable} }

// Policy is when to ask.
type Policy string

// The policies.
const (
	Ask   Policy = "ask"
	Never Policy = "never"
)

// MaxLine bounds a request and an answer, in bytes: what a pipe takes in one piece.
const MaxLine = 4096

// Request is what an answerer is asked. It never has the arguments, which may hold
// secrets: their hash binds the answer to them. It is the hash of the words, each
// ended by a NUL.
type Request struct {
	Schema     int    `json:"schema"`
	ID         string `json:"id"`
	ToolName   string `json:"toolName"`
	CallID     string `json:"callId,omitempty"`
	Mode       string `json:"mode,omitempty"` // that is asked for
	Reason     string `json:"reason"`
	ArgvSHA256 string `json:"argvSha256"`
}

// ErrLong says that a request would be longer than MaxLine.
var ErrLong = errors.New("the name, the call id and the reason are too long")

// New returns r with an id of its own, for the command argv.
func New(r Request, argv []string) (Request, error) {
	hash := sha256.New()
	for _, word := range argv {
		hash.Write(append([]byte(word), 0))
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	r.Schema, r.ID, r.ArgvSHA256 = 1, hex.EncodeToString(id[:]), hex.EncodeToString(hash.Sum(nil))
	if len(r.Line()) > MaxLine {
		return Request{}, ErrLong
	}
	return r, nil
}

// Line returns the request as an answerer reads it.
func (r Request) Line() []byte {
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	out.Encode(r) // cannot fail: texts and a number
	return line.Bytes()
}

// Answer returns the outcome that text says for the request of that id, which is
// Unavailable where it says anything else, or more.
func Answer(id string, text []byte) (Outcome, error) {
	line, ended := bytes.CutSuffix(text, []byte("\n"))
	switch {
	case len(text) == 0:
		return Unavailable, errors.New("it gave no answer")
	case len(text) > MaxLine || bytes.IndexByte(line, '\n') >= 0:
		return Unavailable, errors.New("it says more than one line")
	case !ended:
		return Unavailable, errors.New("its line has no end")
	}
	members, err := jsonline.Object(line)
	if err != nil {
		return Unavailable, fmt.Errorf("its answer: %w", err)
	}
	outcome := Outcome(members["outcome"])
	switch {
	case len(members) != 2 || members["id"] == "":
		return Unavailable, errors.New("its answer does not have id and outcome alone")
	case members["id"] != id:
		return Unavailable, errors.New("its answer is for another request")
	case !slices.Contains(Outcomes(), outcome):
		return Unavailable, fmt.Errorf("it says the outcome %q, which is none", outcome)
	case outcome == Unavailable:
		return Unavailable, errors.New("it says that nobody can answer")
	}
	return outcome, nil
}

// Answerer gives the outcome of a request; an error says why it is not
// AllowedOnce or Rejected.
type Answerer func(Request) (Outcome, error)

// Decide asks, where the policy has it, and where there is somebody to ask. It
// takes no outcome from an answerer that comes with an error or is none.
func Decide(p Policy, r Request, ask Answerer) (Outcome, error) {
	switch {
	case p == Never:
		return Rejected, errors.New("the approval policy is never")
	case p != Ask:
		return Unavailable, fmt.Errorf("the approval policy is %q", p)
	case ask == nil:
		return Unavailable, errors.New("there is nobody to ask")
	}
	outcome, err := ask(r)
	switch {
	case err != nil && outcome == Cancelled:
		return Cancelled, err
	case err != nil:
		return Unavailable, err
	case !slices.Contains(Outcomes(), outcome):
		return Unavailable, fmt.Errorf("the outcome is %q, which is none", outcome)
	}
	return outcome, nil
}
