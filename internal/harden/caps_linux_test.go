package harden

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The numbers are those of include/uapi/linux/capability.h; a wrong one would
// keep another capability than its name says.
func TestKeptNumbers(t *testing.T) {
	numbers := map[string]uint{
		"CAP_CHOWN": unix.CAP_CHOWN, "CAP_DAC_OVERRIDE": unix.CAP_DAC_OVERRIDE, "CAP_FOWNER": unix.CAP_FOWNER,
		"CAP_FSETID": unix.CAP_FSETID, "CAP_KILL": unix.CAP_KILL, "CAP_SETGID": unix.CAP_SETGID,
		"CAP_SETUID": unix.CAP_SETUID, "CAP_NET_BIND_SERVICE": unix.CAP_NET_BIND_SERVICE,
		"CAP_NET_RAW": unix.CAP_NET_RAW, "CAP_SETFCAP": unix.CAP_SETFCAP, "CAP_SETPCAP": unix.CAP_SETPCAP,
	}
	for _, c := range append(slices.Clone(Kept), SetPCap) {
		if want, ok := numbers[c.Name]; !ok || c.Bit != want {
			t.Errorf("%s is number %d, want %d", c.Name, c.Bit, want)
		}
	}
	if len(Kept) != 10 {
		t.Errorf("%d capabilities are kept, want 10", len(Kept))
	}
}

// What reaches around a mask, a mount or a domain is never kept.
func TestKeptReachesAroundNothing(t *testing.T) {
	for name, bit := range map[string]uint{
		"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SYS_PTRACE": unix.CAP_SYS_PTRACE, "CAP_SYS_MODULE": unix.CAP_SYS_MODULE,
		"CAP_SYS_RAWIO": unix.CAP_SYS_RAWIO, "CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT, "CAP_MKNOD": unix.CAP_MKNOD,
		"CAP_DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH, "CAP_LINUX_IMMUTABLE": unix.CAP_LINUX_IMMUTABLE,
		"CAP_SETPCAP": unix.CAP_SETPCAP, "CAP_BPF": unix.CAP_BPF, "CAP_PERFMON": unix.CAP_PERFMON,
		"CAP_SYS_BOOT": unix.CAP_SYS_BOOT, "CAP_MAC_ADMIN": unix.CAP_MAC_ADMIN, "CAP_MAC_OVERRIDE": unix.CAP_MAC_OVERRIDE,
		"CAP_CHECKPOINT_RESTORE": unix.CAP_CHECKPOINT_RESTORE, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN,
	} {
		if Mask(Kept)&(1<<bit) != 0 {
			t.Errorf("%s is kept", name)
		}
	}
}

func TestMaskAndWithin(t *testing.T) {
	if got := Mask(nil); got != 0 {
		t.Errorf("Mask(nil) = %#x", got)
	}
	if got := Mask([]Capability{{"a", 0}, {"b", 31}, {"c", 40}}); got != 0x10080000001 {
		t.Errorf("Mask = %#x, want 0x10080000001", got)
	}
	if got := Mask(Kept); got != 0x800024fb {
		t.Errorf("Mask(Kept) = %#x, want 0x800024fb", got)
	}
	list := []Capability{{"a", 0}, {"b", 31}, {"c", 40}}
	if got := Within(list, 1<<40|1<<0|1<<5); !slices.Equal(got, []Capability{{"a", 0}, {"c", 40}}) {
		t.Errorf("Within = %v", got)
	}
	if got := Within(list, 0); len(got) != 0 {
		t.Errorf("Within nothing = %v", got)
	}
}

// stepVar makes the test binary drop its capabilities, and print the sets of
// the thread, and of a program that it executes.
const stepVar = "HARDEN_TEST_STEP"

func TestMain(m *testing.M) {
	step := os.Getenv(stepVar)
	if step == "" {
		os.Exit(m.Run())
	}
	runtime.LockOSThread()
	if step == "drop" {
		if err := Drop(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Stdout.Write(status)
	fmt.Println("exec")
	fmt.Println(unix.Exec("/bin/cat", []string{"cat", "/proc/self/status"}, nil))
	os.Exit(1)
}

var sets = []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}

// drop runs the step and returns the sets before and after exec.
func drop(t *testing.T, step string, attr *syscall.SysProcAttr) (thread, program map[string]uint64) {
	t.Helper()
	run := exec.Command("/proc/self/exe")
	run.Env = []string{stepVar + "=" + step}
	run.SysProcAttr = attr
	run.Dir = "/"
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before, after, ok := strings.Cut(string(out), "\nexec\n")
	if !ok {
		t.Fatalf("the step printed %s", out)
	}
	parse := func(text string) map[string]uint64 {
		caps := make(map[string]uint64)
		for line := range strings.Lines(text) {
			name, value, _ := strings.Cut(line, ":")
			if slices.Contains(sets, name) {
				n, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				caps[name] = n
			}
		}
		if len(caps) != len(sets) {
			t.Fatalf("/proc has the sets %v, want %v", caps, sets)
		}
		return caps
	}
	return parse(before), parse(after)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("CONFINE_REQUIRE"), ","), "root") {
		t.Fatal("CONFINE_REQUIRE names root, and this is not")
	}
	t.Skip("needs root: a plain user has no capability to drop")
}

func TestDropAsRoot(t *testing.T) {
	needRoot(t)
	control, _ := drop(t, "keep", nil)
	want := Mask(Kept) & control["CapPrm"]
	if control["CapPrm"] == want {
		t.Fatalf("the test has only %#x, and nothing to drop", want)
	}
	bounding := want
	if control["CapPrm"]&(1<<SetPCap.Bit) == 0 {
		bounding = control["CapBnd"] // it cannot be emptied without CAP_SETPCAP
	}
	// Root has what the bounding set leaves again after exec: hence that set.
	for where, attr := range map[string]*syscall.SysProcAttr{
		"root":                         nil,
		"root with ambient capability": {AmbientCaps: []uintptr{unix.CAP_CHOWN}},
	} {
		thread, program := drop(t, "drop", attr)
		for which, caps := range map[string]map[string]uint64{"thread": thread, "program": program} {
			for name, set := range map[string]uint64{
				"CapEff": want, "CapPrm": want, "CapBnd": bounding, "CapInh": 0, "CapAmb": 0,
			} {
				if caps[name] != set {
					t.Errorf("%s, %s: %s is %#x, want %#x", where, which, name, caps[name], set)
				}
			}
		}
	}
}

// A thread without capabilities is left as it is.
func TestDropAsUser(t *testing.T) {
	var attr *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		attr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	control, _ := drop(t, "keep", attr)
	if control["CapPrm"] != 0 {
		t.Fatalf("a plain user has %#x", control["CapPrm"])
	}
	thread, _ := drop(t, "drop", attr)
	for _, name := range sets {
		if thread[name] != control[name] {
			t.Errorf("%s is %#x, want %#x as before", name, thread[name], control[name])
		}
	}
}

// A user who holds one capability that is kept and one that is not.
func TestDropFromUserWithCapabilities(t *testing.T) {
	needRoot(t)
	attr := &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 65534, Gid: 65534},
		AmbientCaps: []uintptr{unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_ADMIN},
	}
	thread, program := drop(t, "drop", attr)
	kept := uint64(1) << unix.CAP_NET_BIND_SERVICE
	if thread["CapPrm"] != kept || thread["CapEff"] != kept || thread["CapInh"] != 0 || thread["CapAmb"] != 0 {
		t.Errorf("the thread has %#x, want %#x alone", thread, kept)
	}
	if program["CapPrm"] != 0 || program["CapEff"] != 0 {
		t.Errorf("the program has %#x, want none", program)
	}
}

func TestPermitted(t *testing.T) {
	got, err := Permitted()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("CapPrm:\t%016x\n", got); !strings.Contains(string(text), want) {
		t.Errorf("Permitted() = %#x, and /proc says otherwise", got)
	}
}
