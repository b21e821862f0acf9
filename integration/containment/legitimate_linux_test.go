package containment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/letta-confine/letta-confine/internal/testenv"
)

// use is ordinary work, a script that must do confined what it does unconfined.
// Its working directory is the workspace; what it caches goes to .cache there,
// which the control fills for the others.
type use struct {
	name    string
	script  string
	prepare func(t *testing.T, tr *testenv.Tree)
	need    string // the facility that the script needs; empty: tools

	// writable is what a workspace policy has to list for it; empty: the workspace.
	writable string

	// over names the over-denial, or the limit of docs/limits.md, on account of
	// which a backend refuses it, by backend, by backend and policy, or by "".
	over map[string]string
}

// limit says that the manual has it, rather than the plan.
const limit = "limit "

// uses runs the control of each case once for a user, and then the case on both
// backends, with writes restricted to the workspace and with other agents hidden.
func uses(t *testing.T, rootOnly bool, class string, cases []use) {
	t.Parallel()
	for _, u := range cases {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			outer := t
			var controls sync.Map
			each(t, rootOnly, class, u.name, func(t *testing.T, b box) string {
				once, _ := controls.LoadOrStore(b.user, sync.OnceValues(func() (*testenv.Tree, error) {
					w := u.world(outer, b, nil)
					if res := w.run("bash", "-c", u.script); res.Status != 0 {
						return nil, fmt.Errorf("unconfined it ends with %d: %s%s", res.Status, res.Stdout, res.Stderr)
					}
					return w.tree, nil
				}))
				control, err := once.(func() (*testenv.Tree, error))()
				testenv.Need(t, cmp.Or(u.need, testenv.FacilityTools), err)
				verdict := "works"
				for name, policy := range map[string]func(*testenv.Tree) flags{"workspace": work, "cross": cross} {
					if name == "workspace" && u.writable != "" {
						policy = with(policy, "--writable", u.writable)
					}
					w := u.world(t, b, policy)
					if control.Exists("work/.cache") {
						w.copyCache(control)
					}
					res := w.run("bash", "-c", u.script)
					over, refused := u.refused(b, name)
					switch {
					case res.Status == 0 && refused:
						t.Errorf("%s: it works, and %q would refuse it", name, over)
					case res.Status != 0 && !refused:
						t.Errorf("%s: it ends with %d: %s%s", name, res.Status, res.Stdout, res.Stderr)
					case refused:
						verdict = "refused: " + over
						w.listed(over)
					}
				}
				return verdict
			})
		})
	}
}

func (u use) world(t *testing.T, b box, policy func(*testenv.Tree) flags) world {
	t.Helper()
	tr := testenv.NewTree(t, b.user)
	tr.Mkdir("work/tmp")
	if u.prepare != nil {
		u.prepare(t, tr)
	}
	return world{t: t, box: b, tree: tr, confined: policy != nil, policy: policy, env: []string{"TMPDIR=" + tr.Path("work/tmp")}}
}

func (u use) refused(b box, policy string) (over string, refused bool) {
	for _, key := range []string{b.backend + " " + policy, b.backend, ""} {
		if over, refused = u.over[key]; refused {
			break
		}
	}
	return over, refused
}

// listed fails the test where nothing tells of an over-denial.
func (w world) listed(over string) {
	w.t.Helper()
	if words, ok := strings.CutPrefix(over, limit); ok {
		if !strings.Contains(limitsPage(w.t), "**"+words+"**") {
			w.t.Errorf("docs/limits.md does not speak of %q", words)
		}
		return
	}
	list := w.plan().OverDenials
	if !slices.ContainsFunc(list, func(o string) bool { name, _, _ := strings.Cut(o, " "); return name == over }) {
		w.t.Errorf("the plan lists over-denials %q, and %q is none of them", list, over)
	}
}

func (w world) copyCache(control *testenv.Tree) {
	w.t.Helper()
	outside := w
	outside.confined = false
	if res := outside.run("cp", "-R", control.Path("work/.cache"), w.tree.Path("work")); res.Status != 0 {
		w.t.Fatalf("copying the control's cache gave %+v", res)
	}
}

const python = "/usr/bin/python3 "

// TestTools: what agents run all day.
func TestTools(t *testing.T) {
	uses(t, false, "work: tools", []use{
		{name: "git", script: `set -e; git init -q -b main repo; cd repo; git config user.name A; git config user.email a@b.c
			echo one > f; git add .; git commit -qm one; git worktree add -q ../tree -b side; echo two > ../tree/f; git -C ../tree commit -qam two
			git merge -q side; git gc -q; git fsck --strict; git stash list; git clone -q . ../clone`},
		{name: "npm", script: `set -e; export npm_config_cache=$PWD/.npm npm_config_update_notifier=false; mkdir dep app
			echo '{"name": "dep", "version": "1.0.0"}' > dep/package.json
			echo '{"name": "app", "version": "1.0.0", "dependencies": {"dep": "file:../dep"}, "scripts": {"hi": "echo hi > said"}}' > app/package.json
			cd app; npm install --offline --no-audit --no-fund --install-links; npm run -s hi; cat said`},
		{name: "go build", script: `set -e; export GOCACHE=$PWD/.cache/go GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local GOENV=off GOTELEMETRY=off GOPATH=$PWD/.gopath
			mkdir m; cd m; printf 'module example.com/m\n\ngo 1.21\n' > go.mod; printf 'package main\n\nfunc main() { println("hi") }\n' > m.go; go build -o m .; ./m`},
		{name: "gcc", need: "gcc", script: `echo 'int main(void) { return 0; }' > c.c && gcc -o c c.c && ./c`},
		{name: "node", script: `node -e "require('fs').writeFileSync('n.js', '1'); require('child_process').execSync('true')"`},
		{name: "python venv", script: python + `-m venv --without-pip env && env/bin/python -c 'import sys; assert sys.prefix.endswith("env")'`},
		{name: "python processes", script: python + `-c 'import multiprocessing as m; p = m.Pool(2); assert p.map(abs, [-1, 2]) == [1, 2]; p.close()'`, writable: "/dev/shm", over: map[string]string{"landlock cross": "devices"}},
		{name: "python terminal", script: python + `-c 'import os, pty; m, s = pty.openpty(); os.write(s, b"x"); assert os.read(m, 1) == b"x"'`},
		{name: "tmux", need: "tmux", script: `set -e; export SHELL=/bin/sh; t="tmux -f /dev/null -S $PWD/sock"; $t new-session -d 'sleep 20'; $t ls; $t kill-server`},
		{name: "ssh-agent", need: "ssh-agent", script: `ssh-agent sh -c 'ssh-keygen -q -t ed25519 -N "" -f key && ssh-add -q key && ssh-add -l'`},
		{name: "script", need: "script", script: `script -qec 'echo hi' typescript | grep -q hi`},
		{name: "strace", need: "strace", script: `strace -o trace /bin/true && test -s trace`},
		{name: "gdb", need: "gdb", script: `gdb -q -batch -ex run -ex quit --args /bin/true 2>&1 | grep -q 'exited normally'`},
		{name: "tar and cp", script: `set -e; tar cf t.tar sub; mkdir x; tar xf t.tar -C x; cp -a sub y; diff -r sub y`},
	})
}

// TestSystem: what the kernel gives every process.
func TestSystem(t *testing.T) {
	uses(t, false, "work: system", []use{
		{name: "rename and link across directories", script: `set -e; mkdir a b; echo x > a/f; ln a/f b/g; mv -T a/f b/f; mv -T a b/a; test -e b/f -a -e b/g -a -d b/a`},
		{name: "metadata of its own", script: `set -e; echo x > f; chmod 750 f; touch -d 2001-01-01 f; chgrp "$(id -g)" f; ` + python + `-c 'import os; os.setxattr("f", "user.a", b"1")'`},
		{name: "/dev/stdout and /dev/stderr", script: `set -e; (echo a > /dev/stdout; echo b > /dev/stderr) > log 2>&1; grep -q b log`},
		{name: "heredoc and process substitution", script: `set -e; cat <<< hello; cat <(echo x) | grep -q x; cat << EOF
y
EOF`},
		{name: "devices", script: `set -e; exec 3<> /dev/null; echo x > /dev/zero; head -c 1 /dev/urandom > r; ! echo x > /dev/full`},
		{name: "fifo", script: `mkfifo p && (echo hi > p &) && grep -q hi p`},
		{name: "sockets", script: python + `-c '
import os, socket
for family, name in ((1, "s"), (1, "\0confine-%d" % os.getpid()), (2, ("127.0.0.1", 0))):
    s = socket.socket(family); s.bind(name); s.listen(); socket.socket(family).connect(s.getsockname())'`},
		{name: "signals to a child", script: `sleep 5 & kill $! && wait $!; test $? = 143`},
		{name: "locks and watches", script: `set -e; echo x > f; flock f true; ` + python + `-c 'import fcntl; fcntl.lockf(open("f", "r+"), fcntl.LOCK_EX)'`},
		{name: "program of its own", script: `cp /bin/true t && ./t`},
		{name: "names of hosts", script: `getent hosts localhost`},
		{name: "processes of others", script: `ps -e | grep -q ps && test -r /proc/$PPID/status`},
		{name: "POSIX semaphore", script: python + `-c 'import multiprocessing; multiprocessing.Lock()'`, writable: "/dev/shm", over: map[string]string{"landlock cross": "devices"}},
		{name: "user namespace", script: `unshare -U true`},
		{name: "nested bubblewrap", need: "userns", script: `bwrap --ro-bind / / --dev /dev true`, over: map[string]string{"": limit + "Nested sandboxes"}},
	})
}

// TestMessageQueues: Landlock has no rule that would let a process open a POSIX
// message queue, its own neither, and a layer of it lies inside bubblewrap too.
func TestMessageQueues(t *testing.T) {
	uses(t, false, "work: system", []use{{name: "POSIX message queue", script: testenv.Helper(t) + ` calls mq-own | grep -qx ok`, over: map[string]string{"": limit + "POSIX message queues"}}})
}

// TestNestedLauncher: the launcher in a sandbox of its own stacks Landlock.
func TestNestedLauncher(t *testing.T) {
	uses(t, false, "work: system", []use{{name: "nested launcher", script: testenv.Launcher(t) + ` --quiet --require any --allow-over-denial --restrict-writes --writable "$PWD" -- sh -c 'echo x > f && ! echo x > /confine-test'`}})
}

// TestRootsWork: what uid 0 does with the capabilities that it keeps.
func TestRootsWork(t *testing.T) {
	others := func(t *testing.T, tr *testenv.Tree) {
		tr.Write("work/theirs", "x")
		command("chown", "1234:1234", tr.Path("work/theirs"))
		command("chmod", "600", tr.Path("work/theirs"))
	}
	uses(t, true, "work: as root", []use{
		{name: "su", script: `su nobody -s /bin/sh -c 'id -u' | grep -qx 65534`},
		{name: "setpriv", script: `setpriv --reuid 1234 --regid 1234 --clear-groups id -u | grep -qx 1234`},
		{name: "chown", script: `set -e; echo x > f; chown 1234:1234 f; test "$(stat -c %u f)" = 1234; chmod 4755 f`},
		{name: "mknod of a fifo", script: `mknod p p && test -p p`},
		{name: "other users' files", prepare: others, script: `set -e; cat theirs; echo y >> theirs; test "$(stat -c %u theirs)" = 1234`},
		{name: "raw socket", script: python + `-c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'`},
		{name: "file capabilities", script: `cp /bin/true t && ` + python + `-c 'import os, struct; os.setxattr("t", "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))'`},
	})
}
