package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// results is all that one run found out.
type results struct {
	Rounds  int      `json:"rounds"`
	Host    host     `json:"host"`
	Binary  int64    `json:"binary"` // bytes of the launcher's file
	Memory  memory   `json:"supervisor"`
	Starts  []start  `json:"starts"`
	User    []start  `json:"user,omitempty"` // the same of a plain user, where the calling one is root
	Sizes   []size   `json:"sizes,omitempty"`
	Budgets []budget `json:"budgets"`
}

// budget is a limit on one ratio or time, and whether this run kept it.
type budget struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Least   float64 `json:"least,omitempty"` // the same of the shortest rounds, which a busy machine disturbs less
	Limit   float64 `json:"limit"`
	Unit    string  `json:"unit,omitempty"` // empty: a ratio
	Verdict string  `json:"verdict"`        // met, missed, or "not measured: reason"
}

func (b budget) judge() budget {
	b.Verdict = "missed"
	if b.Value <= b.Limit {
		b.Verdict = "met"
	}
	return b
}

// budgets holds the starts against the limits that the project set itself. The
// bare exec is taken off everything first. Each name begins with whose they are.
func budgets(whose string, starts []start) []budget {
	list := []budget{
		times(whose+"landlock: added / exec-only added", 1.25, starts, nameLandlock+forWorkspace, nameFloor),
		times(whose+"landlock: added / landrun added", 0.7, starts, nameLandlock+forWorkspace, nameLandrun),
	}
	for _, p := range []string{forWorkspace, forAgents} {
		word := p[2 : len(p)-1]
		list = append(list,
			beyond(whose+"bwrap, "+word+": (added - bwrap alone) / exec-only added", 2.4, starts, starts, nameBwrap+p, nameAlone+p),
			times(whose+"bwrap, "+word+": added / naive added", 2.5, starts, nameBwrap+p, nameNaive+p))
	}
	return list
}

// sizeBudgets are the limits on growth.
func sizeBudgets(starts []start, sizes []size) []budget {
	var list []budget
	for _, s := range sizes {
		switch {
		case s.What == writableRoots && s.Count == 100 && len(s.Starts) == 2:
			list = append(list, beyond("bwrap, 100 roots: (added - bwrap alone) / exec-only added", 2.4, starts, s.Starts, nameBwrap, nameAlone))
		case s.What == writableRoots && s.Count == 1000 && len(s.Starts) == 1:
			b := budget{Name: "landlock, 1000 roots: added", Limit: 6, Unit: " ms"}
			if c := find(s.Starts, nameLandlock); c == nil {
				b.Verdict = "not measured: " + why(s.Starts, nameLandlock)
			} else {
				b.Value, b.Least = c.Added.Seconds()*1000, least(starts, c).Seconds()*1000
				b = b.judge()
			}
			list = append(list, b)
		}
	}
	return list
}

// sizeOf is a budget of bytes. why says why they were not measured.
func sizeOf(title string, limit float64, bytes int64, why error) budget {
	b := budget{Name: title, Limit: limit, Unit: " MiB", Value: float64(bytes) / (1 << 20)}
	if why != nil {
		b.Verdict = "not measured: " + why.Error()
		return b
	}
	return b.judge()
}

// times is what name adds as a multiple of what other adds.
func times(title string, limit float64, starts []start, name, other string) budget {
	b := budget{Name: title, Limit: limit}
	a, o := find(starts, name), find(starts, other)
	if a == nil || o == nil {
		b.Verdict = "not measured: " + cmp.Or(why(starts, name), why(starts, other))
		return b
	}
	b.Value, b.Least = ratio(a.Added, o.Added), ratio(least(starts, a), least(starts, o))
	return b.judge()
}

// beyond is what name adds beyond what other adds, as a multiple of what the
// exec-only program adds.
func beyond(title string, limit float64, main, starts []start, name, other string) budget {
	b := budget{Name: title, Limit: limit}
	a, o, floor := find(starts, name), find(starts, other), find(main, nameFloor)
	if a == nil || o == nil || floor == nil {
		b.Verdict = "not measured: " + cmp.Or(why(starts, name), why(starts, other), why(main, nameFloor))
		return b
	}
	b.Value, b.Least = ratio(a.Added-o.Added, floor.Added), ratio(a.Min-o.Min, least(main, floor))
	return b.judge()
}

// least is what s adds to bare exec, by the shortest round of each.
func least(starts []start, s *start) time.Duration {
	if bare := find(starts, nameBare); bare != nil {
		return s.Min - bare.Min
	}
	return s.Min
}

// why returns the reason for which a contestant was not measured, or "".
func why(starts []start, name string) string {
	for _, s := range starts {
		if s.Name == name {
			return s.Missing
		}
	}
	return name + " did not take part"
}

// print writes the tables for people.
func (r *results) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "Spawn and wait, milliseconds; %d interleaved rounds, uid %d, %d processors.\n", r.Rounds, r.Host.UID, r.Host.CPUs)
	fmt.Fprintf(w, "added: over bare exec in the same round, median. ratio: added over that of the exec-only program.\n\n")
	fmt.Fprintf(t, "median\tmin\tadded\tratio\trules\t  \t\n")
	for _, s := range r.Starts {
		row(t, s, s.Name)
	}
	t.Flush()
	if len(r.User) > 0 {
		fmt.Fprintf(w, "\nThe same as uid %d.\n\n", nobody)
		fmt.Fprintf(t, "median\tmin\tadded\tratio\trules\t  \t\n")
		for _, s := range r.User {
			row(t, s, s.Name)
		}
		t.Flush()
	}
	if len(r.Sizes) > 0 {
		fmt.Fprintf(w, "\nPolicy sizes, with fewer rounds.\n\n")
		fmt.Fprintf(t, "median\tmin\tadded\tratio\trules\t  \t\n")
		for _, size := range r.Sizes {
			for _, s := range size.Starts {
				row(t, s, fmt.Sprintf("%d %s: %s", size.Count, size.What, s.Name))
			}
		}
		t.Flush()
	}
	fmt.Fprintf(w, "\nBudgets.\n\n")
	fmt.Fprintf(t, "found\tat most\t  \t\n")
	for _, b := range r.Budgets {
		if b.Verdict != "met" && b.Verdict != "missed" {
			fmt.Fprintf(t, "-\t%.2f%s\t  \t%s: %s\n", b.Limit, b.Unit, b.Name, b.Verdict)
			continue
		}
		fmt.Fprintf(t, "%.2f%s\t%.2f%s\t  \t%s: %s\n", b.Value, b.Unit, b.Limit, b.Unit, b.Name, b.Verdict)
	}
	return t.Flush()
}

func row(t io.Writer, s start, name string) {
	if s.Missing != "" {
		fmt.Fprintf(t, "-\t-\t-\t-\t-\t  \t%s: not measured: %s\n", name, s.Missing)
		return
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	rules := "-"
	if s.Rules > 0 {
		rules = fmt.Sprint(s.Rules)
	}
	fmt.Fprintf(t, "%.3f\t%.3f\t%.3f\t%.2f\t%s\t  \t%s\n", ms(s.Median), ms(s.Min), ms(s.Added), s.Ratio, rules, name)
}
