//go:build linux

package main

import (
	"debug/buildinfo"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
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

// takes validates a document, notes its members, and returns it.
func (a *answering) takes(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := a.schema.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	a.note(a.schema, v)
	members, _ := v.(map[string]any)
	return members
}

// refuses fails for each document that the schema takes: one that takes anything
// proves nothing.
func (a *answering) refuses(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if a.schema.Validate(v) == nil {
			t.Errorf("%s takes %s", a.schema.Location, text)
		}
	}
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
			key := s.Location + " " + name
			if !a.seen[key] && !slices.ContainsFunc(but, func(end string) bool { return strings.HasSuffix(key, end) }) {
				t.Errorf("no document here has %s: add one", key)
			}
			walk(of)
		}
	}
	walk(a.schema)
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

// jsonNames are the members that a struct is written with.
func jsonNames(of reflect.Type) []string {
	var names []string
	for f := range of.Fields() {
		if f.Anonymous {
			names = append(names, jsonNames(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The validator is the tests' and no part of the program (docs/decisions/0019).
func TestValidatorIsNotLinked(t *testing.T) {
	info, err := buildinfo.ReadFile(launcher(t))
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the modules of the launcher: %v, %v", info, err)
	}
	for _, dep := range info.Deps {
		if strings.Contains(dep.Path, "jsonschema") || dep.Path == "golang.org/x/text" {
			t.Errorf("the launcher links %s", dep.Path)
		}
	}
}
