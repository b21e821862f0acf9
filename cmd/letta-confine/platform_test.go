package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A system without a backend is refused by name, as a failure of the launcher; probe
// answers there. No such system ran this: what its build does with the answer is read
// from the source that it is built from, which make lint vets for four of them.
func TestPlatformUnsupported(t *testing.T) {
	for _, system := range []string{"windows", "freebsd", "openbsd", "netbsd"} {
		err := platformError(system)
		if want := "platform-unsupported: no backend confines commands on " + system; err.Error() != want || hintOf(err) == "" || exitStatus(err) != 125 {
			t.Errorf("%s: %q, the hint %q, status %d, want %q and 125", system, err, hintOf(err), exitStatus(err), want)
		}
	}
	for _, c := range []struct {
		args   []string
		status int
		out    string
	}{
		{nil, probeUnusable, "host: netbsd\nplatform-unsupported: no backend confines commands on netbsd\n  hint: run it on Linux or macOS\n"},
		{[]string{"--deny", "/x", "--require", "any"}, probeUnusable, "host: netbsd\n"},
		{[]string{"--json"}, probeUnusable, `"code": "platform-unsupported"`},
		{[]string{"word"}, 0, ""},
	} {
		var status int
		var err error
		out := stdoutOf(t, func() { status, err = platform("netbsd", 7).print(c.args) })
		if status != c.status || (err != nil) != (c.out == "") || !strings.Contains(out, c.out) {
			t.Errorf("probe %q says %q, status %d, error %v; want %q, %d", c.args, out, status, err, c.out, c.status)
		}
	}

	text, err := os.ReadFile("run_other.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"func confine([]string) (int, error)   { return 0, errPlatform }",
		"func plan([]string) (int, error)      { return 0, errPlatform }",
		"func explain([]string) (int, error)   { return 0, errPlatform }",
		"func probeHost(args []string) (int, error) { return platform(",
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("run_other.go does not say %q", line)
		}
	}
}

// stdoutOf returns what f writes to standard output.
func stdoutOf(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	old := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = old }()
	f()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
