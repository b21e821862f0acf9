package credential

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What finds secrets must not be able to look for them itself.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"errors", "fmt", "maps", "slices", "strconv", "strings", "unicode/utf8"}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("credential imports %q; allowed are %q", imp, allowed)
		}
	}
}

func TestResolve(t *testing.T) {
	broken := errors.New("broken")
	file := func(layer Layer, value string) Source {
		return Source{layer, "/" + string(layer), func() (map[string]string, error) {
			if value == "broken" {
				return nil, broken
			}
			return map[string]string{"REF": value}, nil
		}}
	}
	for _, c := range []struct {
		name, env, store, project, user string
		want                            string
		layer                           Layer
		err                             error
	}{
		{"the environment goes first", "e", "s", "p", "u", "e", Environment, nil},
		{"an empty variable falls through", "", "s", "p", "u", "s", Store, nil},
		{"an empty value in the store falls through", "", "", "p", "u", "p", Project, nil},
		{"an empty value in the project's file falls through", "", "", "", "u", "u", User, nil},
		{"nothing", "", "", "", "", "", "", ErrUnresolved},
		{"what the environment has needs no store", "e", "broken", "p", "u", "e", Environment, nil},
		{"a broken store ends the search", "", "broken", "p", "u", "", "", broken},
		{"a broken project file ends the search", "", "", "broken", "u", "", "", broken},
		{"a broken file behind the answer is not looked at", "", "s", "broken", "broken", "s", Store, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := []Source{file(Store, c.store), file(Project, c.project), file(User, c.user)}
			got, from, err := Resolve("REF", func(string) string { return c.env }, files)
			if got != c.want || !errors.Is(err, c.err) || err == nil && from.Layer != c.layer {
				t.Errorf("Resolve = %q from %q, %v, want %q from %q, %v", got, from.Layer, err, c.want, c.layer, c.err)
			}
			if err != nil && !strings.Contains(err.Error(), `"REF"`) {
				t.Errorf("the error %q does not name the reference", err)
			}
		})
	}
}

func TestParsePair(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"A=B", true},
		{"_a1=b_2", true},
		{"GH_TOKEN=GIT_TOKEN", true},
		{"A=GIT_PASSWORD", true},
		{"LETTA_API_KEY=X", true},
		{"", false},
		{"A", false},
		{"A=", false},
		{"=B", false},
		{"1A=B", false},
		{"A=1B", false},
		{"A=B=C", false},
		{"A=sk-s3cret", false},
		{"A B=C", false},
		{"Ä=B", false},
		{"A=B\n", false},
		{"LD_PRELOAD=X", false},
		{"A=LD_PRELOAD", false},
		{"path=X", false},
		{"https_proxy=X", false},
		{"BASH_ENV=X", false},
	} {
		_, _, err := ParsePair(c.text)
		if (err == nil) != c.ok {
			t.Errorf("ParsePair(%q): %v, want ok %v", c.text, err, c.ok)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("ParsePair(%q) repeats what may be a value: %v", c.text, err)
		}
	}
}

func TestForbidden(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "ld_preload", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GLIBC_TUNABLES",
		"BASH_ENV", "ENV", "SHELL", "IFS", "PS4", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_ls", "PROMPT_COMMAND", "ZDOTDIR", "CDPATH",
		"PATH", "Path", "HOME", "TMPDIR", "XDG_CONFIG_HOME", "DSH_HOME",
		"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "ftp_proxy", "npm_config_proxy",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "PERL5OPT", "PERL5LIB", "RUBYOPT",
		"RUBYLIB", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "GIT_ASKPASS", "GIT_EXEC_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
		"EDITOR", "VISUAL", "PAGER", "BROWSER", "SSH_ASKPASS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LETTA_SANDBOX", "LETTA_CONFINE",
	} {
		if !Forbidden(name) {
			t.Errorf("a .env file may set %s", name)
		}
		if _, err := ParseEnv([]byte("A=b\n" + name + "=/x\n")); err == nil {
			t.Errorf("a .env file that sets %s is read", name)
		}
	}
	for _, name := range []string{"GITHUB_TOKEN", "GIT_TOKEN", "OPENAI_API_KEY", "LETTA_API_KEY", "DATABASE_URL", "NODE_ENV", "NODE_AUTH_TOKEN", "CARGO_REGISTRY_TOKEN", "PGPASSWORD", "ENVIRONMENT", "PROXY_PASSWORD"} {
		if Forbidden(name) {
			t.Errorf("a .env file may not set %s", name)
		}
	}
}

// read is what a parser made of a text, or the line that it refuses.
func read(parse func([]byte) (map[string]string, error), text string) string {
	refs, err := parse([]byte(text))
	if at, ok := errors.AsType[*lineError](err); ok {
		return fmt.Sprintf("line %d", at.line)
	}
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		out = append(out, name+"="+refs[name])
	}
	return strings.Join(out, "|")
}

func TestParseEnv(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a value", "A=b", "A=b"},
		{"two lines", "A=b\nC=d\n", "A=b|C=d"},
		{"carriage returns", "A=b\r\nC='d'\r\n\r\n", "A=b|C=d"},
		{"export", "export A=b", "A=b"},
		{"indented", "  A=b", "A=b"},
		{"comments", "# A=x\nA=b # c\n  # d", "A=b"},
		{"an empty value", "A=\nB=''", "A=|B="},
		{"a URL", "A=postgres://u:p@h:5/d?x=1&y=(2)", "A=postgres://u:p@h:5/d?x=1&y=(2)"},
		{"an equals sign", "A=b=c", "A=b=c"},
		{"single quotes hold all", `A='$b "c" #d \n'`, `A=$b "c" #d \n`},
		{"double quotes", `A="b c # d 'e'"`, "A=b c # d 'e'"},
		{"a newline in double quotes", `A="b\nc"`, "A=b\nc"},
		{"lines in quotes", "A='b\nc'\nD=e", "A=b\nc|D=e"},
		{"a comment behind quotes", "A='b' # c", "A=b"},

		{"an expansion", "X=y\nA=$X", "line 2"},
		{"an expansion in double quotes", `A="${X}"`, "line 1"},
		{"a command", "A=`id`", "line 1"},
		{"a command in double quotes", "A=\"`id`\"", "line 1"},
		{"a backslash", `A=a\b`, "line 1"},
		{"an escape in double quotes", `A="a\tb"`, "line 1"},
		{"an escaped quote", `A="a\"b"`, "line 1"},
		{"a number sign in a bare value", "A=b#c", "line 1"},
		{"a quote in a bare value", "A=b'c'", "line 1"},
		{"something behind quotes", "A='b'c", "line 1"},
		{"a number sign right behind quotes", "A='b'#c", "line 1"},
		{"two words", "A=b c", "line 1"},
		{"a blank before the equals sign", "A =b", "line 1"},
		{"a blank behind it", "A= b", "line 1"},
		{"no equals sign", "A=b\nexport A", "line 2"},
		{"a name that is none", "A-B=c", "line 1"},
		{"an open quote", "A=b\nC='d\n\n", "line 2"},
		{"the same name twice", "A=b\nA=c", "line 2"},
		{"a NUL", "A=b\x00", "line 1"},
		{"a NUL in quotes", "A='b\x00'", "line 1"},
		{"a byte order mark", "\ufeffA=b", "line 1"},
		{"a lone return", "A=b\rC=d", "line 1"},
		{"the loader", "A=b\nLD_PRELOAD=/x.so", "line 2"},
		{"a shell", "export BASH_ENV=/x", "line 1"},
		{"the line behind lines in quotes", "A='b\nc'\nD=$e", "line 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := read(ParseEnv, c.text); got != c.want {
				t.Errorf("ParseEnv(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestParseStore(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no references", "version: 1\nrefs: {}\n", ""},
		{"DSH's form", "version: 1\nrefs:\n  A: sk-b\n  C: d\n", "A=sk-b|C=d"},
		{"the first form of DSH", "A: b\n# c\nD: 'e'\n", "A=b|D=e"},
		{"records are passed over", "version: 1\nrefs:\n  A: b\nrecords:\n  x/y:\n    kind: grant\n    payload: {\"A\":\"z\"}\n", "A=b"},
		{"records before", "version: 1\nrecords:\n  x/y:\n    A: z\nrefs:\n  A: b\n", "A=b"},
		{"another indentation", "version: 1\nrefs:\n    A: b\n    C: d\n", "A=b|C=d"},
		{"carriage returns", "version: 1\r\nrefs:\r\n  A: b\r\n", "A=b"},
		{"single quotes", "version: 1\nrefs:\n  A: 'b''c # \\n'\n", `A=b'c # \n`},
		{"double quotes", `A: "b\"c\\d\ne\u00e4/\/"`, "A=b\"c\\d\neä//"},
		{"comments", "A: b # c\nD: \"e\" # f\n", "A=b|D=e"},
		{"a number sign inside", "A: b#c", "A=b#c"},
		{"a number in quotes", `A: "123"`, "A=123"},
		{"an empty value", `A: ""`, "A="},
		{"a colon inside", "A: http://u:p@h", "A=http://u:p@h"},

		{"another version", "version: 2\nrefs:\n  A: b\n", "line 1"},
		{"no version", "refs:\n  A: b\n", "line 3"},
		{"no value", "A:", "line 1"},
		{"null", "A: ~", "line 1"},
		{"a number", "A: 123", "line 1"},
		{"a float", "A: 1e5", "line 1"},
		{"a boolean", "A: True", "line 1"},
		{"a block", "A: |\n  b\n", "line 1"},
		{"an anchor", "A: &x b", "line 1"},
		{"an alias", "A: *x", "line 1"},
		{"a tag", "A: !!binary b", "line 1"},
		{"a map", "A: {b: c}", "line 1"},
		{"a list", "A: [b]", "line 1"},
		{"a document mark", "---\nA: b", "line 1"},
		{"a tab", "version: 1\nrefs:\n\tA: b", "line 3"},
		{"deeper", "version: 1\nrefs:\n  A: b\n    C: d\n", "line 4"},
		{"indented without refs", "  A: b\n", "line 1"},
		{"a value that goes on", "A: b\n  c\n", "line 2"},
		{"an open quote", `A: "b`, "line 1"},
		{"something behind quotes", `A: "b" c`, "line 1"},
		{"an unknown escape", `A: "\x41"`, "line 1"},
		{"half of a pair", `A: "\ud83d\ude00"`, "line 1"},
		{"a NUL", `A: "\u0000"`, "line 1"},
		{"the same name twice", "A: b\nA: c", "line 2"},
		{"the same name twice in refs", "version: 1\nrefs:\n  A: b\n  A: c", "line 4"},
		{"refs twice", "version: 1\nrefs:\n  A: b\nrefs:\n  B: c", "line 4"},
		{"both forms", "version: 1\nrefs:\n  A: b\nC: d\n", "line 4"},
		{"both forms, the other way", "C: d\nrefs:\n  A: b\n", "line 2"},
		{"a name that is none", "a/b: c", "line 1"},
		{"no colon", "A", "line 1"},
		{"no blank", "A:b", "line 1"},
		{"a merge", "<<: b", "line 1"},
		{"not UTF-8", "A: \xff", "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := read(ParseStore, c.text); got != c.want {
				t.Errorf("ParseStore(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func FuzzStore(f *testing.F) {
	f.Add("A", "v", "B", "w\n\"\\\t\u2028")
	f.Fuzz(func(t *testing.T, a, v, b, w string) {
		refs := map[string]string{a: v, b: w}
		for name, value := range refs {
			if !ValidName(name) || strings.ToValidUTF8(value, "") != value || strings.IndexByte(value, 0) >= 0 {
				t.Skip("no name, or no text that a store holds")
			}
		}
		if got, err := ParseStore(FormatStore(refs)); err != nil || !maps.Equal(got, refs) {
			t.Errorf("what was written for %q is read as %q, %v", refs, got, err)
		}
	})
}

// No error of a parser holds any of the text.
func FuzzErrors(f *testing.F) {
	for _, text := range []string{"A=%", "A='%", "A: %", "A: \"%", "A: b\n  %", "%", "version: 1\nrefs:\n  %", "%=", "%: %", "LD_%=", "%=a\n%=b", "%: a\n%: b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const value = "Zq7"
		text = strings.ReplaceAll(text, "%", value)
		for _, parse := range []func([]byte) (map[string]string, error){ParseEnv, ParseStore} {
			if _, err := parse([]byte(text)); err != nil && strings.Contains(err.Error(), value) {
				t.Errorf("the error %q of %q holds a value", err, text)
			}
		}
	})
}
