package probe

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// Each sign of what kind of host this is, on a file system that has it.
func TestLearn(t *testing.T) {
	const noLSM = "/sys/kernel/security/lsm: file does not exist"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tests := []struct {
		name    string
		root    fstest.MapFS
		env     string
		release string
		want    Host
		line    string // one that a person is told
	}{
		{"nothing", nil, "", "6.1.0-18-amd64", Host{LSMError: noLSM}, "  security modules: not known: " + noLSM},
		{
			"security modules",
			fstest.MapFS{lsmFile: file("lockdown,capability,landlock,yama")},
			"", "6.1.0",
			Host{LSM: []string{"lockdown", "capability", "landlock", "yama"}},
			"  security modules: lockdown, capability, landlock, yama",
		},
		{
			"Docker",
			fstest.MapFS{".dockerenv": file("")},
			"", "6.1.0",
			Host{LSMError: noLSM, Container: []string{"/.dockerenv"}},
			"  a container, it seems: /.dockerenv",
		},
		{
			"Podman",
			fstest.MapFS{"run/.containerenv": file("engine=\"podman\"")},
			"podman", "6.1.0",
			Host{LSMError: noLSM, Container: []string{"/run/.containerenv", "container=podman"}},
			"  a container, it seems: container=podman",
		},
		{
			"nspawn",
			fstest.MapFS{"run/systemd/container": file("systemd-nspawn")},
			"", "6.1.0",
			Host{LSMError: noLSM, Container: []string{"/run/systemd/container"}},
			"",
		},
		{
			"Kubernetes",
			fstest.MapFS{cgroupFile: file("0::/kubepods/besteffort/pod1/abc\n")},
			"", "6.1.0",
			Host{LSMError: noLSM, Container: []string{"/proc/1/cgroup: kubepods"}},
			"",
		},
		{"no container", fstest.MapFS{cgroupFile: file("0::/init.scope\n")}, "", "6.1.0", Host{LSMError: noLSM}, ""},
		{
			"WSL 1", nil, "", "4.4.0-19041-Microsoft",
			Host{LSMError: noLSM, WSL: 1},
			"  Windows subsystem for Linux 1, which has neither Landlock nor user namespaces: use version 2",
		},
		{"WSL 2", nil, "", "5.15.90.1-microsoft-standard-WSL2", Host{LSMError: noLSM, WSL: 2}, "  Windows subsystem for Linux 2"},
	}
	for _, tt := range tests {
		got := Host{System: "linux", Kernel: tt.release}
		got.Learn(tt.root, func(name string) string {
			if name == "container" {
				return tt.env
			}
			return ""
		})
		tt.want.System, tt.want.Kernel = "linux", tt.release
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
		if text := strings.Join(got.Lines(), "\n") + "\n"; !strings.HasPrefix(text, "host: linux "+tt.release+"\n") || !strings.Contains(text, tt.line) {
			t.Errorf("%s is told as %q, want %q in it", tt.name, text, tt.line)
		}
	}
}
