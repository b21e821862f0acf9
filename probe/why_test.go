package probe

import "testing"

// The causes are shown on hosts that have them by make hosts; here is what each is
// told from, and what goes before what.
func TestExplain(t *testing.T) {
	const slave = "bwrap: Failed to make / slave: Operation not permitted"
	tests := []struct {
		name  string
		facts Facts
		want  string
	}{
		{"nothing known", Facts{Version: "0.8.0"}, ""},
		{"no version", Facts{}, ""},
		{"old", Facts{Version: "0.3.1", Clone: NotPerm}, "bwrap-too-old "},
		{"old enough", Facts{Version: "0.4.0"}, ""},
		{"newer", Facts{Version: "1.0.0"}, ""},
		{"limit", Facts{Clone: NoSpace}, "bwrap-userns-denied limit"},
		{"filter on user namespaces", Facts{Filtered: NotPerm, Clone: NotPerm}, "bwrap-userns-denied seccomp"},
		{"filter on mounts", Facts{MountFiltered: NotPerm, Said: slave}, "bwrap-userns-denied seccomp"},
		{"filter on pivot_root", Facts{Said: "bwrap: pivot_root: Operation not permitted"}, "bwrap-userns-denied seccomp"},
		{"root of a container", Facts{Root: true, Clone: NotPerm}, "bwrap-userns-denied capability"},
		{"sysctl", Facts{Filtered: NotPerm, Clone: NotPerm, CloneOff: true}, "bwrap-userns-denied sysctl"},
		{"AppArmor's sysctl", Facts{AppArmor: true, Profiles: true}, "bwrap-userns-denied apparmor"},
		{"AppArmor's profile", Facts{Profiles: true, Said: "bwrap: Creating new namespace failed: Permission denied"}, "bwrap-userns-denied apparmor"},
		{"AppArmor's profile, of the launcher too", Facts{Profiles: true, Clone: NoAccess}, "bwrap-userns-denied apparmor"},
		{"chroot", Facts{Clone: NotPerm}, "bwrap-userns-denied chroot"},
		{"Landlock", Facts{Said: slave}, "bwrap-userns-denied landlocked"},
		{"Landlock, root", Facts{Root: true, Privileged: true, Clone: NotPerm}, "bwrap-userns-denied landlocked"},
		{"another module", Facts{Clone: NoAccess}, "bwrap-userns-denied unknown"},
		{"no /proc for the control", Facts{Clone: "ENOENT"}, ""},
		{"masked /proc", Facts{Said: "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"}, "bwrap-proc-denied "},
	}
	for _, tt := range tests {
		w := tt.facts.Explain()
		got := w.Code + " " + w.Cause
		if got == " " {
			got = ""
		}
		if got != tt.want || (w.Hint == "") != (w.Code == "") {
			t.Errorf("%s: %q with the hint %q, want %q", tt.name, got, w.Hint, tt.want)
		}
	}
}
