package main

// A workload is one thing that a person or an agent does in a workspace.
type workload struct {
	name   string
	needs  string // the programs that it cannot do without, separated by spaces
	script string // for bash, with -e and in an empty directory; nothing of it needs the network
}

// workloads are the fifty. Each checks what it did, so that a tool which fails and
// says nothing counts as failed.
var workloads = []workload{
	{"shell", "", `for i in 1 2 3; do echo $i >f$i; done; cat f* | sort -r >all
		diff <(echo a) <(echo a); cat <<<here >h; f=$(mktemp); rm "$f"; test "$(wc -l <all)" = 3`},
	{"devices", "", `echo a >/dev/null; test "$(head -c4 /dev/urandom | wc -c)" = 4; ! echo a 2>/dev/null >/dev/full; echo a >/dev/stderr`},
	{"shared-memory", "", `: >/dev/shm/workload$$; rm /dev/shm/workload$$`},
	{"coreutils", "tar gzip", `mkdir d; echo a >d/a; tar czf d.tgz d; tar xzf d.tgz; cp -a d e; ln d/a h; ln -s d/a s; chmod 600 d/a; touch -d @0 d/a; mv d f; cmp f/a h`},
	{"edit", "sed awk patch diff", `printf 'a\nb\n' >f; cp f g; sed -i s/a/c/ g; diff -u f g >p || true; patch -s f p; awk '/c/{n++} END{exit n!=1}' f`},
	{"archives", "zip unzip xz", `echo a >f; zip -q f.zip f; rm f; unzip -q f.zip; xz -k f; xz -dc f.xz | cmp - f`},
	{"search", "find grep xargs", `mkdir -p a/b; echo needle >a/b/f; find . -type f -print0 | xargs -0 grep -l needle | grep -q a/b/f`},
	{"jq", "jq", `echo '{"a":[1,2]}' >j; test "$(jq '.a|add' j)" = 3`},
	{"git", "git", `git init -q .; echo a >a; git add a; git commit -qm m; git branch b; git worktree add -q wt b; (cd wt; echo b >b; git add b; git commit -qm b)
		git merge -q b; git gc -q; git fsck --strict; test "$(git log --oneline --all | wc -l)" = 2`},
	{"git-hooks", "git", `git init -q .; printf '#!/bin/sh\necho ran >hook.out\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo c >c; git add c; git commit -qm c; test -f hook.out`},
	{"git-clone", "git", `git init -q a; git -C a commit -q --allow-empty -m m; git clone -q a b; git -C a commit -q --allow-empty -m n; git -C b pull -q; git -C b stash -q; git -C b status --short`},
	{"git-rebase", "git", `git init -q -b main .; git commit -q --allow-empty -m r; git checkout -q -b t; echo t >t; git add t; git commit -qm t; git checkout -q main; echo u >u; git add u; git commit -qm u; git rebase -q main t; test -f u`},
	{"make-gcc", "make gcc", `printf '#include <stdio.h>\nint main(){puts("hi");return 0;}\n' >a.c; printf 'a: a.c\n\tgcc -O1 -o a a.c\n' >Makefile; make -s -j2; ./a`},
	{"g++", "g++", `printf 'template<class T>T f(T a){return a;}\nint main(){return f(0);}\n' >a.cc; g++ -g -o a a.cc; ./a`},
	{"go-build", "go", `printf 'module m\ngo 1.21\n' >go.mod; printf 'package main\nfunc main(){println(1)}\n' >m.go; go build -o m .; ./m; go vet .`},
	{"go-test", "go", `printf 'module m\ngo 1.21\n' >go.mod; printf 'package m\nimport "testing"\nfunc TestA(t *testing.T){t.TempDir()}\n' >m_test.go; go test ./...`},
	{"cargo", "cargo", `cargo init -q --name m --vcs none .; cargo build -q --offline; ./target/debug/m`},
	{"node", "node", `echo 'require("fs").writeFileSync("o","1"); new (require("worker_threads").Worker)("1",{eval:true})' >a.js; node a.js; test -f o`},
	{"node-watch", "node", `node -e 'const f=require("fs"); f.writeFileSync("a","1"); const w=f.watch(".",()=>process.exit(0)); setTimeout(()=>f.writeFileSync("a","2"),50); setTimeout(()=>process.exit(1),5000)'`},
	{"npm-install", "npm node", `mkdir dep; echo '{"name":"dep","version":"1.0.0","main":"i.js"}' >dep/package.json; echo 'module.exports=1' >dep/i.js
		echo '{"name":"m","version":"1.0.0"}' >package.json; npm install --offline --no-audit --no-fund --install-links ./dep; node -e 'require("dep")'`},
	{"npm-run", "npm node", `echo '{"name":"m","version":"1.0.0","scripts":{"t":"node -e 1"}}' >package.json; npm run -s t`},
	{"python", "python3", `python3 -c 'import tempfile; tempfile.NamedTemporaryFile(); tempfile.mkdtemp()'; echo x=1 >mod.py; python3 -c 'import mod'; test -d __pycache__`},
	{"python-pool", "python3", `python3 -c 'import multiprocessing as m; p=m.Pool(2); assert sum(p.map(abs,[-1,2]))==3'`},
	{"python-venv", "python3", `python3 -m venv --without-pip v; . v/bin/activate; python -c 'import sys; assert sys.prefix != sys.base_prefix'`},
	{"perl", "perl", `perl -MFile::Temp=tempfile -e 'tempfile(); open F,">","o"; print F 1'; test -f o`},
	{"sqlite", "sqlite3", `test "$(sqlite3 d.db 'pragma journal_mode=wal; create table t(a); insert into t values(7); select a from t' | tail -1)" = 7`},
	{"sqlite-python", "python3", `python3 -c 'import sqlite3; c=sqlite3.connect("d"); c.execute("pragma journal_mode=wal"); c.execute("create table t(a)"); c.commit()'`},
	{"ssh-keygen", "ssh-keygen", `ssh-keygen -q -t ed25519 -N '' -f k; ssh-keygen -y -f k | cut -d' ' -f1,2 | cmp - <(cut -d' ' -f1,2 k.pub)`},
	{"ssh-agent", "ssh-agent ssh-add ssh-keygen", `eval "$(ssh-agent -a "$PWD/s")" >/dev/null; trap 'kill $SSH_AGENT_PID' EXIT; ssh-keygen -q -t ed25519 -N '' -f k; ssh-add -q k; ssh-add -l`},
	{"ssh-agent-tmp", "ssh-agent ssh-add", `eval "$(ssh-agent)" >/dev/null; trap 'kill $SSH_AGENT_PID' EXIT; ssh-add -l || test $? = 1`},
	{"tmux", "tmux", `tmux -S "$PWD/s" -f /dev/null new-session -d -x 80 -y 24 'echo hi; sleep 5'; trap 'tmux -S "$PWD/s" kill-server' EXIT
		for i in 1 2 3 4 5 6 7 8 9; do tmux -S "$PWD/s" capture-pane -p | grep -q hi && exit 0; sleep 0.2; done; exit 1`},
	{"terminal", "script", `script -qec tty out >/dev/null; grep -q /dev/pts out`},
	{"vim", "vim", `vim -Nu NONE -es +'normal iabc' +'wq! f'; grep -q abc f`},
	{"gdb", "gdb gcc", `echo 'int main(){return 3;}' >a.c; gcc -g -o a a.c; gdb -nx -q -batch -ex 'set startup-with-shell off' -ex run -ex 'p $_exitcode' ./a | grep -q '= 3'`},
	{"strace", "strace", `strace -f -o t true; test -s t`},
	{"valgrind", "valgrind", `valgrind -q true`},
	{"java", "java javac", `echo 'public class A{public static void main(String[] a){System.out.println(1);}}' >A.java; javac A.java; java A`},
	{"extended-attributes", "python3", `touch a; python3 -c 'import os; os.setxattr("a","user.x",b"1"); assert os.getxattr("a","user.x")==b"1"'`},
	{"own-group", "", `touch a; chgrp "$(id -g)" a; umask 077; mkdir d; chmod 2755 d`},
	{"chown", "", `touch a; chown 1000 a`},
	{"fifo", "", `mkfifo p; (echo hi >p &); test "$(cat p)" = hi`},
	{"unix-socket", "python3", `python3 -c 'import socket as s; a=s.socket(s.AF_UNIX); a.bind("x"); a.listen(); b=s.socket(s.AF_UNIX); b.connect("x")'`},
	{"loopback", "python3", `python3 -c 'import socket as s; a=s.socket(); a.bind(("127.0.0.1",0)); a.listen(); s.create_connection(a.getsockname())'`},
	{"locks", "flock python3", `flock l true; python3 -c 'import fcntl; fcntl.lockf(open("k","w"),fcntl.LOCK_EX)'`},
	{"semaphore", "python3", `python3 -c 'import multiprocessing as m; m.Semaphore(1).acquire()'`},
	{"gpg", "gpg gpgconf", `export GNUPGHOME=$PWD/g; mkdir -m 700 g; trap 'gpgconf --kill all' EXIT; gpg -q --batch --passphrase '' --quick-gen-key a@example.com default default never; gpg -q --list-keys a@example.com`},
	{"openssl", "openssl", `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -out c -days 1 -subj /CN=a 2>/dev/null; openssl x509 -in c -noout`},
	{"dbus", "dbus-run-session", `dbus-run-session -- true`},
	{"processes", "ps", `test "$(ps aux | wc -l)" -gt 1; test "$(readlink /proc/self/exe)"; ls /proc/self/fd >/dev/null; sleep 30 & kill $!; wait $! || test $? = 143; timeout 1 sleep 5 || test $? = 124`},
	{"other-user", "su", `test "$(su -s /bin/sh nobody -c 'id -u')" = 65534`},
	{"nested-bwrap", "bwrap", `bwrap --ro-bind / / true`},
	{"mount", "mount", `mkdir m; unshare -m mount -t tmpfs none m`},
	{"packages", "dpkg apt-cache", `dpkg -l bash >/dev/null; apt-cache policy bash >/dev/null`},
	{"busybox", "busybox", `busybox sh -c 'echo a >a; busybox tar cf a.tar a; busybox vi -h >/dev/null 2>&1 || true; test -s a.tar'`},
	{"rename-out", "", `echo a >a; mv a /tmp/workload.$$; rm /tmp/workload.$$`},
}
