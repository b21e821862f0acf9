//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
	"github.com/letta-confine/letta-confine/profile"
)

// Every event of real runs is one that the schema describes.
func TestReportsMeetTheSchema(t *testing.T) {
	schema := answers(t, "report")
	// The command may write to dir and not to where the report is.
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "report")
	secret := filepath.Join(dir, "secret")
	tenant := filepath.Join(dir, "tenants", "one")
	if err := errors.Join(os.Mkdir(secret, 0o700), os.MkdirAll(tenant, 0o700)); err != nil {
		t.Fatal(err)
	}
	answerer := filepath.Join(t.TempDir(), "allow")
	allow := "#!/bin/sh\nsed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/{\"id\":\"\\1\",\"outcome\":\"allowed-once\"}/'\n"
	if err := os.WriteFile(answerer, []byte(allow), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	restricted := []string{"--restrict-writes", "--writable", dir, "--deny", secret}
	runs := []struct {
		name   string
		args   []string
		events string // for a backend that stays, and
		alone  string // for one that does not
	}{
		{"a command's own status", []string{"--", "sh", "-c", "exit 7"}, "plan started exit", "plan started"},
		{"a signal", []string{"--", "sh", "-c", "kill -9 $$"}, "plan started exit", "plan started"},
		{"a command that is not there", []string{"--", "no-such-program"}, "plan started exit", "plan started exit"},
		{"a command that cannot run", []string{"--", "/dev/null"}, "plan started exit", "plan started exit"},
		{"a missing root", []string{"--writable", filepath.Join(dir, "gone"), "--", "true"}, "plan started exit", "plan started"},
		{"a missing denied root", []string{"--deny", filepath.Join(dir, "made"), "--", "true"}, "plan started exit", "plan started"},
		{"a scrubbed environment", []string{"--scrub-env", "--", "true"}, "plan started exit", "plan started"},
		{"a private /tmp", []string{"--tmp", "private", "--", "true"}, "plan started exit", "plan started"},
		{"a preset", []string{"--preset", "workspace-write", "--", "true"}, "plan started exit", "plan started"},
		{"a profile", []string{"--profile", "workspace", "--isolation-root", filepath.Dir(tenant), "--workspace", tenant, "--", "true"}, "plan started exit", "plan started"},
		{"a default", []string{"--mode=env", "--default-mode", "read-only", "--", "true"}, "plan started exit", "plan started"},
		{"a wider mode", []string{"--mode", "read-only", "--widen", "workspace-write", "--justification", "a test", "--answerer", answerer, "--", "true"}, "plan started exit", "plan started"},
		{"a rejected mode", []string{"--mode", "read-only", "--widen", "workspace-write", "--justification", "a test", "--approval", "never", "--", "true"}, "exit", "exit"},
		{"a credential", []string{"--credential", "SECRET=SOME_TOKEN", "--", "true"}, "plan started exit", "plan started"},
		{"a denial", []string{"--fail-on-denial", "--", "cat", secret + "/x"}, "plan started exit", "plan started exit"},
		{"the kernel's log", []string{"--supervise", "--audit-denials", "--", "true"}, "plan started exit", "plan started exit"},
		{"a supervisor", []string{"--supervise", "--", "true"}, "plan started exit", "plan started exit"},
		{"no supervisor", []string{"--exec", "--", "true"}, "plan started", "plan started"},
	}
	ownPolicy := []string{"a private /tmp", "a preset", "a profile", "a default", "a wider mode", "a rejected mode"}
	seen := map[string]bool{}
	check := func(t *testing.T, said, want string) {
		t.Helper()
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		var events []string
		for line := range strings.Lines(string(text)) {
			members := schema.takes(t, line)
			for name := range members {
				seen[name] = true
			}
			events = append(events, members["event"].(string))
		}
		if got := strings.Join(events, " "); got != want {
			t.Errorf("the events are %q, want %q", got, want)
		}
	}
	start := func(args []string) string {
		os.Remove(out)
		run := exec.Command(launcher(t), append([]string{"--quiet", "--report", out}, args...)...)
		run.Dir = dir
		run.Env = append(os.Environ(), "SOME_TOKEN=x", "TMPDIR="+dir, "DSH_PERMISSION_MODE=")
		said, _ := run.CombinedOutput()
		return string(said)
	}
	for _, backend := range []string{"bwrap", "landlock"} {
		for _, r := range runs {
			t.Run(backend+"/"+r.name, func(t *testing.T) {
				need(t, backend)
				if abi, _ := landlock.ABI(); r.name == "the kernel's log" && abi < landlock.LogABI {
					testenv.Need(t, testenv.FacilityLandlock, fmt.Errorf("the kernel has ABI %d", abi))
				}
				args := append([]string{"--backend", backend}, r.args...)
				if !slices.Contains(ownPolicy, r.name) {
					args = append(slices.Clone(restricted), args...)
				}
				said := start(args)
				want := r.events
				if backend == "landlock" {
					want = r.alone
				}
				check(t, said, want)
			})
		}
	}
	t.Run("unconfined", func(t *testing.T) {
		said := start([]string{"--mode", "danger-full-access", "--", "true"})
		check(t, said, "plan")
	})
	t.Run("another backend", func(t *testing.T) {
		need(t, "landlock")
		said := start(append(restricted, "--allow-over-denial", "--bwrap", "/bin/false", "--", "true"))
		check(t, said, "plan plan started")
	})
	t.Run("a failed backend", func(t *testing.T) {
		need(t, "bwrap")
		said := start(append(restricted, "--backend", "bwrap", "--bwrap", "/bin/false", "--", "true"))
		check(t, said, "plan exit")
	})
	if facilities["bwrap"]() != nil || facilities["landlock"]() != nil {
		return
	}
	log, unreadable := landlock.OpenLog()
	if unreadable == nil {
		log.Close()
	}
	for _, name := range jsonNames(reflect.TypeFor[event]()) {
		if !seen[name] && (name != "unreadable" || unreadable != nil) {
			t.Errorf("no run here reports %q: add one", name)
		}
	}
}

func TestReportSchemaNamesEveryMember(t *testing.T) {
	text, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	node := func(name string) (n struct {
		Properties map[string]any
		Items      struct{ Properties map[string]any }
		Enum       []string
	},
	) {
		if err := json.Unmarshal(schema.Properties[name], &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	proof := append(jsonNames(reflect.TypeFor[proofJSON]()), jsonNames(reflect.TypeFor[seatbeltProof]())...)
	slices.Sort(proof)
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"an event", slices.Sorted(maps.Keys(schema.Properties)), jsonNames(reflect.TypeFor[event]())},
		{"a proof", slices.Sorted(maps.Keys(node("proof").Properties)), proof},
		{"a denial", slices.Sorted(maps.Keys(node("denials").Items.Properties)), jsonNames(reflect.TypeFor[denialJSON]())},
		{"a skipped root", slices.Sorted(maps.Keys(node("skipped").Items.Properties)), jsonNames(reflect.TypeFor[skipped]())},
		{"modes", node("mode").Enum, modes},
		{"profiles", node("profile").Enum, profile.Names()},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("the schema gives %s the words %q, the program %q", c.what, c.got, c.want)
		}
	}
}

func TestReportSchemaRefuses(t *testing.T) {
	answers(t, "report").refuses(t,
		`{}`,
		`{"schema":2,"event":"started","proof":{"noNewPrivs":true}}`,
		`{"schema":1,"event":"other"}`,
		`{"schema":1,"event":"started"}`,
		`{"schema":1,"event":"started","proof":{}}`,
		`{"schema":1,"event":"started","proof":{"noNewPrivs":false}}`,
		`{"schema":1,"event":"started","proof":{"noNewPrivs":true},"code":1}`,
		`{"schema":1,"event":"started","proof":{"noNewPrivs":true,"denied":{"path":"/x","for":"read"}}}`,
		`{"schema":1,"event":"started","proof":{"noNewPrivs":true,"denied":{"path":"/x","for":"read","errno":"none"}}}`,
		`{"schema":1,"event":"exit","code":7}`,
		`{"schema":1,"event":"exit","code":256,"runnerFailed":false,"denied":"notDenied"}`,
		`{"schema":1,"event":"exit","code":1,"runnerFailed":false,"denied":"denied"}`,
		`{"schema":1,"event":"exit","code":1,"runnerFailed":false,"denied":"denied","denials":[{"path":"/x","for":"read"}]}`,
		`{"schema":1,"event":"exit","code":125,"runnerFailed":true,"denied":"notDenied","reason":"x"}`,
		`{"schema":1,"event":"plan","enforcement":"full"}`,
		`{"schema":1,"event":"plan","enforcement":"none"}`,
		`{"schema":1,"event":"plan","enforcement":"none","reason":"x","backend":"bwrap"}`,
		`{"schema":1,"event":"plan","enforcement":"full","backend":"bwrap","runnerFailed":true}`,
		`{"schema":1,"event":"plan","enforcement":"full","backend":"bwrap","unknown":true}`,
	)
}
