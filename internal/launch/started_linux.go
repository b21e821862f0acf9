package launch

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// Started returns when a process started, in clock ticks since boot, or 0 if it
// has ended (proc_pid_stat(5), starttime: the 22nd field, the 20th after the
// name, which may hold anything). A pid is as in the name of its /proc directory.
func Started(pid string) uint64 {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
