package containment

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/landlock"
)

// outcome is what a confined attack must answer, and what that means.
type outcome struct {
	verdict string // "held", "gap NAME" or "residual NAME"
	answers string // of each call, in order
}

func held(answers string) outcome           { return outcome{"held", answers} }
func gap(name, answers string) outcome      { return outcome{"gap " + name, answers} }
func residual(name, answers string) outcome { return outcome{"residual " + name, answers} }

// wants are the outcomes by box: "bwrap/root", else "bwrap", else "".
type wants map[string]outcome

func (w wants) of(b box) (outcome, bool) {
	for _, key := range []string{b.String(), b.backend, ""} {
		if o, ok := w[key]; ok {
			return o, true
		}
	}
	return outcome{}, false
}

// everywhere is one outcome for every box.
func everywhere(o outcome) wants { return wants{"": o} }

// either is one outcome for each backend.
func either(bwrap, landlock outcome) wants { return wants{"bwrap": bwrap, "landlock": landlock} }

// attack is one case: steps that must not succeed confined, or are known to.
type attack struct {
	name    string
	policy  func(tr *testenv.Tree) flags // nil: cross
	prepare func(t *testing.T, tr *testenv.Tree)
	calls   []string               // the steps, or
	do      func(w world) string   // what makes them
	want    wants                  // confined
	free    string                 // the control's answers; empty: all "ok"
	why     string                 // why the control does not succeed, where free is set
	need    func() (string, error) // a facility, and why the host lacks it
}

// run runs the cases of one class.
func run(t *testing.T, rootOnly bool, class string, attacks []attack) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			each(t, rootOnly, class, a.name, func(t *testing.T, b box) string {
				if a.need != nil {
					facility, err := a.need()
					testenv.Need(t, facility, err)
				}
				want, ok := a.want.of(b)
				if !ok {
					t.Fatalf("no outcome for %v", b)
				}
				confined := a.world(t, b, true)
				got := confined.attack(a)
				if got != want.answers {
					t.Errorf("confined: %s, want %s", got, want.answers)
				}
				control := a.world(t, b, false).attack(a)
				if free := a.control(control); control != free {
					t.Errorf("control: unconfined the same steps give %s, want %s", control, free)
				}
				want.proven(t, confined)
				return want.verdict
			})
		})
	}
}

// world is a fresh one for the case.
func (a attack) world(t *testing.T, b box, confined bool) world {
	t.Helper()
	tr := testenv.NewTree(t, b.user)
	if a.prepare != nil {
		a.prepare(t, tr)
	}
	policy := a.policy
	if policy == nil {
		policy = cross
	}
	return world{t: t, box: b, tree: tr, confined: confined, policy: policy}
}

func (w world) attack(a attack) string {
	w.t.Helper()
	if a.do != nil {
		return a.do(w)
	}
	return w.calls(a.calls...)
}

// control is what the control must answer, given how many answers it made.
func (a attack) control(got string) string {
	if a.free != "" {
		return a.free
	}
	return strings.TrimSpace(strings.Repeat("ok ", max(1, len(strings.Fields(got)))))
}

// proven fails the test where a verdict is not as public as it has to be: a gap
// must be in the plan, and a residual limit in the manual.
func (o outcome) proven(t *testing.T, w world) {
	t.Helper()
	if name, ok := strings.CutPrefix(o.verdict, "gap "); ok {
		if gaps := w.plan().Gaps; !slices.Contains(gaps, name) {
			t.Errorf("the plan names gaps %q, and %q is none of them", gaps, name)
		}
	}
	if name, ok := strings.CutPrefix(o.verdict, "residual "); ok {
		test, _, _ := strings.Cut(t.Name(), "/")
		if !strings.Contains(limitsPage(t), "[`"+test+"`](") {
			t.Errorf("docs/limits.md does not link to %s, which shows the limit %q", test, name)
		}
	}
}

// plan is what the launcher says about a policy.
type plan struct {
	Gaps, OverDenials, Limits []string
}

func (w world) plan() plan {
	w.t.Helper()
	argv := append([]string{testenv.Launcher(w.t), "plan", "--json", "--quiet", "--backend", w.box.backend}, w.policy(w.tree)...)
	c := w.command()
	c.Argv = append(argv, "--", "true")
	res := c.Run(w.t)
	var p struct{ Backends []plan }
	if err := json.Unmarshal([]byte(res.Stdout), &p); err != nil || len(p.Backends) != 1 {
		w.t.Fatalf("plan gave %+v: %v", res, err)
	}
	return p.Backends[0]
}

func limitsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// landlockABI is the kernel's, or 0.
var landlockABI, _ = landlock.ABI()

// program is a program that a case needs, and the name of the facility. What
// every machine that runs the tests must have is the facility tools.
func program(name string) func() (string, error) {
	return func() (string, error) {
		_, err := exec.LookPath(name)
		if name == "git" {
			return testenv.FacilityTools, err
		}
		return name, err
	}
}
