// Package syntax is the shell parser of mvdan.cc/sh/v3/syntax, version 3.14.1,
// without its printer: the printer brings two regular expressions that each
// start of each command would compile (docs/decisions/0012-shell-parser.md). A
// test holds every file equal to the module's, byte for byte, so an upgrade is
// a new version in go.mod and a copy.
//
// # Limits
//
// What this package lacks or misreads is dealt with in package shell, never
// here.
package syntax

// The printer and the simplifier, which are left out, call these.
var _, _, _ = (*ParamExp).simple, LangVariant.count, LangVariant.index
