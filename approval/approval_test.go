package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAnswer(t *testing.T) {
	const id = "0123"
	answer := func(outcome string) string { return `{"id":"0123","outcome":"` + outcome + `"}` + "\n" }
	for _, c := range []struct {
		name, text string
		want       Outcome
	}{
		{"allowed", answer("allowed-once"), AllowedOnce},
		{"rejected", answer("rejected"), Rejected},
		{"cancelled", answer("cancelled"), Cancelled},
		{"unavailable", answer("unavailable"), Unavailable},
		{"in the other order", `{"outcome":"allowed-once","id":"0123"}` + "\n", AllowedOnce},
		{"nothing", "", Unavailable},
		{"an empty line", "\n", Unavailable},
		{"no end of line", strings.TrimSpace(answer("allowed-once")), Unavailable},
		{"another id", `{"id":"0124","outcome":"allowed-once"}` + "\n", Unavailable},
		{"an empty id", `{"id":"","outcome":"allowed-once"}` + "\n", Unavailable},
		{"no id", `{"outcome":"allowed-once"}` + "\n", Unavailable},
		{"no outcome", `{"id":"0123"}` + "\n", Unavailable},
		{"an unknown outcome", answer("allowed-always"), Unavailable},
		{"another case", answer("Allowed-Once"), Unavailable},
		{"a blank", answer("allowed-once "), Unavailable},
		{"a member more", `{"id":"0123","outcome":"allowed-once","mode":"read-only"}` + "\n", Unavailable},
		{"the id twice", `{"id":"0123","id":"0123","outcome":"allowed-once"}` + "\n", Unavailable},
		{"the outcome twice", `{"id":"0123","outcome":"rejected","outcome":"allowed-once"}` + "\n", Unavailable},
		{"a member of another case", `{"id":"0123","Outcome":"allowed-once"}` + "\n", Unavailable},
		{"two answers", answer("allowed-once") + answer("allowed-once"), Unavailable},
		{"an empty line after it", answer("allowed-once") + "\n", Unavailable},
		{"an empty line before it", "\n" + answer("allowed-once"), Unavailable},
		{"a word after it", answer("allowed-once") + "x", Unavailable},
		{"a word before it", "ok " + answer("allowed-once"), Unavailable},
		{"a text", "allowed-once\n", Unavailable},
		{"too long", `{"id":"0123",` + strings.Repeat(" ", MaxLine) + `"outcome":"allowed-once"}` + "\n", Unavailable},
		{"a NUL", answer("allowed-once") + "\x00", Unavailable},
	} {
		got, err := Answer(id, []byte(c.text))
		if got != c.want || (err != nil) != (c.want == Unavailable) {
			t.Errorf("%s: Answer = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestDecide(t *testing.T) {
	says := func(o Outcome, err error) Answerer { return func(Request) (Outcome, error) { return o, err } }
	failed := errors.New("failed")
	for _, c := range []struct {
		name   string
		policy Policy
		ask    Answerer
		want   Outcome
		why    bool
	}{
		{"allowed", Ask, says(AllowedOnce, nil), AllowedOnce, false},
		{"rejected", Ask, says(Rejected, nil), Rejected, false},
		{"cancelled", Ask, says(Cancelled, nil), Cancelled, false},
		{"unavailable", Ask, says(Unavailable, nil), Unavailable, false},
		{"nobody", Ask, nil, Unavailable, true},
		{"a failure that allows", Ask, says(AllowedOnce, failed), Unavailable, true},
		{"a failure that rejects", Ask, says(Rejected, failed), Unavailable, true},
		{"ended", Ask, says(Cancelled, failed), Cancelled, true},
		{"no outcome", Ask, says("", nil), Unavailable, true},
		{"another word", Ask, says("allowed-always", nil), Unavailable, true},
		{"never, and nobody", Never, nil, Rejected, true},
		{"no policy", "", says(AllowedOnce, nil), Unavailable, true},
		{"another policy", "Ask", says(AllowedOnce, nil), Unavailable, true},
	} {
		got, err := Decide(c.policy, Request{}, c.ask)
		if got != c.want || (err != nil) != c.why {
			t.Errorf("%s: Decide = %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if got, _ := Decide(Never, Request{}, func(Request) (Outcome, error) { t.Error("never asks"); return AllowedOnce, nil }); got != Rejected {
		t.Errorf("never gives %v", got)
	}
}

func TestRequest(t *testing.T) {
	argv := []string{"curl", "--user", "name:password"}
	r, err := New(Request{ToolName: "curl", CallID: "7", Mode: "workspace-write", Reason: "a <b> & \x1b[2K"}, argv)
	if err != nil {
		t.Fatal(err)
	}
	line := string(r.Line())
	var members map[string]any
	if err := json.Unmarshal([]byte(line), &members); err != nil || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		t.Fatalf("the request is %q: %v", line, err)
	}
	names := slices.Sorted(maps.Keys(members))
	if want := []string{"argvSha256", "callId", "id", "mode", "reason", "schema", "toolName"}; !slices.Equal(names, want) {
		t.Errorf("a request has %q, want %q", names, want)
	}
	for _, secret := range []string{"password", "--user", "\x1b"} {
		if strings.Contains(line, secret) {
			t.Errorf("the request holds %q: %q", secret, line)
		}
	}
	sum := sha256.Sum256([]byte("curl\x00--user\x00name:password\x00"))
	if want := hex.EncodeToString(sum[:]); r.ArgvSHA256 != want {
		t.Errorf("the hash is %s, want %s", r.ArgvSHA256, want)
	}
	joined, err := New(r, []string{"curl", "--user name:password"})
	if err != nil || joined.ArgvSHA256 == r.ArgvSHA256 || joined.ID == r.ID || len(joined.ID) != 32 {
		t.Errorf("another command's request is %+v, %v", joined, err)
	}
	if _, err := New(Request{Reason: strings.Repeat("x", MaxLine)}, argv); !errors.Is(err, ErrLong) {
		t.Errorf("a long reason gives %v", err)
	}
}

// What allows is one object of these two members and nothing else.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"id":"0123","outcome":"allowed-once"}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if outcome, _ := Answer("0123", text); outcome != AllowedOnce {
			return
		}
		var members map[string]string
		want := map[string]string{"id": "0123", "outcome": "allowed-once"}
		if err := json.Unmarshal(text, &members); err != nil || !maps.Equal(members, want) {
			t.Errorf("%q allows", text)
		}
	})
}
