//go:build unix

package hostfs

import "github.com/letta-confine/letta-confine/policy"

// AddAliases adds to p, for each denied or readonly root of r, which is p resolved,
// the other places at which it can be seen, to the same list. It returns the root
// that each added one shows. Where there are any, p is to be resolved again. The
// mounts are those of now; what is mounted later is another matter.
func AddAliases(p *policy.Policy, r policy.Resolved, mounts []Mount) (rootOf map[string]string, err error) {
	rootOf = make(map[string]string)
	for _, l := range r.Restrictions() {
		if l.Root.Kind == policy.Missing {
			continue
		}
		for _, path := range Aliases(l.Root.Path, mounts) {
			if r.Decide(path).Access <= l.Access || !Visible(path) {
				continue
			}
			if err := p.Add(l.Root.List, path); err != nil {
				return nil, err
			}
			rootOf[path] = l.Root.Path
		}
	}
	return rootOf, nil
}

// Visible reports whether anything is at path, so that there is something to
// hide: a place that another mount covers has no such name.
func Visible(path string) bool {
	info, err := FS{}.Lstat(path)
	return err == nil && info.Kind != policy.Missing
}
