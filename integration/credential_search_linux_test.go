package integration

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mirrored is a value as the searcher takes it: it must not find its own arguments.
func mirrored(value string) string {
	b := []byte(value)
	slices.Reverse(b)
	return string(b)
}

// searchMain looks for values, each given backwards, in what it can see of all
// processes and below the paths that follow "--". It prints the places, sorted:
// "environ PID", "cmdline PID", "fd PID", "mem PID" where the memory of a launcher or
// bubblewrap can be opened, or a path. Its own process is "own".
func searchMain(args []string) int {
	at := slices.Index(args, "--")
	var values [][]byte
	for _, v := range args[:at] {
		values = append(values, []byte(mirrored(v)))
	}
	var found []string
	look := func(place, path string) {
		file, err := os.Open(path)
		if err != nil {
			return
		}
		defer file.Close()
		text, _ := io.ReadAll(io.LimitReader(file, 1<<20))
		if slices.ContainsFunc(values, func(v []byte) bool { return bytes.Contains(text, v) }) && !slices.Contains(found, place) {
			found = append(found, place)
		}
	}
	entries, err := os.ReadDir("/proc")
	if err != nil { // Landlock has it not listed where something is denied in it
		for pid := range 1 << 16 {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				searchProcess(pid, look, &found)
			}
		}
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			searchProcess(pid, look, &found)
		}
	}
	for _, root := range args[at+1:] {
		look(root, root)
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				look(path, path)
			}
			return nil
		})
	}
	slices.Sort(found)
	for _, place := range found {
		fmt.Println(place)
	}
	return 0
}

func searchProcess(pid int, look func(place, path string), found *[]string) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	if pid == os.Getpid() {
		look("own", dir+"environ")
		return
	}
	look(fmt.Sprintf("environ %d", pid), dir+"environ")
	look(fmt.Sprintf("cmdline %d", pid), dir+"cmdline")
	comm, _ := os.ReadFile(dir + "comm")
	if name := strings.TrimSpace(string(comm)); name != "letta-confine" && name != "bwrap" {
		return // others' descriptors may be pipes, which would be waited for
	}
	if mem, err := os.Open(dir + "mem"); err == nil {
		mem.Close()
		*found = append(*found, fmt.Sprintf("mem %d", pid))
	}
	fds, _ := os.ReadDir(dir + "fd")
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "fd/" + fd.Name()); err == nil && strings.HasPrefix(to, "/memfd:") {
			look(fmt.Sprintf("fd %d", pid), dir+"fd/"+fd.Name())
		}
	}
}
