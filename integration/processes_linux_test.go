package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// TestSandboxMonitor: bubblewrap's own process, which stays outside the sandbox
// as the command's parent, is no way round a mask. The way goes over the parents
// of the command up to the launcher's caller.
func TestSandboxMonitor(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		script := `pid=$$; for i in 1 2 3; do
			pid=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$pid/status); [ "$pid" -gt 0 ] || break
			cat "/proc/$pid/root$1"; cat "/proc/$pid/cwd/../$2"
		done; true`
		res := b.run(t, tr, crossFlags(tr), "sh", "-c", script, "sh", tr.Path(bob+"/memory/x.md"), bob+"/memory/x.md")
		if strings.Contains(res.Stdout, testenv.BobText) {
			t.Errorf("bob's memory can be read through /proc/PID/root of a parent of the command: %q", res.Stdout)
		}
		if free := b.free(t, tr, "sh", "-c", `cat "/proc/$$/root$1"`, "sh", tr.Path(bob+"/memory/x.md")); free.Stdout != testenv.BobText {
			t.Errorf("control: reading through /proc/PID/root unconfined = %+v", free)
		}
	})
}

// TestSiblingSandbox: another confined run of the same user, with another
// policy, is no way round a mask either.
func TestSiblingSandbox(t *testing.T) {
	each(t, func(t *testing.T, b box) {
		tr := testenv.NewTree(t, b.user)
		other := flags{"--deny", tr.Path(agents), "--writable", tr.Path(bob)}
		cmd := b.command(t, tr, other, testenv.Helper(t), "sleep", "60000").Cmd(soon(t))
		start(t, cmd)
		for _, pid := range family(t, cmd.Process.Pid) {
			rows := []row{{"read", fmt.Sprintf("/proc/%d/root%s", pid, tr.Path(bob+"/memory/x.md")), noPtrace, ""}}
			if got := b.calls(t, tr, crossFlags(tr), rows...)[0]; got == "ok" {
				name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
				t.Errorf("bob's memory can be read through /proc/PID/root of a sibling's process %s", strings.TrimSpace(string(name)))
			}
		}
	})
}
