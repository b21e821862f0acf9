package containment

import (
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

const helpers = "helpers"

// isolated is the cross-agent policy with processes isolated, which Landlock
// cannot do and refuses.
var isolated = with(cross, "--isolate-processes")

// TestHelpers: a program outside that reads or writes for whoever asks does so
// for the command, wherever it is reached.
func TestHelpers(t *testing.T) {
	run(t, false, "helpers", []attack{
		{name: "path socket", do: toVictim("ask out/victim/service.sock " + secret), want: everywhere(residual(helpers, "ok"))},
		{name: "path socket in a read-only place", policy: work, do: toVictim("ask out/victim/service.sock " + secret), want: everywhere(residual(helpers, "ok"))},
		{name: "abstract socket", do: toVictim("ask =@confine-PID " + secret), want: everywhere(residual(helpers, "ok"))},
		{name: "abstract socket, isolated", policy: isolated, do: toVictim("ask =@confine-PID " + secret), want: either(held("EPERM"), held("refused"))},
		{name: "TCP port", do: toVictim("ask-tcp =127.0.0.1:PORT " + secret), want: everywhere(residual(helpers, "ok"))},
		{name: "fifo", do: order, want: everywhere(residual(helpers, "ok ok"))},
		{name: "fifo in a read-only place", policy: work, do: toVictim("open-write out/victim/orders"), want: everywhere(held("EACCES"))},
		{
			name: "fifo in a readonly root of a writable place", policy: protect(func(*testenv.Tree) flags { return nil }, "--read-only", "out/sub"),
			prepare: func(_ *testing.T, tr *testenv.Tree) { tr.Node("out/sub/fifo", unix.S_IFIFO, 0) },
			calls:   []string{"open-both out/sub/fifo"}, want: either(gap("fifo", "ok"), held("EACCES")),
		},
		{name: "tmux server", do: tmux, want: everywhere(residual(helpers, "ok")), need: program("tmux")},
		{name: "ssh-agent", do: agent, want: everywhere(residual(helpers, "ok")), need: program("ssh-agent")},
	})
}

// order asks the program at the other end of a fifo for a copy of the secret.
func order(w world) string {
	w.t.Helper()
	w.victim("out/victim")
	script := fmt.Sprintf(`echo "%s %s" > %s`, w.tree.Path(secret), w.tree.Path("work/copy"), w.tree.Path("out/victim/orders"))
	if res := w.run("sh", "-c", script); res.Status != 0 {
		return fmt.Sprintf("status-%d", res.Status)
	}
	return "ok " + errnoName(wait(w.tree.Path("work/copy"), 20*time.Second))
}

// tmux lets a server that runs outside read the file.
func tmux(w world) string {
	w.t.Helper()
	outside := w
	outside.confined = false
	socket, copied := w.tree.Path("tmp/tmux"), w.tree.Path("tmp/copy")
	if res := outside.run("env", "SHELL=/bin/sh", "tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "sleep 60"); res.Status != 0 {
		w.t.Fatalf("starting tmux gave %+v", res)
	}
	defer outside.run("tmux", "-S", socket, "kill-server")
	if res := w.run("tmux", "-S", socket, "run-shell", "cat "+w.tree.Path(secret)+" > "+copied+".part && mv "+copied+".part "+copied); res.Status != 0 {
		return fmt.Sprintf("status-%d", res.Status)
	}
	return errnoName(wait(copied, 20*time.Second))
}

// agent uses the keys of an ssh-agent.
func agent(w world) string {
	w.t.Helper()
	outside := w
	outside.confined = false
	socket := w.tree.Path("tmp/agent")
	cmd := outside.command("ssh-agent", "-D", "-a", socket).Cmd(w.t.Context())
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := wait(socket, 20*time.Second); err != nil {
		w.t.Fatal(err)
	}
	key := fmt.Sprintf(`ssh-keygen -q -t ed25519 -N "" -f %[2]s && SSH_AUTH_SOCK=%[1]s ssh-add -q %[2]s`, socket, w.tree.Path("tmp/key"))
	if res := outside.run("sh", "-c", key); res.Status != 0 {
		w.t.Fatalf("adding a key gave %+v", res)
	}
	if res := w.run("sh", "-c", "SSH_AUTH_SOCK="+socket+" ssh-add -l"); res.Status != 0 {
		return fmt.Sprintf("status-%d", res.Status)
	}
	return "ok"
}

// TestUnixSockets: a socket below a denied root is out of reach, but for Landlock
// below ABI 9, which has no say in connect.
func TestUnixSockets(t *testing.T) {
	inBob := func(w world) string {
		w.victim(bob + "/run")
		return w.calls("ask " + bob + "/run/service.sock " + secret)
	}
	landlock := gap("unix-sockets", "ok")
	if landlockABI >= 9 {
		landlock = held("EACCES")
	}
	run(t, false, "helpers", []attack{{name: "path socket below a denied root", do: inBob, want: either(held("ENOENT"), landlock)}})
}

// TestSharedMemory: what processes of one user share without a file system is
// not files, and isolation is asked for.
func TestSharedMemory(t *testing.T) {
	const limit = "processes"
	run(t, false, "shared memory", []attack{
		{name: "System V shared memory", do: toVictim("shm =SHM"), want: everywhere(residual(limit, "ok"))},
		{name: "System V shared memory, isolated", policy: isolated, do: toVictim("shm =SHM"), want: either(held("EINVAL"), held("refused"))},
		{name: "POSIX message queue", do: toVictim("mq =NAME"), want: everywhere(held("EACCES"))},
		{name: "POSIX message queue, isolated", policy: isolated, do: toVictim("mq =NAME"), want: either(held("ENOENT"), held("refused"))},
		{name: "keyring", do: toVictim("key =KEY"), want: everywhere(residual(limit, "ok"))},
		{name: "keyring, isolated", policy: isolated, do: toVictim("key =KEY"), want: either(held("EPERM"), held("refused"))},
		{name: "/dev/shm", do: toVictim("read =/dev/shm/NAME", "append =/dev/shm/NAME"), want: either(held("ENOENT ENOENT"), held("EACCES EACCES"))},
	})
}

// TestProcesses: the command can do to processes of its own user what it could
// without the launcher, unless they are isolated.
func TestProcesses(t *testing.T) {
	const limit = "processes"
	var attacks []attack
	for _, c := range []struct{ name, call, isolated string }{
		{"kill", "kill =PID", "ESRCH"},
		{"pidfd_send_signal", "pidfd =PID", "ESRCH"},
		{"signal by F_SETOWN", "fsetown =PID", "ESRCH"},
		{"prlimit", "prlimit =PID", "ESRCH"},
		{"OOM score", "open-write =/proc/PID/oom_score_adj", "ENOENT"},
		{"command line", "read =/proc/PID/cmdline", "ENOENT"},
	} {
		want := everywhere(residual(limit, "ok"))
		if c.name == "OOM score" {
			want["landlock/root"] = held("EACCES") // over-denial kernel-files
		}
		attacks = append(attacks,
			attack{name: c.name, do: toVictim(c.call), want: want},
			attack{name: c.name + ", isolated", policy: isolated, do: toVictim(c.call), want: either(held(c.isolated), held("refused"))})
	}
	attacks = append(attacks,
		attack{name: "daemon lives on", do: daemon, want: everywhere(residual(limit, "ok"))},
		attack{name: "daemon lives on, isolated", policy: isolated, do: daemon, want: either(held("gone"), held("refused"))})
	run(t, false, "processes", attacks)
}

// daemon leaves a process behind that makes a file after the command has ended.
func daemon(w world) string {
	w.t.Helper()
	w.tree.Node("work/life", unix.S_IFIFO, 0)
	life, err := os.OpenFile(w.tree.Path("work/life"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer life.Close()
	res := w.run("setsid", "sh", "-c", `exec 9>life; (while ! [ -e ended ]; do sleep 0.02; done; touch late) <&- >/dev/null 2>&1 &`)
	if res.Status == 125 {
		return "refused"
	}
	testenv.WriteFile(w.t, w.tree.Path("work/ended"), "", 0o644)
	life.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := life.Read(make([]byte, 1)); err != io.EOF {
		return fmt.Sprintf("neither-%v", err)
	}
	if !w.tree.Exists("work/late") {
		return "gone"
	}
	return "ok"
}
