// Hosts runs the launcher on many hosts, most of them made on this machine, and
// holds what it says and does there against a table (expected.tsv): real kernels
// in an emulator, kernels that lack something, containers, sandboxes, odd roots,
// and other versions of bubblewrap.
//
// On each host one small program plays the judge: the launcher probes the host,
// then confines a set of acts through the backend that auto takes and through each
// by name, and the acts are answered as that backend answers, or nothing ran and
// the launcher ended with 125. The same acts succeed unconfined.
//
// # Limits
//
// A host that cannot be made here is skipped by name: without root most of them, and
// where the system's packages do not come from a Debian mirror, all that is
// fetched. Fewer than three booted kernels are a failure, whatever the reason.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/letta-confine/letta-confine/landlock"
)

// faces are what this program is on the hosts that it makes.
var faces = map[string]func(args []string) int{
	"judge": judgeMain,
	"acts":  actsMain,
	"sim":   simMain,
	"enter": enterMain,
}

func main() {
	if isInit() {
		initMain()
		return
	}
	if len(os.Args) > 1 {
		if face, ok := faces[os.Args[1]]; ok {
			os.Exit(face(os.Args[2:]))
		}
	}
	launcher := flag.String("launcher", "bin/letta-confine", "the launcher, a static program")
	cache := flag.String("cache", "bin/hosts", "directory for what is fetched")
	only := flag.String("only", "", "run only the hosts whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *launcher, *cache, *only); err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

// leastKernels is how many kernels must have booted for the run to mean anything.
const leastKernels = 3

func run(ctx context.Context, launcher, cache, only string) error {
	table, err := rows(expected)
	if err != nil {
		return err
	}
	e, err := newEnv(ctx, launcher, cache)
	if err != nil {
		return err
	}
	defer os.RemoveAll(e.dir)
	var chosen []host
	for _, h := range hosts {
		if strings.Contains(h.name, only) {
			chosen = append(chosen, h)
		}
	}
	began := time.Now()
	wrong, kernels := 0, map[string]bool{}
	for done := range e.runAll(chosen) {
		for _, user := range []string{"root", "user"} {
			v, judged := done.verdicts[user]
			if judged && done.host.boots {
				kernels[v.Kernel] = true
			}
			ok, line := done.line(table, user)
			fmt.Println(line)
			if !ok {
				wrong++
			}
		}
	}
	fmt.Printf("%d hosts, %d kernels booted, %.0f s\n", len(chosen), len(kernels), time.Since(began).Seconds())
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case wrong > 0:
		return fmt.Errorf("%d rows are not as expected", wrong)
	case only == "" && len(kernels) < leastKernels:
		return fmt.Errorf("%d kernels booted, want %d at least", len(kernels), leastKernels)
	}
	return nil
}

// outcome is what came of one host.
type outcome struct {
	host     host
	verdicts map[string]verdict // by user
	skipped  error              // why the host could not be made
	err      error
}

// line is what is printed of a host and a user, and whether it is as it should be.
func (o outcome) line(table []row, user string) (ok bool, line string) {
	name := o.host.name + ", " + user
	v, judged := o.verdicts[user]
	at := slices.IndexFunc(table, func(r row) bool { return r.host == o.host.name && r.user == user })
	switch {
	case judged && at < 0:
		return false, "FAIL  " + name + ": the table has no such row: " + strings.Join(v.columns(), "\t")
	case judged && table[at].differs(v) != "":
		return false, "FAIL  " + name + ": " + table[at].differs(v)
	case judged:
		line := fmt.Sprintf("ok    %-50s probe %s  auto: %s, exit %s  bwrap: %s  landlock: %s", name, v.Probe, v.Auto, v.Exit, v.Bwrap, v.Landlock)
		if o.host.boots {
			line += fmt.Sprintf("  (Linux %s, Landlock ABI %d)", v.Kernel, v.ABI)
		}
		return true, line
	case o.err != nil:
		return false, fmt.Sprintf("FAIL  %s: %v", name, o.err)
	case o.skipped != nil:
		return true, fmt.Sprintf("skip  %s: %v", name, o.skipped)
	}
	return true, "skip  " + name + ": only root can be both users"
}

// runAll runs hosts, some at a time, and yields them in the order of the list.
func (e *env) runAll(list []host) <-chan outcome {
	places := make([]chan outcome, len(list))
	slots := make(chan struct{}, max(2, runtime.NumCPU()))
	for i := range places {
		places[i] = make(chan outcome, 1)
	}
	go func() {
		for i, h := range list {
			slots <- struct{}{}
			go func() {
				places[i] <- e.runHost(h)
				<-slots
			}()
		}
	}()
	ordered := make(chan outcome)
	go func() {
		defer close(ordered)
		for i, place := range places {
			for waiting := 2 * time.Second; waiting > 0; {
				select {
				case o := <-place:
					ordered <- o
					waiting = 0
				case <-time.After(waiting):
					fmt.Fprintf(os.Stderr, "  ... %s\n", list[i].name)
					waiting = 10 * time.Second
				}
			}
		}
	}()
	return ordered
}

func (e *env) runHost(h host) outcome {
	o := outcome{host: h}
	if h.needsRoot && os.Geteuid() != 0 {
		o.skipped = errors.New("needs root")
		return o
	}
	if _, err := landlock.ABI(); err != nil && !h.boots {
		o.skipped = fmt.Errorf("this machine's Landlock: %w", err)
		return o
	}
	if e.ctx.Err() != nil {
		o.err = e.ctx.Err()
		return o
	}
	o.verdicts, o.err = h.run(e)
	var s skip
	if errors.As(o.err, &s) {
		o.skipped, o.err = s, nil
	}
	return o
}

// skip is the reason why a host cannot be made here.
type skip struct{ error }

// env is what hosts are made from.
type env struct {
	ctx      context.Context
	dir      string // removed at the end; readable for every user
	self     string // this program, in dir
	launcher string // likewise
	cache    string // absolute; stays
}

func newEnv(ctx context.Context, launcher, cache string) (*env, error) {
	dir, err := os.MkdirTemp("/var/tmp", "letta-confine-hosts-")
	if err != nil {
		return nil, err
	}
	e := &env{ctx: ctx, dir: dir, self: dir + "/hosts", launcher: dir + "/letta-confine"}
	// Anew, because a host may have other libraries, or none.
	err = e.build(runtime.GOARCH, e.self, "integration/hosts")
	var program []byte
	if err == nil {
		program, err = os.ReadFile(launcher)
	}
	if err == nil {
		err = os.WriteFile(e.launcher, program, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		e.cache, err = filepath.Abs(cache)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return e, nil
}

// users are the users of a host that this process can be.
func users() []string {
	if os.Geteuid() == 0 {
		return []string{"root", "user"}
	}
	return slices.Clone([]string{"user"})
}
