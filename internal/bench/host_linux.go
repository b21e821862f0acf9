package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/landlock"
)

// host is what a reader has to know of the machine.
type host struct {
	Kernel string `json:"kernel"` // without what its builder added
	Bwrap  string `json:"bwrap"`
	ABI    int    `json:"landlockABI"`
	Go     string `json:"go"`
	CPUs   int    `json:"cpus"`
	UID    int    `json:"uid"`
}

func thisHost() host {
	h := host{Go: runtime.Version(), CPUs: runtime.NumCPU(), UID: os.Getuid(), Kernel: "unknown", Bwrap: "none"}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		h.Kernel, _, _ = strings.Cut(unix.ByteSliceToString(name.Release[:]), "-")
	}
	if out, err := exec.Command("bwrap", "--version").Output(); err == nil {
		h.Bwrap = strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
	}
	h.ABI, _ = landlock.ABI() // 0 says that there is none
	return h
}

// memory is what the supervisor of a command under bubblewrap keeps in memory while
// that runs, in bytes.
type memory struct {
	Resident     int64 `json:"resident"`
	Proportional int64 `json:"proportional"` // what several share counted in parts
	Anonymous    int64 `json:"anonymous"`    // what is not the program's file
}

// supervisor measures the memory of several supervisors and returns the medians.
func supervisor(sc *scratch, launcher string) (memory, error) {
	var seen [3][]int64
	for range 5 {
		m, err := oneSupervisor(sc, launcher)
		if err != nil {
			return memory{}, err
		}
		for i, n := range []int64{m.Resident, m.Proportional, m.Anonymous} {
			seen[i] = append(seen[i], n)
		}
	}
	for i := range seen {
		slices.Sort(seen[i])
	}
	return memory{seen[0][2], seen[1][2], seen[2][2]}, nil
}

func oneSupervisor(sc *scratch, launcher string) (memory, error) {
	cmd := exec.Command(launcher, "--backend", "bwrap", "--restrict-writes", "--writable", sc.workspace, "--", "/bin/sh", "-c", "echo; read line || :")
	cmd.Dir, cmd.Env = sc.workspace, sc.env
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return memory{}, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return memory{}, err
	}
	if err := cmd.Start(); err != nil {
		return memory{}, err
	}
	_, err = bufio.NewReader(stdout).ReadByte()
	time.Sleep(50 * time.Millisecond) // until it waits for the command
	var text []byte
	if err == nil {
		text, err = os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", cmd.Process.Pid))
	}
	stdin.Close()
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	if err != nil {
		return memory{}, err
	}
	m := memory{field(text, "Rss"), field(text, "Pss"), field(text, "Anonymous")}
	if m.Resident == 0 {
		return m, errors.New("the kernel does not say")
	}
	return m, nil
}

// field reads a line such as "Rss:  4284 kB", in bytes; 0 is none.
func field(text []byte, name string) int64 {
	_, after, _ := bytes.Cut(append([]byte("\n"), text...), []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return n << 10
}
