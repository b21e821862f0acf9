package policy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/letta-confine/letta-confine/policy"
)

const schemaFile = "../docs/policy.schema.json"

// looser are the texts that the reader refuses and no schema can: a schema sees
// the values that a text stands for, after another reader has made them.
var looser = map[string]string{
	"field given twice":               "the last one counts elsewhere",
	"field given twice, once escaped": "the last one counts elsewhere",
	"version given twice":             "the last one counts elsewhere",
	"version 1.0":                     "the same number",
	"version 1e0":                     "the same number",
}

func TestSchemaAgreesWithParse(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) (is, known bool) {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			return false, false // no JSON, so no editor asks the schema
		}
		return schema.Validate(v) == nil, true
	}
	asked := 0
	for _, tt := range refused {
		if errors.Is(tt.want, policy.ErrUTF8) {
			continue // the same holds where another reader mends the text
		}
		is, known := valid(tt.text)
		if known {
			asked++
		}
		if _, listed := looser[tt.name]; is != listed {
			t.Errorf("%s: the schema takes it: %v; listed as looser: %v", tt.name, is, listed)
		}
	}
	if asked < 30 {
		t.Errorf("the schema was asked about %d refused texts, want 30 at least", asked)
	}
	for _, tt := range accepted {
		if is, known := valid(tt.text); !is || !known {
			t.Errorf("%s: the schema refuses %q, and the reader takes it", tt.name, tt.text)
		}
	}
}

// An editor offers the members of the reader, and no others.
func TestSchemaNamesEveryMember(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]any }
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&schema); err != nil {
		t.Fatal(err)
	}
	text, err = policy.Policy{}.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(members))
	if !slices.Equal(got, want) {
		t.Errorf("the schema names %q, the reader %q", got, want)
	}
}
