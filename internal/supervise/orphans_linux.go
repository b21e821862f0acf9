package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/launch"
)

// adopt makes the supervisor inherit what its descendants leave behind, or stops
// that. Bubblewrap that is killed between making its child and telling it to go
// on leaves the child waiting for good (0.8.0); adopted, it can be found and
// ended. Only until the stage is ready: what the command leaves behind later is
// nobody's but init's, as without a launcher.
func adopt(on bool) {
	var arg uintptr
	if on {
		arg = 1
	}
	// Without it (it is there from Linux 3.4) the orphan is init's.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, arg, 0, 0, 0)
}

// endOrphans ends and reaps the bubblewrap processes that the supervisor has
// adopted: children of that name that are no older than its own. Others, which it
// had before it became this program, are left.
func endOrphans(program string, since uint64) {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil || !isNamed(pid, filepath.Base(program)) || launch.Started(word) < since {
				continue
			}
			unix.Kill(pid, unix.SIGKILL)
			unix.Wait4(pid, nil, 0, nil)
		}
	}
}

// isNamed reports whether a process is called so, as far as the kernel keeps
// names (TASK_COMM_LEN).
func isNamed(pid int, name string) bool {
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	return err == nil && string(bytes.TrimSuffix(comm, []byte("\n"))) == name[:min(len(name), 15)]
}
