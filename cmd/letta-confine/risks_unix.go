//go:build linux || darwin

package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// risk is a service outside that the command could ask to act for it.
type risk struct {
	Path    string `json:"path"`
	Service string `json:"service"`
}

// services are the sockets of programs that run commands or hand out secrets.
// The patterns may hold %u for the user's number and $NAME for a variable.
var services = []struct{ service, pattern string }{
	{"docker", "/run/docker.sock"},
	{"docker", "/var/run/docker.sock"},
	{"docker", "$XDG_RUNTIME_DIR/docker.sock"},
	{"podman", "/run/podman/podman.sock"},
	{"podman", "$XDG_RUNTIME_DIR/podman/podman.sock"},
	{"containerd", "/run/containerd/containerd.sock"},
	{"system bus", "/run/dbus/system_bus_socket"},
	{"session bus", "$XDG_RUNTIME_DIR/bus"},
	{"systemd", "/run/systemd/private"},
	{"systemd", "$XDG_RUNTIME_DIR/systemd/private"},
	{"ssh agent", "$SSH_AUTH_SOCK"},
	{"gpg agent", "$XDG_RUNTIME_DIR/gnupg/S.gpg-agent"},
	{"gpg agent", "$HOME/.gnupg/S.gpg-agent"},
	{"tmux", "$TMUX_TMPDIR/tmux-%u/*"},
	{"tmux", "/tmp/tmux-%u/*"},
}

// risks lists the services whose sockets are there and that the policy lets the
// command reach: it restricts files, and a socket is as good as the program
// behind it. A denied root that holds the socket closes it.
func (in *inputs) risks() []risk {
	var found []risk
	seen := make(map[string]bool)
	for _, s := range services {
		for _, path := range in.expand(s.pattern) {
			path, err := policy.Canonical(path, hostfs.FS{})
			if err != nil || seen[path] || in.resolved.Decide(path).Access == policy.None {
				continue
			}
			seen[path] = true
			var st unix.Stat_t
			if unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
				found = append(found, risk{path, s.service})
			}
		}
	}
	return found
}

// expand fills in a pattern of services. One whose variable is not set, or holds
// no absolute path, names nothing.
func (in *inputs) expand(pattern string) []string {
	if name, rest, ok := strings.Cut(strings.TrimPrefix(pattern, "$"), "/"); strings.HasPrefix(pattern, "$") {
		value, _ := launch.Getenv(in.env, name)
		if !filepath.IsAbs(value) {
			return nil
		}
		if pattern = value; ok {
			pattern += "/" + rest
		}
	}
	pattern = strings.ReplaceAll(pattern, "%u", strconv.Itoa(unix.Getuid()))
	if !strings.HasSuffix(pattern, "/*") {
		return []string{pattern}
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil // the variable's value is no pattern
	}
	return paths
}

func (r risk) text() string {
	return fmt.Sprintf("%q: %s, reachable; deny it, or the directory that holds it, to close it", r.Path, r.Service)
}
