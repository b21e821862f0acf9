package jsonline

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestObject(t *testing.T) {
	for _, c := range []struct {
		line string
		want map[string]string // nil: an error
	}{
		{`{}`, map[string]string{}},
		{`{"id":"a","n":1}`, map[string]string{"id": "a", "n": "1"}},
		{" {\"id\" : \"a\"}\n", map[string]string{"id": "a"}},
		{`{"id":"a","ID":"b"}`, map[string]string{"id": "a", "ID": "b"}},
		{`{"id":"a","id":"a"}`, nil},
		{`{"id":"a","\u0069d":"b"}`, nil},
		{`{"id":"\"\\\/\b\f\n\r\t\u0041\u00e9\u00E9\ud83d\ude00é"}`, map[string]string{"id": "\"\\/\b\f\n\r\tAéé😀é"}},
		{`{"id":"\ud83d"}`, map[string]string{"id": "\ufffd"}},
		{`{"id":"\ud83du0041"}`, map[string]string{"id": "\ufffdu0041"}},
		{`{"id":"\ud83dude00"}`, map[string]string{"id": "\ufffdude00"}},
		{`{"id":"\ud83d\u0041"}`, map[string]string{"id": "\ufffdA"}},
		{`{"id":"\ud83d\n"}`, map[string]string{"id": "\ufffd\n"}},
		{`{"id":"\ude00\ud83d"}`, map[string]string{"id": "\ufffd\ufffd"}},
		{`{"n":-0}`, map[string]string{"n": "-0"}},
		{`{"n":10 }`, map[string]string{"n": "10"}},
		{`{"n":01}`, nil},
		{`{"n":-}`, nil},
		{`{"n":+1}`, nil},
		{`{"n":1.0}`, nil},
		{`{"n":1e3}`, nil},
		{`{"n":1x}`, nil},
		{`{"id":"\x41"}`, nil},
		{`{"id":"\u004"}`, nil},
		{`{"id":"\u004g"}`, nil},
		{`{"id":"\`, nil},
		{"{\"id\":\"a\tb\"}", nil},
		{"{\"id\":\"a\x7fb\"}", map[string]string{"id": "a\x7fb"}},
		{`{,"id":"a"}`, nil},
		{`{"id":"a",,"n":1}`, nil},
		{`{"id":"a" "n":1}`, nil},
		{`{"id"}`, nil},
		{`{'id':"a"}`, nil},
		{"\ufeff{}", nil},
		{"\v{}", nil},
		{`{"id":null}`, nil},
		{`{"id":true}`, nil},
		{`{"id":["a"]}`, nil},
		{`{"id":{"a":"b"}}`, nil},
		{`{"id":"a"} x`, nil},
		{`{"id":"a"}{}`, nil},
		{`{"id":"a"`, nil},
		{`{"id":"a",}`, nil},
		{`{"id" "a"}`, nil},
		{`{id:"a"}`, nil},
		{"{\"id\":\"\xff\"}", nil},
		{`["id"]`, nil},
		{`"id"`, nil},
		{``, nil},
	} {
		got, err := Object([]byte(c.line))
		if (err != nil) != (c.want == nil) || !maps.Equal(got, c.want) {
			t.Errorf("Object(%q) = %v, %v, want %v", c.line, got, err, c.want)
		}
	}
}

// What is taken here encoding/json takes too, with the same texts.
func FuzzObject(f *testing.F) {
	f.Add([]byte(`{"id":"a","n":1}`))
	f.Add([]byte(`{"a":"\ud800"}`))
	f.Add([]byte(`{"a":"\ud83d\ude00\ud83dude00\u0041\n","":-0}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := Object(line)
		if err != nil {
			return
		}
		var want map[string]any
		if err := json.Unmarshal(line, &want); err != nil || len(want) != len(got) {
			t.Fatalf("Object(%q) = %v, and encoding/json says %v, %v", line, got, want, err)
		}
		for name, value := range want {
			if text, ok := value.(string); ok && text != got[name] {
				t.Errorf("Object(%q): %q is %q, want %q", line, name, got[name], text)
			}
		}
	})
}
