// Package containment holds the attacks that the launcher is built against, and
// the ordinary work that it must not get in the way of. Each test is one class;
// each case of it runs as root and as a plain user, through bubblewrap and
// through Landlock alone.
//
// An attack has one of three verdicts. It is held, with an exact errno. Or it is
// a gap, which the plan for that policy must name. Or it is residual: no backend
// promises it, and docs/limits.md links to the test that shows it. In every case
// the control, the same steps without the launcher on an equal tree, succeeds:
// an attack that cannot work shows nothing.
//
// The tests print their verdicts as a table at the end (make containment).
//
// # Limits
//
// Everything happens in scratch trees, and what root mounts it mounts in a mount
// namespace of its own. Kernel control files are opened and not written; device
// nodes that are made are those of no device.
package containment
