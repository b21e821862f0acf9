package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// event is one line of a report, as its readers know it.
type event struct {
	Schema       int      `json:"schema"`
	Event        string   `json:"event"`
	Backend      string   `json:"backend"`
	Enforcement  string   `json:"enforcement"`
	Reason       string   `json:"reason"`
	Gaps         []string `json:"gaps"`
	OverDenials  []string `json:"overDenials"`
	Created      []string `json:"created"`
	Exit         string   `json:"exit"`
	Code         *int     `json:"code"`
	RunnerFailed *bool    `json:"runnerFailed"`
	Unreadable   string   `json:"unreadable"`
	Skipped      []struct {
		List, Path, Reason string
	} `json:"skipped"`
	Proof *struct {
		MountNamespace string `json:"mountNamespace"`
		NoNewPrivs     bool   `json:"noNewPrivs"`
		Denied         *struct {
			Path, For, Errno string
		} `json:"denied"`
		Untried string `json:"untried"`
	} `json:"proof"`
}

// skips reports whether the event lists a root as skipped, and why.
func (e event) skips(path, reason string) bool {
	for _, s := range e.Skipped {
		if s.Path == path && s.Reason == reason {
			return true
		}
	}
	return false
}

// reported runs a command confined and returns what its report says. The report
// goes to a descriptor that the command does not get.
func (b box) reported(t *testing.T, tr *testenv.Tree, f flags, argv ...string) (testenv.Result, []event) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := b.command(t, tr, append(flags{"--report", "fd:3"}, f...), argv...)
	c.Files = []*os.File{w}
	res := c.Run(t)
	w.Close()
	return res, events(t, r)
}

func events(t *testing.T, r *os.File) []event {
	t.Helper()
	var list []event
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("report line %q: %v", lines.Text(), err)
		}
		if e.Schema != 1 {
			t.Errorf("report line %q has no schema 1", lines.Text())
		}
		list = append(list, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func eventNames(list []event) string {
	var words []string
	for _, e := range list {
		words = append(words, e.Event)
	}
	return strings.Join(words, " ")
}

func TestReportOfARun(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		res, list := b.reported(t, tr, crossFlags(tr), "sh", "-c", "exit 7")
		if res.Status != 7 || res.Stderr != "" {
			t.Fatalf("the run gave %+v, want status 7", res)
		}
		want := map[string]string{"bwrap": "plan started exit", "landlock": "plan started"}[b.backend]
		if got := eventNames(list); got != want {
			t.Fatalf("events are %q, want %q", got, want)
		}
		plan, started := list[0], list[1]
		if plan.Backend != b.backend {
			t.Errorf("the plan names backend %q, want %q", plan.Backend, b.backend)
		}
		gaps := map[string][]string{
			"bwrap/root": {"deferred"}, "bwrap/user": nil,
			"landlock/root": {"metadata", "names", "unix-sockets", "deferred"}, "landlock/user": {"metadata", "names", "unix-sockets"},
		}[b.backend+"/"+b.user.Name]
		if landlockABI >= 9 {
			gaps = slices.DeleteFunc(gaps, func(g string) bool { return g == "unix-sockets" })
		}
		if !slices.Equal(plan.Gaps, gaps) {
			t.Errorf("gaps are %q, want %q", plan.Gaps, gaps)
		}
		level := "full"
		if len(gaps) > 0 {
			level = "partial"
		}
		if plan.Enforcement != level {
			t.Errorf("enforcement is %q, want %q", plan.Enforcement, level)
		}
		if started.Proof == nil || !started.Proof.NoNewPrivs {
			t.Errorf("started has proof %+v, want no_new_privs", started.Proof)
		}
		if b.backend == "landlock" {
			if plan.Exit != "unobserved" {
				t.Errorf("the plan says exit %q, want unobserved", plan.Exit)
			}
			return
		}
		own, err := os.Readlink("/proc/self/ns/mnt")
		if err != nil {
			t.Fatal(err)
		}
		if ns := started.Proof.MountNamespace; !strings.HasPrefix(ns, "mnt:[") || ns == own {
			t.Errorf("the proof names mount namespace %q; ours is %q", ns, own)
		}
		if exit := list[2]; exit.Code == nil || *exit.Code != 7 || exit.RunnerFailed == nil || *exit.RunnerFailed {
			t.Errorf("exit is %+v, want code 7 of the command", exit)
		}
	})
}

// TestReportFile: a report file is written where the command cannot change it,
// and refused, without being made, where it can.
func TestReportFile(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		outside, inside := tr.Path("out/report"), tr.Path("work/report")
		if res := b.run(t, tr, append(workFlags(tr), "--report", outside), "true"); res.Status != 0 || res.Stderr != "" {
			t.Fatalf("a report outside gave %+v, want success", res)
		}
		f, err := os.Open(outside)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := eventNames(events(t, f)); !strings.HasPrefix(got, "plan started") {
			t.Errorf("the report holds %q, want plan and started", got)
		}
		refused(t, b.run(t, tr, append(workFlags(tr), "--report", inside), "touch", "ran"), "can be changed by the command", "fd:N")
		if tr.Exists("work/report") || tr.Exists("work/ran") {
			t.Error("a refused report left something behind")
		}
		tr.Link(tr.Path("out/file.txt"), "out/planted")
		refused(t, b.run(t, tr, append(workFlags(tr), "--report", tr.Path("out/planted")), "touch", "ran"), "--report", "")
		if got := tr.Read("out/file.txt"); got != "outside\n" {
			t.Errorf("a report through a planted link changed its target to %q", got)
		}
	})
}

// TestRequire: what a backend leaves open is refused by --require full, before
// anything runs.
func TestRequire(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		for require, want := range map[string]map[string]int{
			"full": {"bwrap/root": 125, "bwrap/user": 0, "landlock/root": 125, "landlock/user": 125},
			"any":  {}, "contents": {},
		} {
			res := b.run(t, tr, append(crossFlags(tr), "--require", require), "touch", "ran-"+require)
			status := want[b.backend+"/"+b.user.Name]
			if res.Status != status || tr.Exists("work/ran-"+require) != (status == 0) {
				t.Errorf("--require %s gave %+v, want status %d", require, res, status)
			}
		}
	})
}

// refused fails the test unless the launcher refused to run anything: status
// 125, one error line with the given text, and a hint line with the other text,
// or no hint line where that is empty.
func refused(t testing.TB, res testenv.Result, text, hint string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(res.Stderr, "\n"), "\n")
	if res.Status != 125 || res.Stdout != "" || !strings.HasPrefix(lines[0], "letta-confine: error: ") || !strings.Contains(lines[0], text) {
		t.Errorf("got %+v, want status 125 and an error that says %q", res, text)
		return
	}
	switch {
	case hint == "" && len(lines) > 2, hint != "" && len(lines) != 2:
		t.Errorf("stderr is %q, want one error and at most one hint", res.Stderr)
	case hint != "" && !(strings.HasPrefix(lines[1], "letta-confine: hint: ") && strings.Contains(lines[1], hint)):
		t.Errorf("the hint is %q, want it to say %q", lines[1], hint)
	}
}

// TestProofOfDenial: what started says was denied is what the policy denies, and the
// same act succeeds without the launcher.
func TestProofOfDenial(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		agents, work, secret := tr.Path("home/.letta/agents"), tr.Path("work"), tr.Path("home/notes.txt")
		act := map[string]string{"bwrap": "create", "landlock": "read"}[b.backend]
		readOnly := map[string]string{"bwrap": "EROFS", "landlock": "EACCES"}[b.backend]
		for _, c := range []struct {
			what             string
			flags            flags
			path, act, errno string
		}{
			{"a denied directory", crossFlags(tr), agents, act, readOnly},
			{"a denied file", flags{"--deny", secret}, secret, "read", "EACCES"},
			{"a readonly root", flags{"--read-only", agents}, agents, "create", readOnly},
			{"restricted writes", flags{"--restrict-writes"}, work, "create", readOnly},
			{"a private /tmp", flags{"--restrict-writes", "--read-only", work, "--tmp", "private"}, work, "create", readOnly},
			{"no supervisor", append(crossFlags(tr), "--exec"), agents, act, readOnly},
		} {
			res, list := b.reported(t, tr, c.flags, "true")
			if res.Status != 0 || len(list) < 2 || list[1].Proof == nil || list[1].Proof.Denied == nil {
				t.Errorf("%s: %+v with events %q, want a proof", c.what, res, eventNames(list))
				continue
			}
			for _, dir := range list[0].Created { // the folder in the place of /tmp, which stays
				os.RemoveAll(dir)
			}
			if d := *list[1].Proof.Denied; d.Path != c.path || d.For != c.act || d.Errno != c.errno {
				t.Errorf("%s: the proof is %+v, want %s of %q: %s", c.what, d, c.act, c.path, c.errno)
			}
			act := []string{"head", "-c1", c.path}
			if c.act == "create" {
				act = []string{"mktemp", c.path + "/XXXXXX"}
			} else if c.path == agents {
				act = []string{"ls", c.path}
			}
			if free := b.free(t, tr, act...); free.Status != 0 {
				t.Errorf("%s: unconfined, %q gave %+v, want success", c.what, act, free)
			}
		}
		// Where the user could not write anyway, a refusal would prove nothing.
		if b.user.UID != 0 {
			_, list := b.reported(t, tr, flags{"--restrict-writes", "--chdir", "/usr/bin"}, "true")
			if p := list[1].Proof; p == nil || p.Denied != nil || p.Untried != "nothing-to-try" {
				t.Errorf("in /usr/bin the proof is %+v, want none of a denial", p)
			}
		}
	})
}
