package policy_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

// Beginnings that push what follows to line 2 and 3.
const two, three = "{\n", "{\n\"deniedRoots\": [\n"

var refused = []struct {
	name, text   string
	line, column int
	field        string
	want         error
}{
	// What stands around the object.
	{"empty text", "", 1, 1, "", policy.ErrJSON},
	{"white space alone", " \n\t\n ", 3, 2, "", policy.ErrJSON},
	{"array at the top", `[]`, 1, 1, "", policy.ErrJSON},
	{"string at the top", ` "x"`, 1, 2, "", policy.ErrJSON},
	{"null at the top", `null`, 1, 1, "", policy.ErrJSON},
	{"byte order mark", "\xef\xbb\xbf{}", 1, 1, "", policy.ErrJSON},
	{"text after the object", `{} x`, 1, 4, "", policy.ErrTrailing},
	{"second object", "{}\n{}", 2, 1, "", policy.ErrTrailing},
	{"NUL after the object", "{}\x00", 1, 3, "", policy.ErrTrailing},
	{"closing brace twice", `{}}`, 1, 3, "", policy.ErrTrailing},
	{"line comment", "// c\n{}", 1, 1, "", policy.ErrJSON},
	{"comment in the object", two + `/* c */ }`, 2, 1, "", policy.ErrJSON},
	{"comment after the object", "{} // c", 1, 4, "", policy.ErrTrailing},
	{"vertical tab as white space", "{\v}", 1, 2, "", policy.ErrJSON},
	{"no-break space as white space", "{\u00a0}", 1, 2, "", policy.ErrJSON},

	// Members.
	{"object does not end", `{`, 1, 2, "", policy.ErrJSON},
	{"object does not end after a member", `{"version":1`, 1, 13, "version", policy.ErrJSON},
	{"comma at the start", `{,}`, 1, 2, "", policy.ErrJSON},
	{"trailing comma", `{"version":1,}`, 1, 14, "", policy.ErrJSON},
	{"two commas", `{"version":1,,"deniedRoots":[]}`, 1, 14, "", policy.ErrJSON},
	{"no comma", `{"version":1 "deniedRoots":[]}`, 1, 14, "version", policy.ErrJSON},
	{"no colon", `{"version" 1}`, 1, 12, "version", policy.ErrJSON},
	{"no value", `{"version":}`, 1, 12, "version", policy.ErrType},
	{"name without quotes", `{version:1}`, 1, 2, "", policy.ErrJSON},
	{"name in single quotes", `{'version':1}`, 1, 2, "", policy.ErrJSON},
	{"name is a number", `{1:1}`, 1, 2, "", policy.ErrJSON},
	{"unknown field", two + ` "x": 1}`, 2, 2, "x", policy.ErrUnknownField},
	{"empty name", `{"":1}`, 1, 2, "", policy.ErrUnknownField},
	{"other case", `{"DeniedRoots":[]}`, 1, 2, "DeniedRoots", policy.ErrUnknownField},
	{"other spelling", `{"denied_roots":[]}`, 1, 2, "denied_roots", policy.ErrUnknownField},
	{"letter that folds to s", `{"deniedRoot\u017f":[]}`, 1, 2, "deniedRootſ", policy.ErrUnknownField},
	{"name with a space", `{"deniedRoots ":[]}`, 1, 2, "deniedRoots ", policy.ErrUnknownField},
	{"field given twice", `{"deniedRoots":["/a"],"deniedRoots":[]}`, 1, 23, "deniedRoots", policy.ErrTwice},
	{"field given twice, once escaped", `{"deniedRoots":[],` + "\n" + `  "denied\u0052oots":[]}`, 2, 3, "deniedRoots", policy.ErrTwice},
	{"version given twice", `{"version":1,"version":1}`, 1, 14, "version", policy.ErrTwice},

	// The version.
	{"version 2", `{"version": 2}`, 1, 13, "version", policy.ErrVersion},
	{"version 0", `{"version":0}`, 1, 12, "version", policy.ErrVersion},
	{"version -1", `{"version":-1}`, 1, 12, "version", policy.ErrVersion},
	{"version 1.0", `{"version":1.0}`, 1, 12, "version", policy.ErrType},
	{"version 1e0", `{"version":1e0}`, 1, 12, "version", policy.ErrType},
	{"version 01", `{"version":01}`, 1, 12, "version", policy.ErrVersion},
	{"version in quotes", `{"version":"1"}`, 1, 12, "version", policy.ErrType},
	{"version null", `{"version":null}`, 1, 12, "version", policy.ErrType},
	{"version and a letter", `{"version":1a}`, 1, 12, "version", policy.ErrType},
	{"version is a list", `{"version":[1]}`, 1, 12, "version", policy.ErrType},

	// The switch.
	{"switch null", `{"restrictWrites":null}`, 1, 19, "restrictWrites", policy.ErrType},
	{"switch in quotes", `{"restrictWrites":"true"}`, 1, 19, "restrictWrites", policy.ErrType},
	{"switch as a number", `{"restrictWrites":1}`, 1, 19, "restrictWrites", policy.ErrType},
	{"switch in capitals", `{"restrictWrites":True}`, 1, 19, "restrictWrites", policy.ErrType},
	{"switch with more behind it", `{"restrictWrites":truer}`, 1, 19, "restrictWrites", policy.ErrType},
	{"switch cut off", `{"restrictWrites":tru`, 1, 19, "restrictWrites", policy.ErrType},

	// Lists.
	{"list null", `{"deniedRoots":null}`, 1, 16, "deniedRoots", policy.ErrType},
	{"list is a string", `{"writableRoots":"/a"}`, 1, 18, "writableRoots", policy.ErrType},
	{"list is an object", `{"readonlyRoots":{}}`, 1, 18, "readonlyRoots", policy.ErrType},
	{"path null", `{"deniedRoots":[null]}`, 1, 17, "deniedRoots", policy.ErrType},
	{"path is a number", `{"deniedRoots":["/a", 1]}`, 1, 23, "deniedRoots", policy.ErrType},
	{"path is a list", `{"deniedRoots":[["/a"]]}`, 1, 17, "deniedRoots", policy.ErrType},
	{"trailing comma in a list", `{"deniedRoots":["/a",]}`, 1, 22, "deniedRoots", policy.ErrType},
	{"no comma in a list", three + `"/a"` + "\n" + `"/b"]}`, 4, 1, "deniedRoots", policy.ErrJSON},
	{"list does not end", `{"deniedRoots":["/a"`, 1, 21, "deniedRoots", policy.ErrJSON},
	{"list does not end after a comma", `{"deniedRoots":["/a",`, 1, 22, "deniedRoots", policy.ErrType},

	// Strings.
	{"string does not end", `{"deniedRoots":["/a`, 1, 20, "deniedRoots", policy.ErrJSON},
	{"name does not end", `{"denied`, 1, 9, "", policy.ErrJSON},
	{"newline in a string", "{\"deniedRoots\":[\"/a\n\"]}", 1, 20, "deniedRoots", policy.ErrJSON},
	{"tab in a string", "{\"deniedRoots\":[\"/\t\"]}", 1, 19, "deniedRoots", policy.ErrJSON},
	{"NUL byte in a string", "{\"deniedRoots\":[\"/\x00\"]}", 1, 19, "deniedRoots", policy.ErrJSON},
	{"unknown escape", `{"deniedRoots":["/\x41"]}`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"escape of a single quote", `{"deniedRoots":["/\'"]}`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"escape in capitals", `{"deniedRoots":["/\U0041"]}`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"escape with too few digits", `{"deniedRoots":["/\u41"]}`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"escape with a sign", `{"deniedRoots":["/\u+041"]}`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"escape cut off", `{"deniedRoots":["/\u00`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"backslash at the end", `{"deniedRoots":["/\`, 1, 19, "deniedRoots", policy.ErrJSON},
	{"high surrogate alone", `{"deniedRoots":["/\ud83d"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"high surrogate and a letter", `{"deniedRoots":["/\ud83dx"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"high surrogate and another escape", `{"deniedRoots":["/\ud83d\u0041"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"two high surrogates", `{"deniedRoots":["/\ud83d\ud83d"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"low surrogate alone", `{"deniedRoots":["/\ude00"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"surrogates the wrong way round", `{"deniedRoots":["/\ude00\ud83d"]}`, 1, 19, "deniedRoots", policy.ErrUTF8},
	{"surrogate in a name", `{"\ud83d":1}`, 1, 3, "", policy.ErrUTF8},
	{"byte that is not UTF-8", "{\"deniedRoots\":[\"/a\xff\"]}", 1, 20, "deniedRoots", policy.ErrUTF8},
	{"UTF-8 cut off", "{\"deniedRoots\":[\"/a\xe2\x82\"]}", 1, 20, "deniedRoots", policy.ErrUTF8},
	{"surrogate in UTF-8", "{\"deniedRoots\":[\"/a\xed\xa0\x80\"]}", 1, 20, "deniedRoots", policy.ErrUTF8},
	{"overlong slash", "{\"deniedRoots\":[\"/a\xc0\xaf\"]}", 1, 20, "deniedRoots", policy.ErrUTF8},
	{"not UTF-8 in a name", "{\"\xff\":1}", 1, 3, "", policy.ErrUTF8},
	{"columns are bytes", "{\"deniedRoots\":[\"/é\xff\"]}", 1, 21, "deniedRoots", policy.ErrUTF8},

	// Paths.
	{"empty path", `{"deniedRoots":[""]}`, 1, 17, "deniedRoots", policy.ErrEmpty},
	{"relative path", `{"deniedRoots":["/a","b/c"]}`, 1, 22, "deniedRoots", policy.ErrRelative},
	{"dot", `{"readonlyRoots":["."]}`, 1, 19, "readonlyRoots", policy.ErrRelative},
	{"NUL", `{"deniedRoots":["/a\u0000b"]}`, 1, 17, "deniedRoots", policy.ErrNUL},
	{"home", `{"writableRoots":["~"]}`, 1, 19, "writableRoots", policy.ErrPattern},
	{"below home", `{"writableRoots":["~/x"]}`, 1, 19, "writableRoots", policy.ErrPattern},
	{"tilde inside", `{"writableRoots":["/x~"]}`, 1, 19, "writableRoots", policy.ErrPattern},
	{"variable", `{"baseWritableRoots":["$HOME/x"]}`, 1, 23, "baseWritableRoots", policy.ErrPattern},
	{"variable inside", `{"baseWritableRoots":["/home/$USER"]}`, 1, 23, "baseWritableRoots", policy.ErrPattern},
	{"star", `{"deniedRoots":["/a/*"]}`, 1, 17, "deniedRoots", policy.ErrPattern},
	{"question mark", `{"deniedRoots":["/a?"]}`, 1, 17, "deniedRoots", policy.ErrPattern},
	{"bracket", `{"deniedRoots":["/[ab]"]}`, 1, 17, "deniedRoots", policy.ErrPattern},
	{"star written as an escape", `{"deniedRoots":["/a/\u002a"]}`, 1, 17, "deniedRoots", policy.ErrPattern},
	{"third line", three + "  \"/ok\", \"rel\"]}", 3, 10, "deniedRoots", policy.ErrRelative},
	{"lines end with a line feed alone", "{\r\n\r\"x\":1}", 2, 2, "x", policy.ErrUnknownField},
	{"far down", "{" + strings.Repeat("\n", 5000) + strings.Repeat(" ", 70) + `"x":1}`, 5001, 71, "x", policy.ErrUnknownField},
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range refused {
		t.Run(tt.name, func(t *testing.T) {
			p, err := policy.Parse([]byte(tt.text))
			var syntax *policy.SyntaxError
			if !errors.Is(err, tt.want) || !errors.As(err, &syntax) {
				t.Fatalf("Parse error = %v, want %v", err, tt.want)
			}
			if syntax.Line != tt.line || syntax.Column != tt.column || syntax.Field != tt.field {
				t.Errorf("error at %d:%d of field %q, want %d:%d of %q (%v)",
					syntax.Line, syntax.Column, syntax.Field, tt.line, tt.column, tt.field, err)
			}
			if !reflect.DeepEqual(p, policy.Policy{}) {
				t.Errorf("Parse returns %+v with its error", p)
			}
		})
	}
}

var accepted = []struct {
	name, text string
	want       policy.Policy
}{
	{"empty object", `{}`, policy.Policy{}},
	{"white space around everything", " \t\r\n{ \n} \n", policy.Policy{}},
	{"version alone", `{"version":1}`, policy.Policy{}},
	{"switch off", `{"restrictWrites":false}`, policy.Policy{}},
	{"empty lists", `{"deniedRoots":[],"writableRoots":[ ]}`, policy.Policy{}},
	{
		"every field, in any order", `{
  "restrictWrites": true,
  "writableRoots": ["/w"], "readonlyRoots": ["/r"],
  "deniedRoots": ["/d", "/e"], "baseWritableRoots": ["/b"], "version": 1 }`,
		policy.Policy{
			BaseWritable: []string{"/b"}, Denied: []string{"/d", "/e"},
			ReadOnly: []string{"/r"}, Writable: []string{"/w"}, RestrictWrites: true,
		},
	},
	{"short escapes", `{"deniedRoots":["\/\"\\\b\f\n\r\t"]}`, policy.Policy{Denied: []string{"/\"\\\b\f\n\r\t"}}},
	{"escapes by number", `{"deniedRoots":["\u002f\u00e9\u00E9\u20ac"]}`, policy.Policy{Denied: []string{"/éé€"}}},
	{"surrogate pair", `{"deniedRoots":["/\ud83d\ude00\uD83D\uDE00"]}`, policy.Policy{Denied: []string{"/😀😀"}}},
	{"last code point", `{"deniedRoots":["/\udbff\udfff"]}`, policy.Policy{Denied: []string{"/\U0010ffff"}}},
	{"replacement character that was meant", "{\"deniedRoots\":[\"/\ufffd\\ufffd\"]}", policy.Policy{Denied: []string{"/\ufffd\ufffd"}}},
	{"UTF-8 as it stands", `{"deniedRoots":["/é€😀` + "\u2028\x7f" + `"]}`, policy.Policy{Denied: []string{"/é€😀\u2028\x7f"}}},
	{"field name written with an escape", `{"denied\u0052oots":["/a"]}`, policy.Policy{Denied: []string{"/a"}}},
	{"duplicates and dots are kept as written", `{"deniedRoots":["/a","/a","//a/../b/."]}`, policy.Policy{Denied: []string{"/a", "/a", "//a/../b/."}}},
	{"characters that no shell expands in mid-word", `{"deniedRoots":["/a b{c}!#&;'%^]"]}`, policy.Policy{Denied: []string{"/a b{c}!#&;'%^]"}}},
}

func TestParse(t *testing.T) {
	for _, tt := range accepted {
		t.Run(tt.name, func(t *testing.T) {
			got, err := policy.Parse([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Parse = %+v, want %+v", got, tt.want)
			}
			checkAgainstStandard(t, []byte(tt.text), got)
		})
	}
}

// checkAgainstStandard reads text with encoding/json, which must accept all that
// Parse accepts and find the same in it.
func checkAgainstStandard(t *testing.T, text []byte, got policy.Policy) {
	t.Helper()
	var want struct {
		Version           *int
		BaseWritableRoots []string
		DeniedRoots       []string
		ReadonlyRoots     []string
		WritableRoots     []string
		RestrictWrites    bool
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	if want.Version != nil && *want.Version != policy.Version {
		t.Errorf("encoding/json finds version %d in %q", *want.Version, text)
	}
	sameList := func(l policy.List, want []string) {
		if len(got.Roots(l)) != len(want) || len(want) > 0 && !reflect.DeepEqual(got.Roots(l), want) {
			t.Errorf("%v of %q = %q, want %q", l, text, got.Roots(l), want)
		}
	}
	sameList(policy.BaseWritable, want.BaseWritableRoots)
	sameList(policy.Denied, want.DeniedRoots)
	sameList(policy.ReadOnly, want.ReadonlyRoots)
	sameList(policy.Writable, want.WritableRoots)
	if got.RestrictWrites != want.RestrictWrites {
		t.Errorf("restrictWrites of %q = %v, want %v", text, got.RestrictWrites, want.RestrictWrites)
	}
}

func TestSyntaxErrorTexts(t *testing.T) {
	for _, tt := range []struct{ text, want, hint string }{
		{`{"DeniedRoots":[]}`, `1:2: DeniedRoots: unknown field`, `write "deniedRoots"`},
		{`{"denied":[]}`, `1:2: denied: unknown field`, `write "deniedRoots"`},
		{`{"x":1}`, `1:2: x: unknown field`, "the fields are version, restrictWrites, baseWritableRoots, deniedRoots, readonlyRoots, writableRoots"},
		{`[]`, `1:1: not valid JSON: want { and found '['`, "a policy is one JSON object"},
		{``, `1:1: not valid JSON: want { and found the end of the text`, "a policy is one JSON object"},
		{`{"version":2}`, `1:12: version: unknown version 2`, "this program knows version 1"},
		{`{"deniedRoots":["~/x"]}`, `1:17: deniedRoots: "~/x": path holds a character that is never expanded`, "write out the home directory: ~ is not expanded in a policy"},
		{
			`{"deniedRoots":["/a*"]}`, `1:17: deniedRoots: "/a*": path holds a character that is never expanded`,
			"name each path in full; a name that really holds * can be given by a flag, where it is taken literally",
		},
	} {
		_, err := policy.Parse([]byte(tt.text))
		var syntax *policy.SyntaxError
		if !errors.As(err, &syntax) || err.Error() != tt.want || syntax.Hint() != tt.hint {
			t.Errorf("Parse(%s) = %v, hint %q, want %s, hint %q", tt.text, err, syntax.Hint(), tt.want, tt.hint)
		}
	}
}

func TestAppendJSON(t *testing.T) {
	p := policy.Policy{
		BaseWritable: []string{"/b"}, Denied: []string{"/d\n\"\\", "/é\x7f"}, Writable: []string{"/w"}, RestrictWrites: true,
	}
	const want = `x{"version":1,"baseWritableRoots":["/b"],"deniedRoots":["/d\u000a\"\\","/é\u007f"],"readonlyRoots":[],"writableRoots":["/w"],"restrictWrites":true}`
	got, err := p.AppendJSON([]byte("x"))
	if err != nil || string(got) != want {
		t.Errorf("AppendJSON = %s, %v, want %s", got, err, want)
	}
	for path, want := range map[string]error{
		"/\xff": policy.ErrUTF8, "/a*": policy.ErrPattern, "/\x00": policy.ErrNUL, "a": policy.ErrRelative, "": policy.ErrEmpty,
	} {
		for _, l := range policy.Lists() {
			_, err := listed(l, "/ok", path).AppendJSON(nil)
			var root *policy.RootError
			if !errors.Is(err, want) || !errors.As(err, &root) {
				t.Errorf("AppendJSON of %q = %v, want %v", path, err, want)
				continue
			}
			if root.List != l || root.Path != path || root.Hint() == "" {
				t.Errorf("error is about %v %q with hint %q, want %v %q with one", root.List, root.Path, root.Hint(), l, path)
			}
		}
	}
}
