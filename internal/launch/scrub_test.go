package launch

import (
	"slices"
	"strings"
	"testing"
)

func TestSecret(t *testing.T) {
	secret := `
		A_KEY my_token API_KEY OPENAI_API_KEY AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN GITHUB_TOKEN GH_TOKEN HF_TOKEN
		ACTIONS_RUNTIME_TOKEN PGPASSWORD DB_PASSWORD Client_Secret
		SSH_AUTH_SOCK ssh_auth_sock GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GPG_AGENT_INFO KUBECONFIG GOOGLE_APPLICATION_CREDENTIALS
		AWS_CONTAINER_CREDENTIALS_FULL_URI MYSQL_PWD DB_PASS PASS PASSWD PASSPHRASE BORG_PASSPHRASE CREDENTIALS DATABASE_URL TEST_DATABASE_URL
		SENTRY_DSN DSN NPM_CONFIG__AUTH npm_config__auth npm_config_//registry.npmjs.org/:_authToken PRIVATE_PEM COOKIE ANTHROPIC_AUTH
		PGPASSFILE MONKEY_API_KEY KEYBOARD_KEY TOKENIZERS_TOKEN
		DSH_HOME DSH_SHELL dsh_session_id`
	harmless := `
		PATH HOME PWD OLDPWD USER LANG LC_ALL TERM SHELL TMPDIR EDITOR VIRTUAL_ENV GOFLAGS CI DISPLAY XAUTHORITY
		TOKENIZERS_PARALLELISM KEYBOARD XKB_KEYBOARD KEYMAP LESSKEY LESSKEYIN_SYSTEM MONKEY MONKEYTYPE SECRETARY GPG_KEYID KEYTIMEOUT
		COMPASS BYPASS PASSENGER_APP AUTHOR GIT_AUTHOR_NAME DSHELL AGENT_ID MEMORY_DIR LETTA_FS_SANDBOX GPG_TTY BASH_FUNC_f%%`
	for _, name := range strings.Fields(secret) {
		if !Secret(name, "x") {
			t.Errorf("Secret(%q) = false, want true", name)
		}
	}
	for _, name := range strings.Fields(harmless) {
		if Secret(name, "x") {
			t.Errorf("Secret(%q) = true, want false", name)
		}
	}
}

// A URL with a password is secret whatever its name.
func TestSecretURL(t *testing.T) {
	for value, want := range map[string]bool{
		"postgres://u:pw@db/x":           true,
		"jdbc:postgresql://u:p@w@db:5/x": true,
		"https://:pw@host":               true,
		"http://proxy:3128":              false,
		"http://user@proxy:3128/":        false,
		"http://user:@proxy:3128/":       false,
		"http://host/a:b@c":              false,
		"http://host?q=a:b@c":            false,
		"user:pw@host":                   false,
		"":                               false,
	} {
		if got := Secret("UPSTREAM", value); got != want {
			t.Errorf("Secret(UPSTREAM, %q) = %v, want %v", value, got, want)
		}
	}
}

func TestScrubApply(t *testing.T) {
	env := []string{"PATH=/bin", "B_TOKEN=1", "A_KEY=2", "B_TOKEN=3", "KEEP_KEY=4", "npm_x/y_key=5", "EMPTY_KEY=", "novalue", "=C_KEY", "HOME=/h"}
	before := slices.Clone(env)
	for _, c := range []struct {
		keep          []string
		kept, dropped []string
	}{
		{nil, []string{"PATH=/bin", "HOME=/h"}, []string{"A_KEY", "B_TOKEN", "EMPTY_KEY", "KEEP_KEY", "npm_x/y_key"}},
		{
			[]string{"KEEP_*", "npm_*", "b_token"},
			[]string{"PATH=/bin", "KEEP_KEY=4", "npm_x/y_key=5", "HOME=/h"},
			[]string{"A_KEY", "B_TOKEN", "EMPTY_KEY"},
		},
		{
			[]string{"*"},
			[]string{"PATH=/bin", "B_TOKEN=1", "A_KEY=2", "B_TOKEN=3", "KEEP_KEY=4", "npm_x/y_key=5", "EMPTY_KEY=", "HOME=/h"},
			nil,
		},
	} {
		kept, dropped := Scrub{Keep: c.keep}.Apply(env)
		if !slices.Equal(kept, c.kept) || !slices.Equal(dropped, c.dropped) {
			t.Errorf("Scrub{%q}.Apply = %q, %q,\nwant %q, %q", c.keep, kept, dropped, c.kept, c.dropped)
		}
	}
	if !slices.Equal(env, before) {
		t.Errorf("Apply changed its argument to %q", env)
	}
}

func TestCheckPattern(t *testing.T) {
	for pattern, ok := range map[string]bool{"A_*": true, "A": true, "[AB]_KEY": true, "": false, "[A": false, `\`: false} {
		if err := CheckPattern(pattern); (err == nil) != ok {
			t.Errorf("CheckPattern(%q) = %v, want no error: %v", pattern, err, ok)
		}
	}
}
