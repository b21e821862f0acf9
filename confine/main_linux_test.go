package confine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/internal/testenv"
	"github.com/letta-confine/letta-confine/policy"
)

// TestMain runs the tests, or is one of the programs that they start: the
// harness, which confines commands, and the command, which tries what it can do.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case "harness":
			os.Exit(harness(os.Args[2]))
		case "bubblewrap":
			fmt.Println(bubblewrapped(os.Args[2]))
			os.Exit(0)
		case "acts":
			fmt.Println(acts(os.Args[2]))
			os.Exit(0)
		}
	}
	if err := CloseOnExec(); err != nil { // the tests inherit what go test was given
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(testenv.Main(m))
}

// acts returns the errno of each act on a tree.
func acts(tree string) string {
	var said []string
	for _, act := range []struct {
		name, file string
		flags      int
	}{
		{"read-denied", "home/.letta/agents/bob/memory/x.md", unix.O_RDONLY},
		{"list-denied", "home/.letta/agents", unix.O_RDONLY | unix.O_DIRECTORY},
		{"write-denied", "home/.letta/agents/bob/memory/x.md", unix.O_WRONLY},
		{"read-carved", "home/.letta/agents/alice/memory/x.md", unix.O_RDONLY},
		{"write-outside", "out/file.txt", unix.O_WRONLY},
		{"create-outside", "out/new", unix.O_WRONLY | unix.O_CREAT},
		{"read-outside", "out/file.txt", unix.O_RDONLY},
		{"create-inside", "work/new", unix.O_WRONLY | unix.O_CREAT},
	} {
		fd, err := unix.Open(filepath.Join(tree, act.file), act.flags|unix.O_CLOEXEC, 0o600)
		word := "ok"
		if errno, failed := err.(unix.Errno); failed {
			word = unix.ErrnoName(errno)
		} else {
			unix.Close(fd)
		}
		said = append(said, act.name+"="+word)
	}
	return strings.Join(said, " ")
}

const (
	free = "read-denied=ok list-denied=ok write-denied=ok read-carved=ok write-outside=ok create-outside=ok read-outside=ok create-inside=ok"

	confined = "read-denied=EACCES list-denied=EACCES write-denied=EACCES read-carved=ok write-outside=EACCES create-outside=EACCES " +
		"read-outside=ok create-inside=ok"
)

// sandboxOf is the policy of the tests.
func sandboxOf(tree string) Sandbox {
	return Sandbox{Policy: policy.Policy{
		RestrictWrites: true,
		Denied:         []string{filepath.Join(tree, "home/.letta/agents")},
		ReadOnly:       []string{filepath.Join(tree, "home/.letta/agents/alice")},
		Writable:       []string{filepath.Join(tree, "work")},
	}}
}

// harness starts many commands at once, confined, while it goes on reading what
// they must not read, and looks at its own threads afterwards.
func harness(tree string) int {
	bad := make(chan string, 1000)
	if err := CloseOnExec(); err != nil {
		bad <- err.Error()
	}
	denied := filepath.Join(tree, "home/.letta/agents/bob/memory/x.md")
	stop := make(chan struct{})
	var readers, starters sync.WaitGroup
	for range 64 {
		readers.Go(func() {
			for {
				if _, err := os.ReadFile(denied); err != nil {
					bad <- "the harness: " + err.Error()
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	for range 24 {
		starters.Go(func() {
			cmd := exec.Command("/proc/self/exe", "acts", tree)
			var out strings.Builder
			cmd.Stdout = &out // a pipe, with a goroutine that copies
			_, err := sandboxOf(tree).Start(cmd)
			if err == nil {
				err = cmd.Wait()
			}
			if got := strings.TrimSpace(out.String()); err != nil || got != confined {
				bad <- fmt.Sprintf("a confined command could %q (%v)", got, err)
			}
		})
	}
	starters.Wait()
	close(stop)
	readers.Wait()
	for _, line := range slices.Concat(restricted(), onEachThread(64, denied), avoidsFirst()) {
		bad <- line
	}
	close(bad)
	for line := range bad {
		fmt.Println(line)
	}
	if out, err := exec.Command("/proc/self/exe", "acts", tree).Output(); strings.TrimSpace(string(out)) != free {
		fmt.Printf("afterwards an unconfined command could %q (%v)\n", out, err)
	}
	fmt.Println("done")
	return 0
}

// restricted returns what the threads of this process have that they must not have.
// A thread that was spent may take a moment to end.
func restricted() (found []string) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		last := time.Now().After(end)
		found = nil
		tasks, _ := filepath.Glob("/proc/self/task/*/status")
		if len(tasks) < 2 {
			return []string{"its threads cannot be seen"}
		}
		for _, task := range tasks {
			text, err := os.ReadFile(task)
			if err != nil {
				continue // it has ended
			}
			for _, want := range []string{"\nNoNewPrivs:\t0\n", "\nSeccomp:\t0\n"} {
				if !strings.Contains(string(text), want) {
					found = append(found, fmt.Sprintf("thread %s lacks %q", task, want))
				}
			}
		}
		if len(found) == 0 || last {
			return found
		}
	}
}

// onEachThread opens a file on n threads that are there at once.
func onEachThread(n int, file string) (bad []string) {
	var all, opened sync.WaitGroup
	var mu sync.Mutex
	all.Add(n)
	seen := make(map[int]bool)
	for range n {
		opened.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
			fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			mu.Lock()
			defer mu.Unlock()
			seen[unix.Gettid()] = true
			if err != nil {
				bad = append(bad, "a thread of the harness: "+err.Error())
				return
			}
			unix.Close(fd)
		})
	}
	opened.Wait()
	if len(seen) != n {
		bad = append(bad, fmt.Sprintf("%d threads, want %d", len(seen), n))
	}
	return bad
}

// avoidsFirst calls onThread on as many threads as it takes to have the first one
// among them: that one cannot end, and is never the one that is restricted. It may be
// the one that waits for input and timers, which is not taken: a timer ends its wait.
func avoidsFirst() (bad []string) {
	for range 1000 {
		first, bad := onManyThreads()
		if first {
			return bad
		}
		time.Sleep(time.Millisecond)
	}
	return []string{"no goroutine ran on the first thread"}
}

// onManyThreads calls onThread on the first thread, if it is among some hundred
// others, and reports whether it was.
func onManyThreads() (first bool, bad []string) {
	var all, called sync.WaitGroup
	const n = 200
	all.Add(n)
	for range n {
		called.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
			if unix.Gettid() == unix.Getpid() {
				first = true
				onThread(func() {
					if unix.Gettid() == unix.Getpid() {
						bad = append(bad, "the first thread would be restricted")
					}
				})
			}
		})
	}
	called.Wait()
	return first, bad
}

// eachUser runs f as root and as a plain user.
func eachUser(t *testing.T, f func(t *testing.T, u testenv.User)) {
	for _, u := range []testenv.User{testenv.Root, testenv.Plain} {
		t.Run(u.Name, func(t *testing.T) {
			testenv.NeedBackend(t, "landlock", u)
			f(t, u)
		})
	}
}

// TestStart: the commands are confined, and the process that starts them is not, nor
// any thread of it.
func TestStart(t *testing.T) {
	eachUser(t, func(t *testing.T, u testenv.User) {
		tr := testenv.NewTree(t, u)
		run := func(face string) string {
			return testenv.Command{User: u, Dir: tr.Path("work"), Home: tr.Home(), Argv: []string{testenv.Helper(t), face, tr.Dir}}.Run(t).Stdout
		}
		if got := strings.TrimSpace(run("acts")); got != free {
			t.Fatalf("unconfined it could %q, want %q", got, free)
		}
		os.Remove(tr.Path("out/new"))
		os.Remove(tr.Path("work/new"))
		if got := run("harness"); got != "done\n" {
			t.Errorf("the harness said:\n%s", got)
		}
	})
}
