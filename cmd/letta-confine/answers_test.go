//go:build linux && !launcher

package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/commit"
	"github.com/letta-confine/letta-confine/guard"
	"github.com/letta-confine/letta-confine/probe"
	"github.com/letta-confine/letta-confine/shell"
	"github.com/letta-confine/letta-confine/shell/readonly"
)

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
	a.shown(t, " lsmError", " container") // a host need not have either
	members(t, "probe", map[string]reflect.Type{
		"backend": reflect.TypeFor[probed](), "policy": reflect.TypeFor[held](), "step": reflect.TypeFor[probe.Result](),
	})
}

func TestCheckMeetsTheSchema(t *testing.T) {
	need(t, "git")
	a := answers(t, "check")
	dir := t.TempDir()
	agents := filepath.Join(dir, ".letta", "agents")
	env := []string{"HOME=" + dir, "AGENT_ID=ann", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LETTA_CONFINE_APPROVE_COMMIT="}
	key := "sk-" + strings.Repeat("a1B2", 6)
	if err := errors.Join(os.MkdirAll(filepath.Join(agents, "bob"), 0o700), os.Mkdir(filepath.Join(dir, "repo"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"key": key, "plain": "x", "restrict.json": `{"version":1,"deny":["Write"],"guards":[{"pattern":"ls"}]}`, "repo/notes.txt": key, "repo/.memfs.config.json": `{"version":1,"readOnlyFiles":["ro.md"]}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "plain"), filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"init", "-q"}, {"config", "diff.external", "x"}, {"add", "-A"}} {
		run := exec.Command("git", append([]string{"-C", filepath.Join(dir, "repo")}, line...)...)
		run.Env = append(os.Environ(), env...)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", line, err, out)
		}
	}
	for _, c := range []struct {
		status int
		stdin  string
		args   []string
	}{
		{0, "", []string{"path", filepath.Join(dir, "other")}},
		{2, "", []string{"path", filepath.Join(agents, "bob", "x")}},
		{2, "", []string{"path", "--restrict-writes", "--deny", filepath.Join(dir, "plain"), filepath.Join(dir, "plain")}},
		{0, "", []string{"shell", "git log | head -2 <plain"}},
		{3, "", []string{"shell", "ls; echo x >f; $x"}},
		{3, "", []string{"shell", "a ("}},
		{3, "", []string{"shell", "f() { ls; }; f"}},
		{3, "", []string{"shell", "git -C repo show HEAD"}},
		{3, "", []string{"rules", "make"}},
		{2, "", []string{"rules", "--deny", "Bash(rm:*)", "ls; rm x"}},
		{2, "", []string{"rules", "--deny", "Read(.env)", "--tool", "Read", ".env"}},
		{0, "", []string{"rules", "--deny", "Bash", "--list-tools"}},
		{2, "", []string{"rules", "--restrict", "restrict.json", "--tool", "Write", "x"}},
		{2, "", []string{"rules", "--restrict", "restrict.json", "ls"}},
		{2, "", []string{"secrets", "key", "plain"}},
		{0, "x", []string{"secrets"}},
		{2, "", []string{"commit", "--repo", "repo"}},
	} {
		args := append([]string{"check", c.args[0], "--json"}, c.args[1:]...)
		a.takes(t, printed(t, dir, c.stdin, env, c.status, args...))
	}
	approving := append(env, "LETTA_CONFINE_APPROVE_COMMIT=1", "LETTA_CONFINE=", "LETTA_SANDBOX=")
	a.takes(t, printed(t, dir, "", approving, 2, "check", "commit", "--json", "--repo", "repo"))
	a.shown(t, "statement rule") // which an embedded verdict has, and leaves empty
	members(t, "check", map[string]reflect.Type{
		"path": reflect.TypeFor[struct {
			Schema int `json:"schema"`
			guard.Result
		}](),
		"judged": reflect.TypeFor[guard.Judged](), "shell": reflect.TypeFor[shellAnswer](),
		"statement": reflect.TypeFor[readonly.Statement](), "doubt": reflect.TypeFor[shell.Doubt](),
		"staged": reflect.TypeFor[commit.Finding](), "found": reflect.TypeFor[fileFinding](),
	})
}

func TestExplainMeetsTheSchema(t *testing.T) {
	need(t, "bwrap")
	need(t, "landlock")
	a := answers(t, "explain")
	top := t.TempDir()
	work, secret, said := filepath.Join(top, "work"), filepath.Join(top, "secret"), filepath.Join(top, "said")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(secret, 0o700), os.WriteFile(said, []byte("cat: "+secret+"/x: Permission denied\nsudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n"), 0o600), os.WriteFile(secret+"/x", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	bus, err := net.Listen("unix", filepath.Join(work, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	policy := []string{"--restrict-writes", "--writable", work, "--deny", secret}
	ask := func(status int, words ...string) {
		t.Helper()
		args := append([]string{"explain", "--json"}, policy...)
		a.takes(t, printed(t, work, "", []string{"XDG_RUNTIME_DIR=" + work, "XDG_CONFIG_HOME=" + work + "/config", "LETTA_CONFINE="}, status, append(args, words...)...))
	}
	ask(0, work, secret, "/etc")
	ask(0, "--risks")
	ask(0, "--for", "write", secret+"/x", work)
	ask(0, "--for", "create", "--backend", "landlock", filepath.Join(top, "new"))
	ask(0, "--read-only", work+"/d/kept", "--for", "delete", work+"/d")
	ask(0, "--tmp", "private", "--for", "read", "/tmp/x")
	ask(0, "--backend", "landlock", "--stderr", said)
	ask(0, "--backend", "bwrap", "--stderr", said)
	ask(0, "--self", work)
	store := work + "/config/letta-confine"
	if err := os.MkdirAll(store, 0o700); err != nil {
		t.Fatal(err)
	}
	ask(0, store)
	for _, backend := range []string{"bwrap", "landlock"} {
		run := slices.Concat([]string{"--backend", backend, "--quiet"}, policy, []string{"--", launcher(t), "explain", "--self", "--json"})
		a.takes(t, printed(t, work, "", nil, 0, append(run, secret+"/x", work+"/new", work+"/none/none", work+"/bus", "/etc/passwd")...))
		a.takes(t, printed(t, work, "", nil, 0, append(run, "--deny", secret, "--for", "read", secret+"/x")...))
	}
	a.shown(t, " aliasOf") // which takes a bind mount
	members(t, "explain", map[string]reflect.Type{
		"self": reflect.TypeFor[selfAnswer](), "tried": reflect.TypeFor[tried](), "root": reflect.TypeFor[rootJSON](),
		"mediation": reflect.TypeFor[mediation](), "edit": reflect.TypeFor[editJSON](),
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

func TestAnswerSchemasRefuse(t *testing.T) {
	for name, texts := range map[string][]string{
		"check": {
			`{}`,
			`{"schema":1,"decision":"allow","code":"x"}`,
			`{"schema":1,"decision":"perhaps","code":"x","reason":"x"}`,
			`{"schema":1,"decision":"allow","code":"x","reason":"x","more":1}`,
			`{"schema":1,"decision":"allow","code":"x","reason":"x","paths":[],"findings":[]}`,
			`{"schema":1,"decision":"deny","code":"secret","reason":"x","findings":[{"path":"x","line":1,"column":1,"length":3,"kind":"x","decision":"deny","text":"x"}]}`,
			`{"schema":1,"tools":[""]}`,
		},
		"explain": {
			`{}`,
			`{"schema":1}`,
			`{"schema":1,"paths":[{"path":"/x","resolved":"/x","read":true,"write":true}]}`,
			`{"schema":1,"paths":[{"path":"/x","resolved":"x","read":true,"write":true,"root":null}]}`,
			`{"schema":1,"paths":[{"path":"/x","resolved":"/x","read":true,"write":true,"root":null,"allowed":true}]}`,
			`{"schema":1,"denied":"no","backend":"bwrap","denials":[]}`,
			`{"schema":1,"confined":true,"backend":"bwrap"}`,
			`{"schema":1,"confined":false}`,
			`{"schema":1,"confined":true,"backend":"bwrap","tried":[{"path":"x","for":"delete","outcome":"allowed","says":"allowed"}]}`,
			`{"schema":1,"confined":true,"backend":"bwrap","tried":[{"path":"x","for":"read","outcome":"denied","says":"x"}]}`,
			`{"schema":1,"confined":true,"backend":"bwrap","tried":[{"path":"x","for":"read","outcome":"allowed","cause":"sandbox","says":"x"}]}`,
		},
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
		answers(t, name).refuses(t, texts...)
	}
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
