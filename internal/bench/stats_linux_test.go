package main

import (
	"testing"
	"time"
)

func TestStatistics(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name            string
		samples, base   []time.Duration
		med, low, extra time.Duration
	}{
		{"nothing was run", nil, nil, 0, 0, 0},
		{"one round", []time.Duration{5 * ms}, []time.Duration{2 * ms}, 5 * ms, 5 * ms, 3 * ms},
		{"odd count takes the middle one", []time.Duration{9 * ms, 1 * ms, 4 * ms}, []time.Duration{1 * ms, 1 * ms, 1 * ms}, 4 * ms, 1 * ms, 3 * ms},
		{"even count takes the mean of the middle two", []time.Duration{8 * ms, 2 * ms, 4 * ms, 1 * ms}, []time.Duration{0, 0, 0, 0}, 3 * ms, 1 * ms, 3 * ms},
		{"an outlier does not move the median", []time.Duration{3 * ms, 900 * ms, 3 * ms}, []time.Duration{1 * ms, 1 * ms, 1 * ms}, 3 * ms, 3 * ms, 2 * ms},
		{"a drift of the machine cancels out in what is added", []time.Duration{2 * ms, 12 * ms, 22 * ms}, []time.Duration{1 * ms, 11 * ms, 21 * ms}, 12 * ms, 2 * ms, 1 * ms},
		{"rounds left out do not count", []time.Duration{missing, 6 * ms, missing}, []time.Duration{1 * ms, 2 * ms, 3 * ms}, 6 * ms, 6 * ms, 4 * ms},
		{"rounds left out of the base do not count", []time.Duration{4 * ms, 6 * ms}, []time.Duration{missing, 1 * ms}, 5 * ms, 4 * ms, 5 * ms},
		{"what is faster than the base adds less than nothing", []time.Duration{1 * ms}, []time.Duration{3 * ms}, 1 * ms, 1 * ms, -2 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := median(tt.samples); got != tt.med {
				t.Errorf("median(%v) = %v, want %v", tt.samples, got, tt.med)
			}
			if got := minimum(tt.samples); got != tt.low {
				t.Errorf("minimum(%v) = %v, want %v", tt.samples, got, tt.low)
			}
			if got := added(tt.samples, tt.base); got != tt.extra {
				t.Errorf("added(%v, %v) = %v, want %v", tt.samples, tt.base, got, tt.extra)
			}
		})
	}
}

func TestStatisticsLeaveTheSamplesInOrder(t *testing.T) {
	samples := []time.Duration{3, 1, 2}
	median(samples)
	minimum(samples)
	if samples[0] != 3 || samples[1] != 1 || samples[2] != 2 {
		t.Errorf("samples were reordered: %v", samples)
	}
}

func TestBudgets(t *testing.T) {
	row := func(name string, added time.Duration) start { return start{Name: name, Added: added} }
	met := []start{
		row(nameFloor, 100), row(nameLandlock+forWorkspace, 125), row(nameLandrun, 200),
		row(nameBwrap+forWorkspace, 500), row(nameAlone+forWorkspace, 260), row(nameNaive+forWorkspace, 200),
		row(nameBwrap+forAgents, 741), row(nameAlone+forAgents, 500), row(nameNaive+forAgents, 296),
	}
	tests := []struct {
		budget, verdict string
		value           float64
	}{
		{"a user's landlock: added / exec-only added", "met", 1.25},
		{"a user's landlock: added / landrun added", "met", 0.625},
		{"a user's bwrap, workspace: (added - bwrap alone) / exec-only added", "met", 2.4},
		{"a user's bwrap, workspace: added / naive added", "met", 2.5},
		{"a user's bwrap, agents: (added - bwrap alone) / exec-only added", "missed", 2.41},
		{"a user's bwrap, agents: added / naive added", "missed", 741.0 / 296},
	}
	got := budgets("a user's ", met)
	if len(got) != len(tests) {
		t.Fatalf("budgets gave %d rows, want %d", len(got), len(tests))
	}
	for i, tt := range tests {
		if got[i].Name != tt.budget || got[i].Verdict != tt.verdict || got[i].Value != tt.value {
			t.Errorf("budget %d = %+v, want %q %v %s", i, got[i], tt.budget, tt.value, tt.verdict)
		}
	}
	met[2].Missing = "landrun is not installed"
	if got := budgets("a user's ", met)[1]; got.Verdict != "not measured: landrun is not installed" {
		t.Errorf("budget without landrun = %+v", got)
	}
}
