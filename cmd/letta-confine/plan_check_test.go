//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckedPlanIsRead: a document that is to be checked is an input that anybody
// may have written.
func TestCheckedPlanIsRead(t *testing.T) {
	m := newMac(t, apply)
	made := m.run(t, slices.Concat([]string{"plan", "--json", "--exec-argv"}, writes, []string{"--", "tool", "--token=hunter2", "x"})...)
	if made.status != 0 {
		t.Fatalf("%+v", made)
	}
	nothing := m.run(t, "plan", "--json", "--mode", "danger-full-access", "--", "true")
	swap := func(old, new string) string {
		if !strings.Contains(made.stdout, old) {
			t.Fatalf("the plan has no %s:\n%s", old, made.stdout)
		}
		return strings.Replace(made.stdout, old, new, 1)
	}
	const stale, other = "does not hold any more: ", "it has members that a plan has not"
	for _, c := range []struct{ name, text, says string }{
		{"as it was", made.stdout, ""},
		{"without its spaces", strings.ReplaceAll(made.stdout, "\n", ""), ""},
		{"empty", "", "it is no plan"},
		{"a list", "[]", "it is no plan"},
		{"cut short", made.stdout[:len(made.stdout)/2], "it is no plan"},
		{"more behind it", made.stdout + "{}", "it is no plan"},
		{"not UTF-8", swap(`"tool"`, "\"\xff\""), "it is no plan"},
		{"an event of a report", `{"schema":1,"event":"plan","enforcement":"full"}`, "it has members that a plan has not"},
		{"another version", swap(`"schema": 1`, `"schema": 2`), "its schema version is 2, and this launcher knows 1"},
		{"no version", swap(`"schema": 1`, `"Schema_": 1`), "it is no plan"},
		{"a plan of nothing", nothing.stdout, "it confines nothing"},
		{"an unknown member", swap(`"default": `, `"more": 1, "default": `), other},
		{"a member in another case", swap(`"default": `, `"Default": `), other},
		{"a member twice", swap(`"default": `, `"default": "none", "default": `), `it has the member "default" twice`},
		{"a member twice, deeper", swap(`"system": `, `"system": "x", "system": `), `it has the member "system" twice`},
		{"a number for a text", swap(`"cwd": "`, `"cwd": 1, "x": "`), "it is no plan of this launcher"},
		{"no backend", swap(`"chosen": true`, `"chosen": false`), "it has no backend"},
		{"a flag that is none", swap(`"restrict-writes"`, `"no-such-flag"`), stale + "unknown flag"},
		{"a check in a check", swap(`"restrict-writes"`, `"check"`), stale + "unknown flag"},
		{"a policy that cannot be read again", swap(`"restrict-writes",`+"\n        \"true\"", `"policy", "fd:7"`), stale + `the text of policy "fd:7" is not in it`},
		{"another directory", swap(`"start": "`, `"start": "/no/such`), stale + `directory "/no/such`},
		{"another kernel", swap(`"kernel": "`, `"kernel": "x`), stale + `the kernel was "x`},
		{"another user", swap(`"uid": `, `"uid": 4`), stale + "the user was 4"},
		{"another version of the launcher", swap(`"version": "`, `"version": "x`), stale + "the launcher was x"},
		{"another program", swap(`"helper": {`, `"helper": {"size": 1, "x": 1}, "y": {`), other},
		{"a program that was replaced", replaceAfter(made.stdout, `"helper": {`, `"id": "`, `"id": "9`), stale + `seatbelt "` + m.program + `" was replaced`},
		{"a policy that is wider", swap("\n  \"default\": \"read\"", "\n  \"default\": \"read-write\""), stale + "default came out otherwise"},
		{"another profile", swap(`(allow default)`, `(allow default) `), stale + "the plan of seatbelt, argv, came out otherwise"},
		{"another program to run", replaceAfter(made.stdout, `"execArgv": [`, `"/usr/bin/sandbox-exec"`, `"/bin/evil"`), stale + "execArgv is not what the plan comes to"},
		{"another command to run", replaceAfter(made.stdout, `"execArgv": [`, `"tool"`, `"evil"`), stale + "execArgv is not what the plan comes to"},
		{"an argument list cut off", swap(`"execArgv": [`, `"execArgv": ["x"], "notes": ["x`+"\"],\n  \"gone\": ["), `it has the member "notes" twice`},
		{"another fingerprint", swap(`"fingerprint": "fnv1a-128:`, `"fingerprint": "fnv1a-128:0`), stale + "fingerprint came out otherwise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.write(t, "plan.json", c.text)
			got := m.run(t, "plan", "--check", "%D/plan.json")
			if c.says == "" {
				if got.status != 0 || got.stdout+got.stderr != "" {
					t.Errorf("%+v, want success and silence", got)
				}
				return
			}
			lines := strings.Split(got.stderr, "\n")
			if got.status != 125 || got.stdout != "" || len(lines) != 3 || !strings.Contains(lines[0], c.says) || !strings.HasPrefix(lines[1], "letta-confine: hint: ") {
				t.Errorf("%+v, want 125 and an error that says %q, with a hint", got, c.says)
			}
		})
	}
}

// replaceAfter replaces the first old that is behind mark.
func replaceAfter(text, mark, old, new string) string {
	before, after, _ := strings.Cut(text, mark)
	return before + mark + strings.Replace(after, old, new, 1)
}

// TestCheckedRules: Landlock's rules for files that come and go do not make a plan
// stale, and one that grants more does.
func TestCheckedRules(t *testing.T) {
	need(t, "landlock")
	dir := t.TempDir()
	for _, name := range []string{"own", "secret", "aside"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(launcher(t), args...)
		cmd.Dir, cmd.Stdin = filepath.Join(dir, "own"), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	plan, err := run("", "plan", "--json", "--backend", "landlock", "--restrict-writes", "--deny", filepath.Join(dir, "secret"), "--", "true")
	if err != nil {
		t.Fatalf("%v: %s", err, plan)
	}
	aside := filepath.Join(dir, "aside")
	if !strings.Contains(plan, `"path": "`+aside+`"`) {
		t.Fatalf("no rule for %s:\n%s", aside, plan)
	}
	if err := os.Rename(aside, aside+"-was"); err != nil {
		t.Fatal(err)
	}
	if said, err := run(plan, "plan", "--check", "-"); err != nil {
		t.Errorf("a file beside a root was renamed: %v: %s", err, said)
	}
	wider := strings.Replace(plan, `"path": "`+aside+`"`, `"path": "`+filepath.Join(dir, "secret")+`"`, 1)
	said, err := run(wider, "plan", "--check", "-")
	if err == nil || !strings.Contains(said, `the rule for "`+filepath.Join(dir, "secret")+`" is not what the plan comes to`) {
		t.Errorf("a rule for the denied root: %v: %s", err, said)
	}
}

// TestSeatbeltExecArgv: what a harness starts on macOS is sandbox-exec and the stage,
// which alters the environment that it finds.
func TestSeatbeltExecArgv(t *testing.T) {
	m := newMac(t, apply)
	m.env = []string{"SOME_TOKEN=x", "LETTA_SANDBOX=old"}
	made := m.run(t, slices.Concat([]string{"plan", "--exec-argv", "--scrub-env", "--env", "A=b c"}, writes,
		[]string{"--", "sh", "-c", `echo "$1 $A $LETTA_CONFINE ${SOME_TOKEN-none} ${LETTA_SANDBOX-none} ${MORE-none}"; exit 7`, "sh", "--token=hunter2"})...)
	if made.status != 0 || made.stderr != "" {
		t.Fatalf("%+v", made)
	}
	argv := strings.Split(strings.TrimSuffix(made.stdout, "\x00"), "\x00")
	if argv[0] != "/usr/bin/sandbox-exec" {
		t.Fatalf("it starts %q", argv[0])
	}
	cmd := exec.Command(m.program, argv[1:]...)
	cmd.Env = append(os.Environ(), asLauncher+"=1", "LOG="+m.log, "SOME_TOKEN=x", "LETTA_SANDBOX=later", "MORE=more")
	out, _ := cmd.Output()
	if string(out) != "--token=hunter2 b c seatbelt none none more\n" || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %v", out, cmd.ProcessState)
	}
}
