package dsh

import (
	"errors"
	"fmt"
	"strings"
)

// Bwrap is what DSH's sandbox tells bubblewrap: everything is read, and nothing but
// what is bound again is written.
type Bwrap struct {
	Writable, ReadOnly []string // bound at their own place, as written
	PrivateTmp         bool     // an empty /tmp of the command's own
	Isolate            bool     // its own processes
	DieWithParent      bool
	Argv               []string
}

// ParseBwrap reads bubblewrap's arguments, "--" and the command. It has to begin with
// "--ro-bind / /". real returns the path behind what is written, or an error where
// nothing is there.
//
// To bubblewrap a later argument hides an earlier one, and a policy goes by depth.
// Both are one where each argument lies below the earlier ones that it differs from;
// any other order is an error.
func ParseBwrap(args []string, real func(path string) (string, error)) (Bwrap, error) {
	p := bwrapParser{real: real}
	for len(args) > 0 && args[0] != "--" {
		n, err := p.option(args)
		if err != nil {
			return Bwrap{}, err
		}
		args = args[n:]
	}
	switch {
	case len(args) < 2:
		return Bwrap{}, errors.New("no -- and command")
	case args[1] == "":
		return Bwrap{}, errors.New("the command is empty")
	case !p.based:
		return Bwrap{}, errors.New("no --ro-bind / / before --")
	}
	p.out.Argv = args[1:]
	return p.out, nil
}

type bwrapParser struct {
	real  func(string) (string, error)
	out   Bwrap
	based bool     // everything is bound, read-only
	seen  []string // options that come once
	roots []bound
}

// bound is a place that has got something: a path of the host, or an empty directory.
type bound struct {
	path   string
	option string
}

// option reads the first option of args and returns how many words it has.
func (p *bwrapParser) option(args []string) (n int, err error) {
	option := args[0]
	operands := map[string]int{
		"--ro-bind": 2, "--bind": 2, "--dev": 1, "--proc": 1, "--tmpfs": 1, "--unshare-pid": 0, "--die-with-parent": 0,
	}
	n, known := operands[option]
	switch {
	case !known:
		return 0, fmt.Errorf("argument %q is not understood", option)
	case len(args) <= n:
		return 0, fmt.Errorf("%s wants more arguments", option)
	}
	words := args[1 : n+1]
	if n == 2 {
		return 3, p.bind(option, words[0], words[1])
	}
	for _, other := range p.seen {
		if other == option {
			return 0, fmt.Errorf("%s is there twice", option)
		}
	}
	p.seen = append(p.seen, option)
	switch place := strings.Join(words, ""); {
	case option == "--unshare-pid":
		p.out.Isolate = true
	case option == "--die-with-parent":
		p.out.DieWithParent = true
	case place != map[string]string{"--dev": "/dev", "--proc": "/proc", "--tmpfs": "/tmp"}[option]:
		return 0, fmt.Errorf("%s %q is not understood", option, place)
	case option == "--tmpfs":
		p.out.PrivateTmp = true
		return 2, p.put(option, place)
	}
	return n + 1, nil
}

func (p *bwrapParser) bind(option, from, to string) error {
	switch {
	case from != to:
		return fmt.Errorf("%s %q %q shows a path in another place", option, from, to)
	case from == "":
		return fmt.Errorf("%s: the path is empty", option)
	case from == "/" && option == "--ro-bind" && !p.based && len(p.roots) == 0 && len(p.seen) == 0:
		p.based = true
		return nil
	case from == "/":
		return fmt.Errorf("%s / / after other arguments, or writable, undoes them", option)
	}
	if err := p.put(option, from); err != nil {
		return err
	}
	if option == "--bind" {
		p.out.Writable = append(p.out.Writable, from)
	} else {
		p.out.ReadOnly = append(p.out.ReadOnly, from)
	}
	return nil
}

// put notes what a place gets, and refuses what would hide something else.
func (p *bwrapParser) put(option, path string) error {
	real, err := p.real(path)
	if err != nil {
		return fmt.Errorf("%s %q: %w", option, path, err)
	}
	for _, earlier := range p.roots {
		if !holds(real, earlier.path) || option == earlier.option {
			continue
		}
		if earlier.option == "--tmpfs" && option == "--bind" && real == earlier.path {
			p.out.PrivateTmp = false // all of it is hidden by the host's
			continue
		}
		return fmt.Errorf("%s %q would hide %s %q, which comes before it", option, path, earlier.option, earlier.path)
	}
	p.roots = append(p.roots, bound{real, option})
	return nil
}

func holds(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
