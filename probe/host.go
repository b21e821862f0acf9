package probe

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Host is what is known of a host before anything is tried on it.
type Host struct {
	System string `json:"system"`           // as Go names it: linux, darwin
	Kernel string `json:"kernel,omitempty"` // its release, as uname gives it
	UID    int    `json:"uid"`

	// LSM are the security modules that are at work, in the kernel's order, or
	// LSMError says why that could not be read: securityfs is often not mounted in
	// a container. What is not read is not known; an empty list is no module.
	LSM      []string `json:"lsm,omitempty"`
	LSMError string   `json:"lsmError,omitempty"`

	// Container are the signs that this is one, each as it was found. None is
	// proof: anybody can make such a file, and a container need not have one.
	Container []string `json:"container,omitempty"`

	// WSL is 1 or 2 in the Windows subsystem for Linux of that version. The first
	// is no Linux kernel: it has neither Landlock nor user namespaces.
	WSL int `json:"wsl,omitempty"`
}

// Files of the host, without the leading slash.
const (
	lsmFile    = "sys/kernel/security/lsm"
	cgroupFile = "proc/1/cgroup" // of the first process; its own may lie in a namespace
)

// Learn fills in what the files and the variables of a Linux host say.
func (h *Host) Learn(root fs.FS, getenv func(string) string) {
	text, err := fs.ReadFile(root, lsmFile)
	switch {
	case err == nil:
		h.LSM = strings.FieldsFunc(strings.TrimSpace(string(text)), func(r rune) bool { return r == ',' })
	default:
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		h.LSMError = "/" + lsmFile + ": " + err.Error()
	}
	for _, file := range []string{".dockerenv", "run/.containerenv", "run/systemd/container"} {
		if _, err := fs.Stat(root, file); err == nil {
			h.Container = append(h.Container, "/"+file)
		}
	}
	if name := getenv("container"); name != "" {
		h.Container = append(h.Container, "container="+name)
	}
	if text, err := fs.ReadFile(root, cgroupFile); err == nil {
		for _, word := range []string{"/docker", "/kubepods", "/lxc", "/libpod", "/containerd", "/ecs/"} {
			if strings.Contains(string(text), word) {
				h.Container = append(h.Container, "/"+cgroupFile+": "+strings.Trim(word, "/"))
			}
		}
	}
	// WSL 1 calls itself 4.4.0-19041-Microsoft, WSL 2 5.15.90.1-microsoft-standard-WSL2.
	switch release := h.Kernel; {
	case strings.HasSuffix(release, "-Microsoft"):
		h.WSL = 1
	case strings.Contains(strings.ToLower(release), "microsoft"):
		h.WSL = 2
	}
}

// ThisHost is the root of the file system, for Learn.
func ThisHost() fs.FS { return os.DirFS("/") }

// Lines say it to a person.
func (h Host) Lines() []string {
	first := "host: " + h.System
	if h.Kernel != "" {
		first += " " + h.Kernel
	}
	lines := []string{first}
	switch {
	case len(h.LSM) > 0:
		lines = append(lines, "  security modules: "+strings.Join(h.LSM, ", "))
	case h.LSMError != "":
		lines = append(lines, "  security modules: not known: "+h.LSMError)
	}
	for _, sign := range h.Container {
		lines = append(lines, "  a container, it seems: "+sign)
	}
	switch h.WSL {
	case 1:
		lines = append(lines, "  Windows subsystem for Linux 1, which has neither Landlock nor user namespaces: use version 2")
	case 2:
		lines = append(lines, "  Windows subsystem for Linux 2")
	}
	return lines
}
