//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/letta-confine/letta-confine/probe"
)

// answering holds a schema to what the program prints: every document is one that the
// schema describes, and at the end every member of the schema was in one.
type answering struct {
	schema *jsonschema.Schema
	seen   map[string]bool
}

func answers(t *testing.T, name string) *answering {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return &answering{schema, map[string]bool{}}
}

// takes validates a document, and notes its members.
func (a *answering) takes(t *testing.T, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := a.schema.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	a.note(a.schema, v)
}

// note follows a value and its schema side by side.
func (a *answering) note(s *jsonschema.Schema, v any) {
	for ; s != nil && s.Ref != nil; s = s.Ref {
	}
	if s == nil {
		return
	}
	for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		if one.Validate(v) == nil {
			a.note(one, v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if of, ok := s.Properties[name]; ok {
				a.seen[s.Location+" "+name] = true
				a.note(of, value)
			}
		}
	case []any:
		for _, value := range v {
			a.note(s.Items2020, value)
		}
	}
}

// shown fails for each member that no document had.
func (a *answering) shown(t *testing.T, but ...string) {
	t.Helper()
	visited := map[*jsonschema.Schema]bool{}
	var walk func(s *jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil || visited[s] {
			return
		}
		visited[s] = true
		walk(s.Ref)
		walk(s.Items2020)
		for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			walk(one)
		}
		for name, of := range s.Properties {
			if key := s.Location + " " + name; !a.seen[key] && !slices.Contains(but, name) {
				t.Errorf("no document here has %s: add one", key)
			}
			walk(of)
		}
	}
	walk(a.schema)
}

// printed runs the launcher, and returns what it said on standard output; its status
// is part of the answer.
func printed(t *testing.T, dir, stdin string, env []string, status int, args ...string) string {
	t.Helper()
	run := exec.Command(launcher(t), args...)
	run.Dir, run.Stdin = dir, strings.NewReader(stdin)
	run.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	run.Stderr = &stderr
	out, err := run.Output()
	if _, ended := errors.AsType[*exec.ExitError](err); (err != nil && !ended) || run.ProcessState.ExitCode() != status {
		t.Fatalf("%q: %v, want the status %d\n%s", args, err, status, &stderr)
	}
	return string(out)
}

// members fails where a schema's definition and the program's type differ.
func members(t *testing.T, schema string, want map[string]reflect.Type) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + schema + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type object struct{ Properties map[string]any }
	var read struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for name, of := range want {
		at := read.object
		if name != "" {
			at = read.Defs[name]
		}
		got, want := slices.Sorted(maps.Keys(at.Properties)), slices.DeleteFunc(jsonNames(of), func(name string) bool { return name == "-" })
		if !slices.Equal(got, want) {
			t.Errorf("%s gives %q the members %q, the program %q", schema, name, got, want)
		}
	}
}

func TestProbeMeetsTheSchema(t *testing.T) {
	need(t, "bwrap")
	need(t, "landlock")
	a := answers(t, "probe")
	dir := t.TempDir()
	secret, mine := filepath.Join(dir, "secret"), filepath.Join(dir, "bwrap")
	if err := errors.Join(os.Mkdir(secret, 0o700), os.WriteFile(mine, []byte("#!/bin/sh\n"), 0o777), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	a.takes(t, printed(t, dir, "", nil, probeFull, "probe", "--json"))
	a.takes(t, printed(t, dir, "", nil, probeFull, "doctor", "--json", "--restrict-writes", "--deny", secret))
	a.takes(t, printed(t, dir, "", nil, probePartial, "probe", "--json", "--bwrap", mine))
	a.takes(t, printed(t, dir, "", nil, probeUnusable, "probe", "--json", "--probe-timeout", "1us"))
	a.takes(t, printed(t, dir, "", nil, probeUnusable, "probe", "--json", "--mode", danger))
	a.takes(t, printed(t, dir, "", []string{"LETTA_FS_SANDBOX=0", "container=podman"}, probeFull, "probe", "--json"))

	// Other systems and hosts, as they answer.
	other := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		a.takes(t, string(text))
	}
	for _, system := range []string{"windows", "freebsd", "openbsd", "netbsd"} {
		other(platform(system, -1))
	}
	other(probeAnswer{schemaVersion, probe.Host{System: "linux", LSM: []string{"landlock"}, WSL: 2}, []probed{{
		Backend: "bwrap", Enforcement: "unusable", Code: "bwrap-userns-denied", Cause: "limit", Reason: "x",
		Steps: []probe.Result{{Step: "x", Reason: "x", Hint: "x"}},
	}}})
	a.shown(t, "lsmError", "container") // a host need not have either
	members(t, "probe", map[string]reflect.Type{
		"backend": reflect.TypeFor[probed](), "policy": reflect.TypeFor[held](), "step": reflect.TypeFor[probe.Result](),
	})
}

// The codes of the schema are those that the program has, and no source has another.
func TestCodes(t *testing.T) {
	text, err := os.ReadFile("../../docs/probe.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range slices.Concat(probe.Codes, probe.Causes, []string{platformUnsupported}) {
		if !strings.Contains(string(text), `"`+code+`"`) {
			t.Errorf("the schema does not know %q", code)
		}
	}
	word := regexp.MustCompile(`"((?:bwrap|landlock|seatbelt|policy|probe)-[a-z-]+)"`)
	notCodes := []string{"bwrap-argv", "landlock-run", "probe-stage", "probe-timeout", "seatbelt-stage"}
	for _, m := range word.FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(probe.Codes, m[1]) {
			t.Errorf("the schema has %q, which is no code", m[1])
		}
	}
	for _, dir := range []string{".", "../../probe"} {
		for _, file := range sources(t, dir) {
			for _, m := range word.FindAllStringSubmatch(file.text, -1) {
				if !slices.Contains(probe.Codes, m[1]) && !slices.Contains(notCodes, m[1]) {
					t.Errorf("%s has %q, which is not in probe.Codes", file.name, m[1])
				}
			}
		}
	}
}

// A schema that takes anything proves nothing.
func TestAnswerSchemasRefuse(t *testing.T) {
	for name, texts := range map[string][]string{
		"probe": {
			`{}`,
			`{"schema":2,"system":"linux","uid":0,"backends":[]}`,
			`{"schema":1,"system":"linux","uid":0,"backends":[],"more":1}`,
			`{"schema":1,"system":"windows","uid":-1,"backends":[],"code":"platform-unsupported"}`,
			`{"schema":1,"system":"windows","uid":-1,"backends":[],"reason":"x"}`,
			`{"schema":1,"system":"linux","uid":0,"backends":[{"backend":"bwrap","usable":true,"enforcement":"full"}]}`,
			`{"schema":1,"system":"linux","uid":0,"backends":[{"backend":"bwrap","usable":false,"enforcement":"unusable"}]}`,
			`{"schema":1,"system":"linux","uid":0,"backends":[{"backend":"bwrap","usable":false,"enforcement":"full","code":"bwrap-missing","reason":"x"}]}`,
			`{"schema":1,"system":"linux","uid":0,"backends":[{"backend":"bwrap","usable":false,"enforcement":"unusable","code":"bwrap-other","reason":"x"}]}`,
		},
	} {
		schema := answers(t, name).schema
		for _, text := range texts {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(v) == nil {
				t.Errorf("the schema of %s takes %s", name, text)
			}
		}
	}
}
