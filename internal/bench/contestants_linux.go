package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/letta-confine/letta-confine/confine"
	"github.com/letta-confine/letta-confine/policy"
)

// command is what every contestant starts.
const command = "/bin/true"

// Names of the contestants. A policy's name follows those that have one.
const (
	nameBare     = "bare exec"
	nameFloor    = "exec-only Go program"
	nameC        = "exec-only C program"
	nameLibrary  = "package confine, landlock"
	nameLandlock = "letta-confine, landlock"
	nameBwrap    = "letta-confine, bwrap"
	nameAlone    = "bwrap alone, same argv"
	nameNaive    = "bwrap, naive argv"
	nameLandrun  = "landrun"
	nameSetpriv  = "setpriv --landlock-access"

	forWorkspace = " (workspace)"
	forAgents    = " (agents)"
)

// contestants returns the field of the main table.
//
// There are two policies. "workspace" lets the command write one directory and
// read everything. "agents" lets it write everything but a directory that is
// denied, out of which one is carved.
func contestants(sc *scratch, o options) ([]contestant, error) {
	workspace := []string{"--restrict-writes", "--writable", sc.workspace}
	agents := []string{"--deny", sc.agents, "--writable", sc.own}
	field := []contestant{
		{name: nameBare, argv: []string{command}},
		{name: nameFloor, argv: []string{sc.floor, command}},
		{name: nameC, argv: []string{sc.floorC, command}, missing: sc.missingC},
		library(sc),
		launcher(sc, o.launcher, "landlock", nameLandlock+forWorkspace, workspace),
		launcher(sc, o.launcher, "landlock", nameLandlock+forAgents, agents),
		launcher(sc, o.launcher, "bwrap", nameBwrap+forWorkspace, workspace),
		launcher(sc, o.launcher, "bwrap", nameBwrap+forAgents, agents),
	}
	if o.against != "" {
		field = append(field,
			launcher(sc, o.against, "landlock", "against: "+nameLandlock+forWorkspace, workspace),
			launcher(sc, o.against, "landlock", "against: "+nameLandlock+forAgents, agents),
			launcher(sc, o.against, "bwrap", "against: "+nameBwrap+forWorkspace, workspace),
			launcher(sc, o.against, "bwrap", "against: "+nameBwrap+forAgents, agents),
		)
	}
	alone := aloneFor(sc, o.launcher, nameAlone+forWorkspace, workspace)
	bwrap := "bwrap"
	if alone.missing == "" {
		bwrap = alone.argv[0]
	}
	naive := func(name string, mounts ...string) contestant {
		argv := append([]string{bwrap}, mounts...)
		return contestant{name: name, argv: append(argv, "--die-with-parent", "--", command), missing: alone.missing}
	}
	field = append(field, alone, aloneFor(sc, o.launcher, nameAlone+forAgents, agents),
		naive(nameNaive+forWorkspace, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", sc.workspace, sc.workspace),
		naive(nameNaive+forAgents, "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", sc.agents, "--bind", sc.own, sc.own),
		landrun(sc), setpriv(sc))
	return field, nil
}

// library is what a Go program pays that starts the command itself, with package
// confine and the workspace policy.
func library(sc *scratch) contestant {
	p := policy.Policy{RestrictWrites: true}
	c := contestant{name: nameLibrary + forWorkspace}
	if sc.as != nil {
		c.missing = "it starts commands as the calling user"
	}
	if err := p.Add(policy.Writable, sc.workspace); err != nil {
		c.missing = err.Error()
	}
	sandbox := confine.Sandbox{Policy: p}
	c.call = func() (time.Duration, error) {
		cmd := exec.Command(command)
		cmd.Dir, cmd.Env = sc.workspace, sc.env
		began := time.Now()
		_, err := sandbox.Start(cmd)
		if err == nil {
			err = cmd.Wait()
		}
		return time.Since(began), err
	}
	return c
}

// launcher is the launcher with a policy, on one backend.
func launcher(sc *scratch, path, backend, name string, flags []string) contestant {
	argv := append([]string{path, "--backend", backend}, flags...)
	c := contestant{name: name, argv: append(argv, "--", command)}
	if p, err := plan(sc, path, backend, flags); err != nil {
		c.missing = err.Error()
	} else {
		c.rules = p.rules()
	}
	return c
}

// aloneFor is bubblewrap with the arguments that the launcher gives it.
func aloneFor(sc *scratch, path, name string, flags []string) contestant {
	p, err := plan(sc, path, "bwrap", flags)
	if err != nil {
		return contestant{name: name, missing: err.Error()}
	}
	return contestant{name: name, argv: append(p.Argv, "--", command), rules: p.rules()}
}

// backendPlan is what the launcher's plan says of a backend.
type backendPlan struct {
	Error string
	Argv  []string
	Rules []struct{ Path string }
}

// rules counts Landlock rules or bubblewrap's mounts.
func (p backendPlan) rules() int {
	n := len(p.Rules)
	for _, arg := range p.Argv {
		switch arg {
		case "--bind", "--ro-bind", "--ro-bind-try", "--dev-bind", "--tmpfs", "--dev", "--proc", "--remount-ro":
			n++
		}
	}
	return n
}

func plan(sc *scratch, launcher, backend string, flags []string) (backendPlan, error) {
	args := append([]string{"plan", "--json", "--backend", backend}, flags...)
	cmd := exec.Command(launcher, append(args, "--", command)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = sc.workspace, sc.env, sc.as
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		line, _, _ := strings.Cut(string(failed.Stderr), "\n")
		return backendPlan{}, errors.New(strings.TrimPrefix(line, "letta-confine: error: "))
	}
	if err != nil {
		return backendPlan{}, err
	}
	var doc struct{ Backends []backendPlan }
	if err := json.Unmarshal(out, &doc); err != nil {
		return backendPlan{}, fmt.Errorf("plan --json: %w", err)
	}
	if len(doc.Backends) != 1 {
		return backendPlan{}, fmt.Errorf("plan --json names %d backends", len(doc.Backends))
	}
	if p := doc.Backends[0]; p.Error != "" {
		return backendPlan{}, errors.New(p.Error)
	}
	return doc.Backends[0], nil
}

// landrun is the nearest relative: Landlock, in Go, by rules on paths.
func landrun(sc *scratch) contestant {
	path, err := program("landrun")
	if err != nil {
		return contestant{name: nameLandrun, missing: err.Error()}
	}
	return contestant{name: nameLandrun, argv: []string{
		path, "--log-level", "error", "--unrestricted-network", "--rox", "/", "--rwx", sc.workspace, "--rw", "/dev", "--", command,
	}}
}

func setpriv(sc *scratch) contestant {
	path, err := program("setpriv")
	if err != nil {
		return contestant{name: nameSetpriv, missing: err.Error()}
	}
	help, _ := exec.Command(path, "--help").Output()
	if !strings.Contains(string(help), "--landlock-access") {
		return contestant{name: nameSetpriv, missing: "setpriv is older than Landlock"}
	}
	return contestant{name: nameSetpriv, argv: []string{
		path, "--no-new-privs", "--landlock-access", "fs",
		"--landlock-rule", "path-beneath:execute,read-file,read-dir:/",
		"--landlock-rule", "path-beneath:write-file,remove-dir,remove-file,make-dir,make-reg,make-sock,make-fifo,make-sym:" + sc.workspace,
		"--landlock-rule", "path-beneath:write-file:/dev", command,
	}}
}
