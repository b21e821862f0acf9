//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const planSchema = "../../docs/plan.schema.json"

// validPlan checks a document and notes which members it and its backends have.
func validPlan(t *testing.T, schema *answering, text string, seen map[string]bool) map[string]any {
	t.Helper()
	doc := schema.takes(t, text)
	note := func(prefix string, of any) {
		members, _ := of.(map[string]any)
		for name := range members {
			seen[prefix+name] = true
		}
	}
	note("", doc)
	note("inputs.", doc["inputs"])
	list, _ := doc["backends"].([]any)
	for _, b := range list {
		note("backends.", b)
		note("environment.", b.(map[string]any)["environment"])
	}
	return doc
}

// Every plan of every backend is one that the schema describes; Seatbelt's, on which
// nothing runs here, with a stand-in.
func TestPlansMeetTheSchema(t *testing.T) {
	schema := answers(t, "plan")
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.Mkdir(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	policyFile := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(policyFile, []byte(`{"deniedRoots":["`+secret+`"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	restricted := []string{"--restrict-writes", "--writable", dir, "--deny", secret}
	seen := map[string]bool{}
	run := func(t *testing.T, args ...string) map[string]any {
		t.Helper()
		cmd := exec.Command(launcher(t), append([]string{"plan", "--json"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SOME_TOKEN=x", "TMPDIR="+dir, "DSH_PERMISSION_MODE=")
		cmd.Stdin = strings.NewReader(`{"deniedRoots":["` + secret + `"]}`)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, &stderr)
		}
		return validPlan(t, schema, stdout.String(), seen)
	}
	for _, backend := range []string{"bwrap", "landlock"} {
		t.Run(backend, func(t *testing.T) {
			need(t, backend)
			for _, args := range [][]string{
				restricted,
				append(slices.Clone(restricted), "--scrub-env", "--env", "A=b", "--env", "B_TOKEN=hunter2"),
				append(slices.Clone(restricted), "--writable", dir+"/gone", "--deny", dir+"/made"),
				{"--policy", policyFile},
				{"--policy", "-"},
				{"--mode", "read-only"},
				{"--preset", "workspace-write"},
				{"--mode=env", "--default-mode", "read-only"},
				{"--tmp", "private"},
				{"--credential", "A=SOME_TOKEN"},
				{"--profile", "workspace", "--isolation-root", filepath.Dir(dir)},
			} {
				run(t, append(append([]string{"--backend", backend}, args...), "--", "true", "--token=hunter2")...)
			}
		})
	}
	t.Run("exec-argv", func(t *testing.T) {
		need(t, "bwrap")
		doc := run(t, append(slices.Clone(restricted), "--exec-argv", "--scrub-env", "--", "true", "--token=hunter2")...)
		argv, _ := doc["execArgv"].([]any)
		if len(argv) == 0 || argv[len(argv)-1] != "--token=hunter2" {
			t.Errorf("execArgv is %q, which does not end as the command does", argv)
		}
		if command, _ := doc["command"].([]any); len(command) != 2 || command[1] != "--token=***" {
			t.Errorf("command is %q", command)
		}
	})
	t.Run("nothing to restrict", func(t *testing.T) { run(t, "--mode", "danger-full-access", "--", "true") })
	t.Run("seatbelt", func(t *testing.T) {
		for _, extra := range [][]string{nil, {"--exec-argv"}} {
			m := newMac(t, apply)
			got := m.run(t, slices.Concat([]string{"plan", "--json"}, extra, writes, []string{"--deny", "%D/secret", "--", "true"})...)
			if got.status != 0 {
				t.Fatalf("%+v", got)
			}
			doc := validPlan(t, schema, got.stdout, seen)
			if _, ok := doc["execArgv"]; ok != (extra != nil) {
				t.Errorf("execArgv is there: %v", ok)
			}
		}
	})
	if facilities["bwrap"]() != nil || facilities["landlock"]() != nil {
		return
	}
	for _, of := range planMembers() {
		for _, name := range of.names {
			if !seen[of.prefix+name] && !slices.Contains(of.never, name) {
				t.Errorf("no run here has the member %q: add one", of.prefix+name)
			}
		}
	}
}

// planMembers are the members that each part of a plan is written with. Never are
// those of an event that no plan has, and of a backend that failed.
func planMembers() []struct {
	prefix       string
	names, never []string
} {
	return []struct {
		prefix       string
		names, never []string
	}{
		{"", jsonNames(reflect.TypeFor[planDocument]()), nil},
		{"inputs.", jsonNames(reflect.TypeFor[planInputs]()), nil},
		{"backends.", jsonNames(reflect.TypeFor[planJSON]()), []string{"reason", "created", "proof", "code", "runnerFailed", "denied", "denials", "unreadable", "stage", "passedOver", "widened", "outcome", "error"}},
		{"environment.", jsonNames(reflect.TypeFor[envJSON]()), nil},
	}
}

func TestPlanSchemaNamesEveryMember(t *testing.T) {
	text, err := os.ReadFile(planSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Properties map[string]any }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{
		"":             slices.Collect(maps.Keys(schema.Defs["plan"].Properties)),
		"inputs.":      slices.Collect(maps.Keys(schema.Defs["inputs"].Properties)),
		"backends.":    slices.Collect(maps.Keys(schema.Defs["backend"].Properties)),
		"environment.": slices.Collect(maps.Keys(schema.Defs["backend"].Properties["environment"].Properties)),
	}
	for _, of := range planMembers() {
		want := slices.DeleteFunc(of.names, func(name string) bool { return name != "error" && slices.Contains(of.never, name) })
		if names := slices.Sorted(slices.Values(got[of.prefix])); !slices.Equal(names, want) {
			t.Errorf("the schema gives %q the members %q, the program %q", of.prefix, names, want)
		}
	}
}

func TestPlanSchemaRefuses(t *testing.T) {
	schema := answers(t, "plan")
	m := newMac(t, apply)
	got := m.run(t, slices.Concat([]string{"plan", "--json", "--exec-argv"}, writes, []string{"--", "true"})...)
	for _, swap := range [][2]string{
		{`"schema": 1,`, `"schema": 2,`},
		{`"fingerprint": "fnv1a`, `"fingerprint": "x`},
		{`"notes"`, `"note"`},
		{`"chosen": true`, `"chosen": "yes"`},
		{`"default": "read"`, `"default": "all"`},
		{`"kind": "directory"`, `"kind": "missing"`},
		{`"uid": `, `"uid": -1, "gid": `},
	} {
		text := strings.Replace(got.stdout, swap[0], swap[1], 1)
		if text == got.stdout {
			t.Fatalf("the plan has no %s\n%s", swap[0], text)
		}
		schema.refuses(t, text)
	}
	schema.refuses(t, `{}`, `{"schema":1,"enforcement":"full","reason":"x"}`, `{"schema":1,"enforcement":"none"}`)
}
