//go:build linux || darwin

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/golden"
)

func TestSeatbeltExitStatus(t *testing.T) {
	const unavailable = "letta-confine: error: no backend can confine this command: seatbelt: "
	for _, c := range []struct {
		name, script string
		flags, argv  []string
		status       int
		stderr       string // what it begins with; "" is silence
	}{
		{"success", apply, nil, []string{"true"}, 0, ""},
		{"the command's own status", apply, nil, []string{"sh", "-c", "exit 7"}, 7, ""},
		{"the command's own 65", apply, nil, []string{"sh", "-c", "exit 65"}, 65, ""},
		{"the command's own 71", apply, nil, []string{"sh", "-c", "exit 71"}, 71, ""},
		{"a signal", apply, nil, []string{"sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		{"not found", apply, nil, []string{"/no/such"}, 127, `letta-confine: error: command "/no/such" not found`},
		{"cannot run", apply, nil, []string{"/etc/hosts"}, 126, `letta-confine: error: command "/etc/hosts" cannot run`},
		{"no interpreter", apply, nil, []string{"%D/script"}, 127, `letta-confine: error: command "`},
		{"profile refused", refuse, nil, []string{"sh", "-c", "echo ran >&2"}, 125, unavailable + "sandbox-exec refused the profile (exit status 65: <input string>:1: unbound variable)\nletta-confine: hint: "},
		{"nested", nested, nil, []string{"sh", "-c", "echo ran >&2"}, 125, unavailable + "sandbox-exec could not apply the profile or start the command (exit status 71: sandbox_apply: Operation not permitted)\nletta-confine: hint: "},
		{"absent", "", nil, []string{"sh", "-c", "echo ran >&2"}, 125, unavailable + "this system has no sandbox-exec"},
		{"nested, and run anyway", nested, []string{"--on-unavailable", "run"}, []string{"sh", "-c", "exit 7"}, 7, "letta-confine: warning: no backend can confine"},
		{"nothing applied", apply, []string{"--deny", "%D/secret"}, []string{"sh", "-c", "echo ran >&2"}, 125, unavailable + "the profile is not in force: denied root "},
		{"another backend", apply, []string{"--backend", "bwrap"}, []string{"true"}, 125, "letta-confine: error: no backend can confine this command: bwrap: not on "},
		{"this backend by name", apply, []string{"--backend", "seatbelt"}, []string{"true"}, 0, ""},
		{"full enforcement", apply, []string{"--require", "full"}, []string{"true"}, 125, unavailable + "leaves helpers open, and --require full does not accept that"},
		{"isolated processes", apply, []string{"--isolate-processes"}, []string{"true"}, 125, unavailable + "it cannot keep --isolate-processes"},
		{"missing denied root", apply, []string{"--deny", "%D/own/gone", "--missing-denied", "refuse"}, []string{"true"}, 125, "letta-confine: error: --deny "},
		{"a launcher that is hidden", apply, []string{"--deny", filepath.Dir(testBinary(t))}, []string{"true"}, 125, unavailable + "the launcher "},
		// What the trial cannot see. The status is sandbox-exec's, and no event
		// says that the command started.
		{"failing after the trial", late, nil, []string{"true"}, 71, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMac(t, c.script)
			m.write(t, "script", "#!/no/such/interpreter\n")
			got := m.run(t, slices.Concat(writes, c.flags, []string{"--"}, c.argv)...)
			if got.status != c.status {
				t.Errorf("status %d, want %d; stderr %q", got.status, c.status, got.stderr)
			}
			if (c.stderr == "") != (got.stderr == "") || !strings.HasPrefix(got.stderr, c.stderr) || strings.Contains(got.stderr, "ran\n") {
				t.Errorf("stderr %q, want it to begin with %q", got.stderr, c.stderr)
			}
		})
	}
}

func testBinary(t *testing.T) string {
	t.Helper()
	self, err := filepath.EvalSymlinks(os.Args[0])
	if err == nil {
		self, err = filepath.Abs(self)
	}
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// TestSeatbeltInPlace: the command is the launcher's own process, after one trial.
func TestSeatbeltInPlace(t *testing.T) {
	m := newMac(t, apply)
	got := m.run(t, slices.Concat(writes, []string{"--", "sh", "-c", "echo $$"})...)
	if want := fmt.Sprintf("%d\n", got.pid); got.stdout != want || got.status != 0 {
		t.Errorf("the command is process %q, want %q; %+v", got.stdout, want, got)
	}
	starts := m.starts(t)
	if len(starts) != 2 {
		t.Fatalf("sandbox-exec was started %d times, want twice: %q", len(starts), starts)
	}
	for i, args := range starts {
		end := slices.Index(args, "--")
		if !slices.Equal(args[:end], starts[0][:end]) || args[0] != "-p" || args[end+2] != seatbeltWord {
			t.Errorf("start %d: %q", i, args)
		}
	}
	if slices.Contains(starts[0], "sh") {
		t.Errorf("the trial names the command: %q", starts[0])
	}
}

// TestSeatbeltReport: plan comes from the launcher, started from inside, and then
// nobody is left to say more.
func TestSeatbeltReport(t *testing.T) {
	const planEvent = `{"schema":1,"event":"plan","backend":"seatbelt","enforcement":"partial","gaps":["helpers"],"overDenials":["mounts","disk-devices","setuid-programs","nested-sandboxes","pinned \"%D/own\""],"exit":"unobserved","dialect":["EPERM"],"runnerStatus":[125,65,71]}`
	for _, c := range []struct {
		name, script, command string
		want                  []string
	}{
		{"run", apply, "true", []string{
			planEvent,
			`{"schema":1,"event":"started","proof":{"profile":"applied","refused":0}}`,
		}},
		{"failing after the trial", late, "true", []string{
			planEvent,
		}},
		{"a command that is not there", apply, "/no/such", []string{
			planEvent,
			`{"schema":1,"event":"started","proof":{"profile":"applied","refused":0}}`,
			`{"schema":1,"event":"exit","reason":"command \"/no/such\" not found","code":127,"runnerFailed":false,"denied":"unknown","stage":"exec"}`,
		}},
		{"nested", nested, "true", []string{
			`{"schema":1,"event":"exit","reason":"no backend can confine this command: seatbelt: sandbox-exec could not apply the profile or start the command (exit status 71: sandbox_apply: Operation not permitted)","code":125,"runnerFailed":true,"denied":"notDenied","stage":"backend"}`,
		}},
	} {
		m := newMac(t, c.script)
		got := m.run(t, slices.Concat(writes, []string{"--report", "%D/report", "--", c.command})...)
		text, err := os.ReadFile(filepath.Join(m.dir, "report"))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, line := range c.want {
			want += strings.ReplaceAll(line, "%D", m.dir) + "\n"
		}
		if string(text) != want {
			t.Errorf("%s: report\n%swant\n%s%+v", c.name, text, want, got)
		}
	}
}

// TestSeatbeltDescriptors: the command has the standard descriptors and what it is
// to keep; neither the report nor anything else of the caller's.
func TestSeatbeltDescriptors(t *testing.T) {
	m := newMac(t, apply)
	for _, name := range []string{"three", "four", "five"} {
		f, err := os.Create(filepath.Join(m.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m.files = append(m.files, f)
	}
	const list = `for fd in 3 4 5 6 7 8 9; do if (: >&$fd) 2>/dev/null; then echo $fd; fi; done; echo kept >&5`
	got := m.run(t, slices.Concat(writes, []string{"--report", "fd:4", "--keep-fd", "5", "--", "sh", "-c", list})...)
	if got.stdout != "5\n" || got.status != 0 {
		t.Errorf("the command has %q, want 5 alone; %+v", got.stdout, got)
	}
	for name, want := range map[string]string{"three": "", "five": "kept\n"} {
		if text, err := os.ReadFile(filepath.Join(m.dir, name)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v, want %q", name, text, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(m.dir, "four")); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("the report is %q, %v, want two events", text, err)
	}
}

// TestSeatbeltEnvironment: what macOS takes from sandbox-exec's environment the
// command has again, and the marks are as on every backend.
func TestSeatbeltEnvironment(t *testing.T) {
	m := newMac(t, strip)
	m.env = []string{"DYLD_INSERT_LIBRARIES=/x=y", "LETTA_SANDBOX=forged", "OTHER=a\nb"}
	got := m.run(t, slices.Concat(writes, []string{"--", "sh", "-c", `echo "$DYLD_INSERT_LIBRARIES|$LETTA_SANDBOX|$LETTA_CONFINE|$OTHER"`})...)
	if want := "/x=y||seatbelt|a\nb\n"; got.stdout != want {
		t.Errorf("the command has %q, want %q; %+v", got.stdout, want, got)
	}
}

// TestSeatbeltPlanIsWhatRuns: plan prints the arguments that a run passes.
func TestSeatbeltPlanIsWhatRuns(t *testing.T) {
	m := newMac(t, apply)
	flags := slices.Concat(writes, []string{"--read-only", "%D/own/new\nline \"é\\"})
	printed := m.run(t, slices.Concat([]string{"plan", "--json"}, flags, []string{"--", "true"})...)
	var doc struct{ Backends []planJSON }
	if err := json.Unmarshal([]byte(printed.stdout), &doc); err != nil || len(doc.Backends) != 1 {
		t.Fatalf("%v: %+v", err, printed)
	}
	if len(m.starts(t)) > 0 {
		t.Error("plan starts sandbox-exec")
	}
	m.run(t, slices.Concat(flags, []string{"--", "true"})...)
	argv := doc.Backends[0].Argv
	for i, args := range m.starts(t) {
		if end := slices.Index(args, "--"); !slices.Equal(args[:end+1], argv[1:]) {
			t.Errorf("start %d: %q, want %q", i, args, argv[1:])
		}
	}
	if argv[0] != "/usr/bin/sandbox-exec" {
		t.Errorf("plan names %q", argv[0])
	}
}

func TestSeatbeltPlanGolden(t *testing.T) {
	m := newMac(t, apply)
	for name, args := range map[string][]string{
		"seatbelt-plan":      {"plan"},
		"seatbelt-plan-json": {"plan", "--json"},
	} {
		flags := []string{"--restrict-writes", "--writable", "/usr/share", "--deny", "/usr/lib", "--read-only", "/usr/lib/letta-confine-golden", "--", "true"}
		got := m.run(t, slices.Concat(args, flags)...)
		if got.status != 0 {
			t.Fatalf("%q: %+v", args, got)
		}
		text := got.stdout
		if before, rest, ok := strings.Cut(text, `  "fingerprint"`); ok { // and this machine's inputs
			_, rest, _ = strings.Cut(rest, "\n  },\n")
			text = before + rest
		}
		golden.Compare(t, name, []byte(strings.ReplaceAll(text, m.dir, "DIR")))
	}
}

// TestSeatbeltAncestors: that the directories above the command's cannot be listed
// is said beforehand.
func TestSeatbeltAncestors(t *testing.T) {
	const limit = "\n  limit: unlisted-ancestors\n"
	m := newMac(t, apply)
	for _, c := range []struct {
		flags []string
		want  bool
	}{
		{[]string{"--deny", "%D", "--writable", "%D/own"}, true},
		{[]string{"--deny", "%D/secret"}, false},
	} {
		got := m.run(t, slices.Concat([]string{"plan"}, c.flags, []string{"--", "true"})...)
		if got.status != 0 || strings.Contains(got.stdout, limit) != c.want {
			t.Errorf("%q: %+v, want the limit: %v", c.flags, got, c.want)
		}
	}
}

func TestSeatbeltProbe(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"absent", "", "seatbelt: unusable (seatbelt-absent): this system has no sandbox-exec"},
		{"nested", nested, "seatbelt: unusable (seatbelt-nested): sandbox-exec could not apply the profile"},
		{"profile refused", refuse, "seatbelt: unusable (seatbelt-profile): sandbox-exec refused the profile"},
		{"broken", "exit 1", "seatbelt: unusable (seatbelt-failed): "},
		{"nothing applied", apply, "seatbelt: unusable (seatbelt-failed): restricted writes: write denied: it succeeded"},
	} {
		got := newMac(t, c.script).run(t, "probe")
		if got.status != probeUnusable || !strings.Contains(got.stdout, "\n"+c.want) || got.stderr != "" {
			t.Errorf("%s: %+v, want status %d and %q", c.name, got, probeUnusable, c.want)
		}
	}
}

// TestSeatbeltElsewhere: the product has Seatbelt on macOS only.
func TestSeatbeltElsewhere(t *testing.T) {
	if mechanisms[0].name == "seatbelt" {
		t.Skip("needs a system without Seatbelt")
	}
	m := newMac(t, apply)
	m.program = ""
	got := m.run(t, slices.Concat(writes, []string{"--backend", "seatbelt", "--", "true"})...)
	if got.status != 125 || !strings.Contains(got.stderr, "seatbelt: not on ") || len(m.starts(t)) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestSeatbeltWords(t *testing.T) {
	for _, s := range []seatbeltRun{
		{report: -1},
		{report: -1, roots: []string{"/a", "3", "--"}},
		{report: 4, keep: []int{5, 6}, argv: []string{"sh", "-c", "", "2"}},
		{report: 4, roots: []string{"/new\nline"}, keep: []int{5}, env: []string{"DYLD_X=", "LD_Y=a=b"}, argv: []string{"7"}},
	} {
		words := s.words("/self")
		got, err := readSeatbeltRun(words[2:])
		if err != nil || fmt.Sprint(got) != fmt.Sprint(s) || !reflect.DeepEqual(append([]string{}, got.argv...), append([]string{}, s.argv...)) {
			t.Errorf("%q: %+v, %v, want %+v", words, got, err, s)
		}
		for n := range len(words) - 2 - len(s.argv) {
			if _, err := readSeatbeltRun(words[2 : 2+n]); err == nil {
				t.Errorf("%q is accepted", words[2:2+n])
			}
		}
	}
	for _, bad := range [][]string{{"x", "0", "0", "0"}, {"1", "-1", "0", "0"}, {"1", "0", "1", "x", "0"}, {"1", "9", "0", "0"}} {
		if s, err := readSeatbeltRun(bad); err == nil {
			t.Errorf("%q is accepted as %+v", bad, s)
		}
	}
}
