package main

import (
	"fmt"
	"os/exec"
	"path"
	"strings"
)

// apparmorVariable names the policy that a guest loads, as setuidVariable does its
// part.
const apparmorVariable = "HOSTS_APPARMOR"

// policies are for bubblewrap, by which it may do everything, or everything
// but make a user namespace. Ubuntu's kernels forbid it to every program without a policy that
// allows it (the sysctl apparmor_restrict_unprivileged_userns), which Debian's and
// the mainline kernel cannot; what bubblewrap meets is the same check and errno.
var policies = map[string]string{
	"userns":    policyHead + "}\n",
	"no-userns": policyHead + "  deny userns,\n}\n",

	// For the launcher, and what it starts.
	"launcher": strings.ReplaceAll(policyHead, "bwrap", "letta-confine") + "  deny userns,\n}\n",
}

const policyHead = `abi <4.0>,
profile bwrap /usr/bin/bwrap flags=(attach_disconnected) {
  allow all,
`

// policyDir is where a guest has the policies, their compiler, and what that
// includes.
const policyDir = "/usr/apparmor"

// policy returns what is there, for a tree.
func (e *env) policy(s *suite) ([]file, error) {
	deb, err := e.deb(s, "apparmor")
	if err != nil {
		return nil, err
	}
	const compiler, abi = "usr/sbin/apparmor_parser", "etc/apparmor.d/abi/4.0"
	files, err := e.unpack(deb, func(path string) bool { return path == compiler || path == abi })
	if err != nil {
		return nil, err
	}
	tree := []file{{path: policyDir[1:], mode: modeDir | 0o755}}
	for name, text := range policies {
		tree = append(tree, file{path: path.Join(policyDir[1:], name), mode: modeRegular | 0o644, data: []byte(text)})
	}
	for _, f := range files {
		f.path = path.Join(policyDir[1:], path.Base(f.path))
		tree = append(tree, f)
	}
	return tree, nil
}

// loadPolicy loads a policy into the kernel of a guest.
func loadPolicy(name string) error {
	if err := mountAt("securityfs", "/sys/kernel/security", ""); err != nil {
		return err
	}
	out, err := exec.Command(policyDir+"/apparmor_parser", "--add", "--skip-cache", "--config-file", "/dev/null", "--base", policyDir, path.Join(policyDir, name)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("apparmor_parser: %w: %s", err, out)
	}
	return nil
}
