// Bench measures what a confined start costs, in one interleaved run: this
// launcher on each backend, the same work without it, and the tools that one
// would use instead. It marks the project's budgets as met or missed.
//
// All figures are of spawning a program and waiting for it. Every contestant runs
// once in each round, in an order drawn anew, so that what else the machine does
// falls on all of them alike; what counts is a contestant's median and the median
// of its distance to the bare exec of the same round.
//
// # Limits
//
// The absolute figures are those of the machine. The ratios carry over, as far as
// two processors that share a cache and a busy neighbour let them: differences of
// a twentieth are noise below some hundred rounds. What a cross-agent policy costs
// on Landlock depends on how many files lie beside the temporary directory, and
// both backends pay for the depth at which launcher and temporary directory lie.
// Programs are measured as copies, which is what an installed program is: the file
// that a linker has just written lies in memory in smaller pieces, and starts a
// tenth slower until it is read anew.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/letta-confine/letta-confine/confine"
)

func main() {
	var o options
	flag.StringVar(&o.launcher, "launcher", "bin/letta-confine", "the launcher to measure")
	flag.StringVar(&o.against, "against", "", "an earlier launcher to compare it with, in the same rounds")
	flag.IntVar(&o.rounds, "rounds", 300, "rounds; the policy sizes take a tenth of them, and at least 5")
	flag.BoolVar(&o.sizes, "sizes", true, "measure policy sizes as well")
	asJSON := flag.Bool("json", false, "print JSON")
	page := flag.String("o", "", "write the page `FILE` too (docs/performance.md)")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	res, err := run(ctx, o)
	stop()
	switch {
	case err != nil:
	case *asJSON:
		out := json.NewEncoder(os.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		err = out.Encode(res)
	default:
		err = res.print(os.Stdout)
	}
	if err == nil && *page != "" {
		var text bytes.Buffer
		if err = res.markdown(&text); err == nil {
			err = os.WriteFile(*page, text.Bytes(), 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measureStarts measures the field of the main table.
func measureStarts(ctx context.Context, sc *scratch, o options) ([]start, error) {
	field, err := contestants(sc, o)
	if err != nil {
		return nil, err
	}
	return measure(ctx, sc, field, o.rounds)
}

// measureUser measures the same for a plain user, with whom bubblewrap needs a user
// namespace, and the launcher protects less, because less can be changed.
func measureUser(ctx context.Context, sc *scratch, o options) ([]start, error) {
	user, err := sc.lend()
	if err != nil {
		return nil, err
	}
	o.against = ""
	return measureStarts(ctx, user, o)
}

type options struct {
	launcher, against string
	rounds            int
	sizes             bool
}

// run measures everything. It leaves nothing behind.
func run(ctx context.Context, o options) (*results, error) {
	// Bubblewrap dies with the thread that starts it, and a collection in the
	// middle of a round would be measured.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)

	if err := confine.CloseOnExec(); err != nil {
		return nil, err
	}
	sc, err := newScratch()
	if err != nil {
		return nil, err
	}
	defer sc.remove()
	if o.launcher, err = sc.install(o.launcher, "letta-confine"); err != nil {
		return nil, fmt.Errorf("launcher: %w (make build makes it)", err)
	}
	if o.against != "" {
		if o.against, err = sc.install(o.against, "letta-confine-against"); err != nil {
			return nil, fmt.Errorf("launcher to compare with: %w", err)
		}
	}
	info, err := os.Stat(o.launcher)
	if err != nil {
		return nil, err
	}
	res := &results{Rounds: o.rounds, Host: thisHost(), Binary: info.Size()}
	if res.Starts, err = measureStarts(ctx, sc, o); err != nil {
		return nil, err
	}
	res.Budgets = budgets("", res.Starts)
	if res.Host.UID == 0 {
		if res.User, err = measureUser(ctx, sc, o); err != nil {
			return nil, err
		}
		res.Budgets = append(res.Budgets, budgets("a user's ", res.User)...)
	}
	if o.sizes {
		if res.Sizes, err = measureSizes(ctx, sc, o); err != nil {
			return nil, err
		}
		res.Budgets = append(res.Budgets, sizeBudgets(res.Starts, res.Sizes)...)
	}
	var failed error
	if res.Memory, failed = supervisor(sc, o.launcher); failed != nil {
		fmt.Fprintln(os.Stderr, "bench: supervisor:", failed)
	}
	res.Budgets = append(res.Budgets, sizeOf("bwrap: the supervisor's resident memory", 4, res.Memory.Resident, failed),
		sizeOf("the launcher's file", 4, res.Binary, nil))
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	return res, nil
}
