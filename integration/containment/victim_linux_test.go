package containment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// victim is an unconfined process of the same user that an attack turns to.
type victim struct {
	PID  int
	Name string  // of what may outlive it when it is killed, which the next of its number cannot open
	Addr uintptr // where the secret lies in its memory
	FD   int     // where it has the secret open
	Port int
	SHM  int // System V shared memory
	Key  int // in the user's keyring
}

// victimMain is started with a directory and the file of the secret. It reads
// files for whoever asks: at DIR/service.sock, on the abstract socket named after
// its pid, on a TCP port, and for lines "SOURCE TARGET" written to DIR/orders. It
// holds the secret in all the places where processes of one user find it, and
// makes DIR/signalled when it gets SIGUSR1.
func victimMain(args []string) int {
	dir, file := args[0], args[1]
	v := victim{PID: os.Getpid(), Name: ownName()}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGUSR1)
	go func() {
		for range signals {
			os.WriteFile(dir+"/signalled", nil, 0o644)
		}
	}()
	err := v.hold(dir, file)
	if err == nil {
		err = v.serve(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
		return 1
	}
	json.NewEncoder(os.Stdout).Encode(v)
	buf := make([]byte, 1)
	os.Stdin.Read(buf) // until the test closes it
	v.release()
	return 0
}

// kept keeps the secret in memory, where the victim says it is.
var kept []byte

// hold puts the secret wherever another process of the user may look for it.
func (v *victim) hold(dir, file string) error {
	var err error
	if v.FD, err = unix.Open(file, unix.O_RDONLY, 0); err != nil {
		return err
	}
	text, err := readText(v.FD)
	if err != nil {
		return err
	}
	v.Addr = uintptr(unsafe.Pointer(&text[0]))
	kept = text
	if v.SHM, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err != nil {
		return fmt.Errorf("shmget: %w", err)
	}
	mem, err := unix.SysvShmAttach(v.SHM, 0, 0)
	if err != nil {
		return fmt.Errorf("shmat: %w", err)
	}
	mem[0] = 's'
	if v.Key, err = unix.AddKey("user", fmt.Sprintf("confine-%d", v.PID), []byte("secret"), unix.KEY_SPEC_USER_KEYRING); err != nil {
		return fmt.Errorf("add_key: %w", err)
	}
	const possessorAndUser = 0x3f3f0000
	if err := unix.KeyctlSetperm(v.Key, possessorAndUser); err != nil {
		return fmt.Errorf("keyctl: %w", err)
	}
	if err := os.WriteFile("/dev/shm/"+v.Name, text, 0o600); err != nil {
		return err
	}
	return queue(v.Name)
}

// ownName is a name that no other process has or had.
func ownName() string { return fmt.Sprintf("confine-%d-%d", os.Getpid(), time.Now().UnixNano()) }

// queue leaves a message in a POSIX message queue.
func queue(name string) error {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	attr := [8]int64{0, 1, 64}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(path)), unix.O_RDWR|unix.O_CREAT, 0o600, uintptr(unsafe.Pointer(&attr)), 0, 0)
	if errno != 0 {
		return errno
	}
	text := []byte("secret")
	if _, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, fd, uintptr(unsafe.Pointer(&text[0])), 6, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func unlinkQueue(name string) {
	if path, err := unix.BytePtrFromString(name); err == nil {
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(path)), 0, 0)
	}
}

// ownQueue makes a queue and removes it.
func ownQueue() error {
	name := ownName()
	defer unlinkQueue(name)
	return queue(name)
}

// release removes what would outlive the process.
func (v *victim) release() {
	unix.SysvShmCtl(v.SHM, unix.IPC_RMID, nil)
	// Not KEYCTL_INVALIDATE: the kernel takes the link off the keyring then, and keeps
	// its four bytes in the user's quota, until after some 5,000 no key can be made.
	unix.KeyctlInt(unix.KEYCTL_UNLINK, v.Key, unix.KEY_SPEC_USER_KEYRING, 0, 0)
	os.Remove("/dev/shm/" + v.Name)
	unlinkQueue(v.Name)
}

// serve reads files for others.
func (v *victim) serve(dir string) error {
	path, err := net.Listen("unix", dir+"/service.sock")
	if err != nil {
		return err
	}
	abstract, err := net.Listen("unix", fmt.Sprintf("@confine-%d", v.PID))
	if err != nil {
		return err
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	v.Port = tcp.Addr().(*net.TCPAddr).Port
	for _, l := range []net.Listener{path, abstract, tcp} {
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				line, _ := bufio.NewReader(c).ReadString('\n')
				text, _ := os.ReadFile(strings.TrimSpace(line))
				c.Write(text)
				c.Close()
			}
		}()
	}
	if err := unix.Mkfifo(dir+"/orders", 0o600); err != nil {
		return err
	}
	orders, err := os.OpenFile(dir+"/orders", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	go func() {
		lines := bufio.NewScanner(orders)
		for lines.Scan() {
			from, to, _ := strings.Cut(lines.Text(), " ")
			if text, err := os.ReadFile(from); err == nil {
				os.WriteFile(to, text, 0o644)
			}
		}
	}()
	return nil
}

// victim starts one outside, with the world's user, whose directory is a new one
// of the tree.
func (w world) victim(dir string) victim {
	w.t.Helper()
	w.tree.Mkdir(dir)
	cmd := testenv.Command{
		User: w.box.user, Dir: w.tree.Path(bob + "/memory"), Home: w.tree.Home(),
		Argv: []string{testenv.Helper(w.t), "victim", w.tree.Path(dir), w.tree.Path(secret)},
	}.Cmd(context.Background())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	var v victim
	if err := json.NewDecoder(out).Decode(&v); err != nil {
		in.Close()
		w.t.Fatalf("the victim did not start: %v: %s", err, &stderr)
	}
	return v
}

// toVictim is an attack on a victim: its calls may name the victim's numbers.
func toVictim(calls ...string) func(w world) string {
	return func(w world) string {
		w.t.Helper()
		v := w.victim("out/victim")
		return w.calls(v.fill(calls)...)
	}
}

func (v victim) fill(calls []string) []string {
	replace := strings.NewReplacer("PID", fmt.Sprint(v.PID), "NAME", v.Name, "ADDR", fmt.Sprint(v.Addr), "FD", fmt.Sprint(v.FD),
		"PORT", fmt.Sprint(v.Port), "SHM", fmt.Sprint(v.SHM), "KEY", fmt.Sprint(v.Key))
	filled := make([]string, len(calls))
	for i, c := range calls {
		filled[i] = replace.Replace(c)
	}
	return filled
}
