package main

import (
	"fmt"
	"io"
	"strings"
)

// markdown writes docs/performance.md.
func (r *results) markdown(w io.Writer) error {
	d := document{w: w}
	d.say(`# Performance

This page is written by ` + "`make bench`" + `. All figures are of spawning a program and waiting for it, the command being ` + "`" + command + "`" + `.
Every contestant runs once in each round, in an order drawn anew; what counts is the median of its distance to the bare
exec of the same round. Times are those of one machine; what carries over are the ratios to an exec-only program, a Go program
that does nothing but execute another, and even these move by a tenth with what else a machine does. All programs are copies, as
installed ones are: the file that a linker has just written starts slower.
`)
	d.say("Measured with kernel %s, Landlock ABI %d, bubblewrap %s, %s, %d processors, uid %d, %d rounds (policy sizes: %d).\n",
		r.Host.Kernel, r.Host.ABI, r.Host.Bwrap, r.Host.Go, r.Host.CPUs, r.Host.UID, r.Rounds, sizeRounds(r.Rounds))
	d.say("## Starts\n")
	d.say("Two policies. *workspace* lets the command write one directory and read everything; *agents* lets it write everything but a")
	d.say("directory that is denied, out of which one is carved. *bwrap alone* has the very arguments that the launcher gives to bubblewrap,")
	d.say("*naive* the fewest that say something like the policy, with nothing hardened.\n")
	d.table(r.Starts)
	if len(r.User) > 0 {
		d.say("\n## Starts of a plain user\n")
		d.say("The same with uid %d: bubblewrap makes a user namespace, and less has to be protected, because less can be changed.\n", nobody)
		d.table(r.User)
	}
	if len(r.Sizes) > 0 {
		d.say("\n## Policy sizes\n")
		d.say("The first have so many writable roots and may write nothing else. The others deny a directory among so many siblings, which")
		d.say("Landlock, having no rule that denies, must allow one by one.\n")
		var rows []start
		for _, size := range r.Sizes {
			for _, s := range size.Starts {
				what := size.What
				if size.Count == 1 {
					what = strings.TrimSuffix(what, "s")
				}
				s.Name = fmt.Sprintf("%d %s: %s", size.Count, what, s.Name)
				rows = append(rows, s)
			}
		}
		d.table(rows)
	}
	if r.Memory.Resident > 0 {
		d.say("\n## Memory\n")
		d.say("On Landlock nothing of the launcher stays beside the command. Under bubblewrap a supervisor does: %s resident, %s of it not the",
			mib(r.Memory.Resident), mib(r.Memory.Anonymous))
		d.say("program's file; %s where what several share is counted in parts. The program has %s.", mib(r.Memory.Proportional), mib(r.Binary))
	}
	d.say("\n## Budgets\n")
	d.say("Judged by the medians; *least* is the same ratio of the shortest rounds, which a busy machine disturbs less.\n")
	d.say("| budget | found | least | at most | |\n| --- | ---: | ---: | ---: | --- |")
	for _, b := range r.Budgets {
		found, least := fmt.Sprintf("%.2f%s", b.Value, b.Unit), ""
		if b.Least != 0 {
			least = fmt.Sprintf("%.2f%s", b.Least, b.Unit)
		}
		verdict := b.Verdict
		switch {
		case verdict == "missed":
			verdict = fmt.Sprintf("**missed** by %.1f %%", 100*(b.Value/b.Limit-1))
		case verdict != "met":
			found = "-"
		}
		d.say("| %s | %s | %s | %.2f%s | %s |", b.Name, found, least, b.Limit, b.Unit, verdict)
	}
	d.say("\n## What a start is made of\n")
	d.say("The Landlock path, in parts of the exec-only program's time: that program itself 1; page faults of a program that is five times as")
	d.say("large 0.1; resolving the policy's paths and reading the command line 0.1; installing the system call filter, which the kernel compiles,")
	d.say("0.08; dropping capabilities 0.02; Landlock's rules 0.04; giving back the larger address space 0.05; inits of packages 0.03. No")
	d.say("goroutine, no thread of its own and no other program comes before the command (`TestLaunchPathAlone`).\n")
	d.say("The bubblewrap path beyond bubblewrap is two such starts, the launcher's and that of the stage inside the sandbox, 1.1 with one")
	d.say("processor for the runtime; resolving, checking and writing down the plan is some 0.3, the end of the supervisor and of its threads 0.15;")
	d.say("the rest are the four times that one process waits for another. Root has a private copy of the mounts besides. A denied root adds 0.15:")
	d.say("its mask is looked at 32 times, in turn with what it hides, against somebody who swaps the two. A stage that is no Go program would be")
	d.say("within the budget, and a second language to trust; nothing else that was tried is: [decision 30](decisions/0030-launch-path.md) has what")
	d.say("was done, tried and left. No measure was dropped for speed.")
	return d.err
}

// sizeRounds is how many rounds the policy sizes get.
func sizeRounds(rounds int) int { return max(rounds/10, 5) }

func mib(n int64) string { return fmt.Sprintf("%.2f MiB", float64(n)/(1<<20)) }

// document keeps the first error of writing.
type document struct {
	w   io.Writer
	err error
}

func (d *document) say(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

func (d *document) table(rows []start) {
	d.say("| | added, in exec-only programs | median ms | least ms | rules |\n| --- | ---: | ---: | ---: | ---: |")
	for _, s := range rows {
		if s.Missing != "" {
			d.say("| %s | not measured: %s | | | |", s.Name, strings.ReplaceAll(s.Missing, "|", `\|`))
			continue
		}
		rules := ""
		if s.Rules > 0 {
			rules = fmt.Sprint(s.Rules)
		}
		d.say("| %s | %.2f | %.2f | %.2f | %s |", s.Name, s.Ratio, s.Median.Seconds()*1000, s.Min.Seconds()*1000, rules)
	}
}
