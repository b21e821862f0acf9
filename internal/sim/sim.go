// Package sim reads what the backends emit, so that a test can compare it with
// what a policy means without the kernel that would enforce it.
//
// It holds a model of a file system ([Tree]), every policy over a small one
// ([AllPolicies]), what each of them means ([Model]), and one interpreter for
// each mechanism: [Bwrap] and [Landlock]. The interpreters are written from the
// mechanisms' own documents and from measurements, never from our emitters, and
// they refuse what they do not know: an option that no rule here gives a meaning
// to must not pass a test by being ignored.
//
// # Limits
//
// A simulator is only as good as the test in integration/ that shows the real
// mechanism doing the same. Times, races, modes, owners, capabilities and name
// spaces other than that of mounts have no model here.
package sim
