package policy

// Layer is one step of a policy's emission: from here on Root.Path and all
// beneath it have Access, until a later layer says otherwise of a part of it. The
// root belongs to the policy and is not to be changed.
type Layer struct {
	Root   *Root
	Access Access
}

// Decision is what the policy says of one path.
type Decision struct {
	Access Access
	Root   *Root // the root that decided; nil for the default
}

// Default returns the access of a path that no root holds.
func (r Resolved) Default() Access {
	r.mustBeMade()
	return r.def
}

// Roots returns every root, one for each canonical path, in emission order.
func (r Resolved) Roots() []Root {
	r.mustBeMade()
	roots := make([]Root, len(r.roots))
	for i, root := range r.roots {
		roots[i] = *root
	}
	return roots
}

// Layers returns the steps that give a policy its effect, in emission order, to
// be applied over Default. Roots that change nothing are folded. A backend
// translates the list and never re-orders it.
func (r Resolved) Layers() []Layer {
	r.mustBeMade()
	layers := make([]Layer, 0, len(r.layers))
	for _, i := range r.layers {
		layers = append(layers, Layer{Root: r.roots[i], Access: r.roots[i].Access()})
	}
	return layers
}

// Restrictions returns the layers below which a command may do less than read and
// write.
func (r Resolved) Restrictions() []Layer {
	r.mustBeMade()
	var layers []Layer
	for _, i := range r.layers {
		if access := r.roots[i].Access(); access != ReadWrite {
			layers = append(layers, Layer{Root: r.roots[i], Access: access})
		}
	}
	return layers
}

// Restricts reports whether the policy denies anything at all.
func (r Resolved) Restricts() bool {
	return r.Default() != ReadWrite || len(r.layers) > 0
}

// Decide applies the one rule to a canonical path: the deepest denied, readonly
// or writable root that holds it decides; without one a base root that holds it
// makes it writable; without that the default stands.
func (r Resolved) Decide(path string) Decision {
	r.mustBeMade()
	d := Decision{Access: r.def}
	if i := r.holder(path); i >= 0 {
		d.Root = r.roots[i]
		d.Access = d.Root.Access()
	}
	return d
}

// holder returns the index of the root that decides about path, or -1. Emission
// order makes it the last that holds path. It looks up the path and what lies above
// it, so that it takes no longer with a thousand roots.
func (r Resolved) holder(path string) int {
	last := -1
	for at := range Upward(path) {
		if i, ok := r.at[at]; ok {
			last = max(last, i)
		}
	}
	return last
}

// fold computes the default and the layers: a root that says of its path what
// already holds there is left out, and so is a base root that a listed root
// holds, because a base root never reaches into one.
func (r *Resolved) fold() {
	r.layers = make([]int, 0, len(r.roots))
	// What holds the directory of the root before, which is often this one's too: no
	// root in between holds it, because those above it come first.
	dir, above := "", -1
	for i, root := range r.roots {
		if root.Path == "/" {
			continue
		}
		if root.List == BaseWritable && r.listedAbove(root.Path) {
			continue
		}
		if up := parent(root.Path); up != dir {
			dir, above = up, r.holder(up)
		}
		before := r.def
		if above >= 0 {
			before = r.roots[above].Access()
		}
		// What both Linux backends hide, the private /dev and device nodes
		// elsewhere, a writable root brings back, whatever the default says.
		hidden := root.Access() == ReadWrite && (root.Kind == Device || Holds("/dev", root.Path))
		if before != root.Access() || hidden {
			r.layers = append(r.layers, i)
		}
	}
}

// listedAbove reports whether a denied, readonly or writable root holds path.
func (r *Resolved) listedAbove(path string) bool {
	for at := range Upward(path) {
		if i, ok := r.at[at]; ok && r.roots[i].List != BaseWritable {
			return true
		}
	}
	return false
}

func (r Resolved) mustBeMade() {
	if !r.made {
		panic("policy: a Resolved that Resolve did not make")
	}
}
