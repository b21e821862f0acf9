package mask

import (
	"slices"
	"strings"
	"testing"
)

// random is the body of a key that is none, made here so that scanners let the
// repository pass.
func random(n int) string { return strings.Repeat("Qz7Xw2Ky5Lm4Np3R", 8)[:n] }

// cases are arguments with what is written of them. An argument that stays is
// written the same. Secret values hold hunter2 or random's letters.
var cases = []struct{ args, want []string }{
	{nil, nil},
	{[]string{}, []string{}},
	{[]string{"npm", "test", "--", "-v", ""}, nil},
	{[]string{"git", "log", "--format=%H:%an", "a=b", "x:y", "key", "monkey=1"}, nil},
	{[]string{"ssh://git@example.com/x", "git@example.com:x/y", "https://example.com/a@b"}, nil},
	{[]string{"sk-short", "task-force-of-twenty-and-more-letters", "AKIA", "eyJ"}, nil},
	{[]string{"-u", "root", "--user", "1000"}, nil},
	{[]string{"bash", "-c", `for key in a b; do echo "$key"; done`}, nil},

	{[]string{"--token=hunter2"}, []string{"--token=***"}},
	{[]string{"--token=hunter2 and more;hunter2"}, []string{"--token=***"}},
	{[]string{"--password", "hunter2", "x"}, []string{"--password", "***", "x"}},
	{[]string{"--password", "-hunter2", "x"}, []string{"--password", "***", "x"}},
	{[]string{"--ask-password", "--token", "hunter2"}, []string{"--ask-password", "***", "***"}},
	{[]string{"--show-secrets", "--", "x"}, nil},
	{[]string{"--api-key", ""}, nil},
	{[]string{"-HAuthorization: Bearer hunter2"}, []string{"-HAuthorization: ***"}},
	{[]string{"-H", "Authorization: Bearer hunter2"}, []string{"-H", "Authorization: ***"}},
	{[]string{"-H", "x-api-key:hunter2 hunter2"}, []string{"-H", "x-api-key:***"}},
	{[]string{"--header=Cookie: a=hunter2; b=hunter2"}, []string{"--header=Cookie: ***"}},
	{[]string{"OPENAI_API_KEY=hunter2", "make"}, []string{"OPENAI_API_KEY=***", "make"}},
	{[]string{"--env", "DB_PASSWORD=hunter2"}, []string{"--env", "DB_PASSWORD=***"}},
	{[]string{"--env=DB_PASSWORD=hunter2"}, []string{"--env=DB_PASSWORD=***"}},
	{[]string{"-eDB_PASSWORD=hunter2"}, []string{"-eDB_PASSWORD=***"}},
	{[]string{"-Dservice.auth-token=hunter2"}, []string{"-Dservice.auth-token=***"}},
	{[]string{"curl", "-u", "me:hunter2"}, []string{"curl", "-u", "me:***"}},
	{[]string{"https://me:hunter2@example.com/x"}, []string{"https://me:***@example.com/x"}},
	{[]string{"https://hunter2@example.com"}, []string{"https://***@example.com"}},
	{[]string{"postgres://me:hun@ter2@db/x?a=b"}, []string{"postgres://me:***@db/x?a=b"}},
	{[]string{"https://x/?a=b&token=hunter2&c=d"}, []string{"https://x/?a=b&token=***&c=d"}},
	{[]string{`{"user": "me", "token": "hunter2", "n": 1}`}, []string{`{"user": "me", "token": *** "n": 1}`}},
	{[]string{`{'password':'hun"ter2'}`}, []string{`{'password':***}`}},

	{[]string{"sh", "-c", `curl -H "Authorization: Bearer hunter2" https://x`}, []string{"sh", "-c", `curl -H "Authorization: ***" https://x`}},
	{[]string{"sh", "-c", `curl -d "{\"token\": \"hunter2\"}" x`}, []string{"sh", "-c", `curl -d "{\"token\": ***}" x`}},
	{[]string{"sh", "-c", `cd x && TOKEN=hunter2 make; ls`}, []string{"sh", "-c", `cd x && TOKEN=*** make; ls`}},
	{[]string{"sh", "-c", `cd x && TOKEN="hun ter2"'hunter2' make`}, []string{"sh", "-c", `cd x && TOKEN=*** make`}},
	{[]string{"sh", "-c", `export TOKEN='hunter2`}, []string{"sh", "-c", `export TOKEN=***`}},
	{[]string{"sh", "-c", `tool --password hunter2 --x`}, []string{"sh", "-c", `tool --password *** --x`}},
	{[]string{"sh", "-c", `tool --password "hun ter2" --x`}, []string{"sh", "-c", `tool --password *** --x`}},
	{[]string{"sh", "-c", `echo 'API_KEY=hun ter2' > x`}, []string{"sh", "-c", `echo 'API_KEY=***' > x`}},
	{[]string{"sh", "-c", `TOKEN=hunter2 curl x`}, []string{"sh", "-c", `TOKEN=***`}},
	{[]string{"sh", "-c", `git clone https://me:hunter2@x/y && ls`}, []string{"sh", "-c", `git clone https://me:***@x/y && ls`}},

	{[]string{"x" + "AKIA" + strings.Repeat("Q2", 8)}, nil}, // no word begins there
	{[]string{"AKIA" + strings.Repeat("Q2", 8)}, []string{"AKIA***"}},
	{[]string{"echo ghp_" + random(36) + " >x"}, []string{"echo ghp_*** >x"}},
	{[]string{"sk-ant-api03-" + random(24)}, []string{"sk-***"}},
	{[]string{"https://hooks." + "slack.com/services/T0/B0/" + random(20)}, []string{"https://hooks." + "slack.com/services/***"}},
	{[]string{"-----BEGIN RSA " + "PRIVATE KEY-----\nhunter2\n-----END"}, []string{"***"}},
}

func TestArgv(t *testing.T) {
	for _, c := range cases {
		want := c.want
		if want == nil {
			want = c.args
		}
		before := slices.Clone(c.args)
		got := Argv(c.args)
		if !slices.Equal(got, want) || (got == nil) != (c.args == nil) {
			t.Errorf("%q becomes\n%q, want\n%q", c.args, got, want)
		}
		if !slices.Equal(before, c.args) {
			t.Errorf("%q was changed to %q", before, c.args)
		}
	}
}

// FuzzArgv: the number of arguments stays, and nothing that is hidden once shows by
// being hidden again.
func FuzzArgv(f *testing.F) {
	for _, c := range cases {
		f.Add(strings.Join(c.args, "\x00"))
	}
	f.Add("token=\\")
	f.Add("token:\\\"\x00--key\\")
	f.Fuzz(func(t *testing.T, s string) {
		args := strings.Split(s, "\x00")
		got := Argv(args)
		if len(got) != len(args) {
			t.Fatalf("%q becomes %q", args, got)
		}
		for _, arg := range got {
			if again := Argv([]string{arg})[0]; len(again) > len(arg)+len(Mark) {
				t.Fatalf("%q becomes %q", arg, again)
			}
		}
	})
}
