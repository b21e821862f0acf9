package probe

// Codes are the reasons that probe gives, but for landlock-abi-N, which names a
// version. Each is produced by a host of integration/hosts, and a test says by which.
var Codes = []string{
	"bwrap-missing", "bwrap-untrusted", "bwrap-too-old", "bwrap-userns-denied", "bwrap-proc-denied", "bwrap-timeout", "bwrap-failed",
	"landlock-enosys", "landlock-disabled-at-boot", "landlock-blocked-by-seccomp", "landlock-timeout", "landlock-failed",
	"seatbelt-absent", "seatbelt-nested", "seatbelt-profile", "seatbelt-timeout", "seatbelt-failed",
	"policy-refused", "probe-failed",
}

// Causes are those of bwrap-userns-denied.
var Causes = []string{"limit", "sysctl", "seccomp", "capability", "apparmor", "landlocked", "chroot", "unknown"}
