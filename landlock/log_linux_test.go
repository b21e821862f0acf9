package landlock

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"
)

// The records are those of Documentation/admin-guide/LSM/landlock.rst, and one with a
// path that audit_log_untrustedstring writes in hexadecimal. That a real kernel's are
// read is for make hosts ("newest Linux, audit=1").
func TestParseRecord(t *testing.T) {
	for _, c := range []struct {
		kind   uint16
		text   string
		domain string
		want   Refusal
		made   int
	}{
		{
			unix.AUDIT_LANDLOCK_ACCESS, "audit(1729738800.268:30): domain=195ba459b blockers=fs.read_file,fs.write_file path=\"/usr/bin\" dev=\"vda2\" ino=351",
			"195ba459b",
			Refusal{"/usr/bin", []string{"fs.read_file", "fs.write_file"}},
			0,
		},
		{
			unix.AUDIT_LANDLOCK_ACCESS, "audit(1729738800.268:30): domain=1 blockers=fs.make_reg path=2F7420220A",
			"1",
			Refusal{"/t \"\n", []string{"fs.make_reg"}},
			0,
		},
		{unix.AUDIT_LANDLOCK_ACCESS, "audit(1.2:3): domain=1a blockers=ptrace opid=1 ocomm=\"systemd\"", "1a", Refusal{Blockers: []string{"ptrace"}}, 0},
		{unix.AUDIT_LANDLOCK_ACCESS, "audit(1.2:3): domain=1a blockers=fs.make_reg path=XY", "1a", Refusal{Blockers: []string{"fs.make_reg"}}, 0},
		{
			unix.AUDIT_LANDLOCK_DOMAIN, "audit(1729738800.268:30): domain=195ba459b status=allocated mode=enforcing pid=300 uid=0 exe=\"/root/sandboxer\" comm=\"sandboxer\"",
			"195ba459b",
			Refusal{},
			300,
		},
		{unix.AUDIT_LANDLOCK_DOMAIN, "audit(1729738800.324:33): domain=195ba459b status=deallocated denials=3", "195ba459b", Refusal{}, 0},
		{unix.AUDIT_SYSCALL, "audit(1.2:3): arch=c000003e pid=300 path=\"/x\"", "", Refusal{}, 0},
	} {
		domain, r, made := parseRecord(c.kind, c.text)
		if domain != c.domain || made != c.made || !reflect.DeepEqual(r, c.want) {
			t.Errorf("parseRecord(%q) = %q, %+v, %d, want %q, %+v, %d", c.text, domain, r, made, c.domain, c.want, c.made)
		}
	}
}
