package main

import "testing"

// TestTableAndHosts: every host has a row for each user, and every row a host.
func TestTableAndHosts(t *testing.T) {
	table, err := rows(expected)
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]string]bool{}
	for _, h := range hosts {
		for _, user := range []string{"root", "user"} {
			want[[2]string{h.name, user}] = true
		}
	}
	for _, r := range table {
		key := [2]string{r.host, r.user}
		if !want[key] {
			t.Errorf("row %q is of no host, or there twice", key)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%q has no row", key)
	}
}

func TestExpectedTextFollowsTheVersion(t *testing.T) {
	const text = "partial names truncate<3 unix-sockets<9"
	for abi, want := range map[int]string{
		2: "partial names truncate unix-sockets", 3: "partial names unix-sockets", 8: "partial names unix-sockets", 9: "partial names",
	} {
		if got := on(text, abi); got != want {
			t.Errorf("on(%q, %d) = %q, want %q", text, abi, got, want)
		}
	}
}

func TestNoVerdictIsNoMatch(t *testing.T) {
	r := row{want: []string{"0", "bwrap", "0", "full", "partial names"}}
	if r.differs(verdict{}) == "" {
		t.Error("an empty verdict passes for an expected one")
	}
	if got := r.differs(verdict{Probe: "0", Auto: "bwrap", Exit: "0", Bwrap: "full", Landlock: "partial names"}); got != "" {
		t.Errorf("the expected verdict differs: %s", got)
	}
}
