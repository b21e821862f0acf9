package profile

import "github.com/letta-confine/letta-confine/policy"

// workspace is one tenant's directory in a directory of tenants: it is written,
// its neighbours are hidden, and all else is read.
//
// It has nothing to do with the agents of a harness, and denies their trees only
// where --agents-tree names them.
func (b *builder) workspace() error {
	root := given{"--isolation-root", b.Flags.IsolationRoot}
	if root.value == "" {
		return b.fail("", "there is no isolation root", "pass --isolation-root DIR, the directory that holds all workspaces")
	}
	if b.findHome() != nil { // it only says how paths may be spelled
		b.home, b.written = "", ""
	}
	for _, g := range append([]given{root}, trees(b.Flags)...) {
		path, err := b.absolute(g)
		if err != nil {
			return err
		}
		if err := b.deny(path); err != nil {
			return err
		}
	}
	ws := given{"--workspace", b.Flags.Workspace}
	if ws.value == "" {
		ws = given{"working directory", b.Cwd}
	}
	dir, err := b.absolute(ws)
	if err != nil {
		return err
	}
	canonical, err := b.canonical(dir)
	if err != nil {
		return err
	}
	if b.Flags.Workspace == "" && !policy.Holds(b.denied[0], canonical) {
		return b.fail(ws.String(), "is not below the isolation root", "pass --workspace DIR, a directory below --isolation-root")
	}
	b.p.Policy.RestrictWrites = true
	b.carve(policy.Writable, dir)
	return nil
}

func trees(f Flags) (list []given) {
	for _, value := range f.AgentsTrees {
		list = append(list, given{"--agents-tree", value})
	}
	return list
}
