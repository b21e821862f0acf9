// Package credential is how a secret is found by the name of a reference: the
// layers that may hold it, the two texts that it is read from, and the names that
// it may not have. A reference that no layer answers is an error; a value is never
// part of one.
//
// # Limits
//
// It reads no file and no environment: callers bring the layers. A value is a Go
// string, which cannot be wiped from memory.
package credential

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Layer is where a value comes from.
type Layer string

// The layers, in the order in which they are asked.
const (
	Environment Layer = "environment"
	Store       Layer = "store"
	Project     Layer = "project .env"
	User        Layer = "user .env"
)

// Source is a file of a layer.
type Source struct {
	Layer Layer
	Path  string

	// Refs reads it: none where it is not there, and an error where it cannot be
	// trusted or understood.
	Refs func() (map[string]string, error)
}

// ErrUnresolved says that no layer has a value.
var ErrUnresolved = errors.New("no layer has a value for it")

// Resolve returns the first value that is not empty, and where it is from: the
// environment, then the files in their order. A file that fails ends the search:
// what lies behind it might be what somebody wants to be taken instead.
func Resolve(ref string, getenv func(string) string, files []Source) (string, Source, error) {
	if value := getenv(ref); value != "" {
		return value, Source{Layer: Environment}, nil
	}
	for _, f := range files {
		refs, err := f.Refs()
		if err != nil {
			return "", f, fmt.Errorf("credential %q: %w", ref, err)
		}
		if refs[ref] != "" {
			return refs[ref], f, nil
		}
	}
	return "", Source{}, fmt.Errorf("credential %q: %w", ref, ErrUnresolved)
}

// ParsePair reads NAME=REF. The error does not repeat the text: whoever writes a
// value where the reference belongs should not find it in a log as well.
func ParsePair(text string) (name, ref string, err error) {
	name, ref, ok := strings.Cut(text, "=")
	switch {
	case !ok || !ValidName(name) || !ValidName(ref):
		return "", "", errors.New("want NAME=REF, both of letters, digits and _")
	case Forbidden(name):
		return "", "", fmt.Errorf("%s steers programs, and is no credential", name)
	case Forbidden(ref):
		return "", "", fmt.Errorf("%s steers programs, and is no credential", ref)
	}
	return name, ref, nil
}

// ValidName reports whether a name can be that of a variable and of a reference.
func ValidName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// Names that no .env file may set, and no credential may have, in upper case: they
// say which code a loader, a shell, an interpreter or a tool runs, where programs
// and their configuration are looked for, or whom connections go through.
var (
	forbiddenNames = []string{
		"PATH", "HOME", "USERPROFILE", "TMPDIR", "TMP", "TEMP", "IFS", "ENV", "SHELL", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS3", "PS4",
		"PROMPT_COMMAND", "CDPATH", "FPATH", "ZDOTDIR", "INPUTRC", "GLOBIGNORE", "HISTFILE",
		"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_REPL_EXTERNAL_MODULE",
		"RUBYOPT", "RUBYLIB", "GEM_PATH", "GEM_HOME", "BUNDLE_GEMFILE", "PHPRC", "PHP_INI_SCAN_DIR", "CLASSPATH", "LUA_INIT",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS", "DOTNET_STARTUP_HOOKS",
		"R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "GOFLAGS", "GOPROXY", "MAKEFLAGS", "GNUMAKEFLAGS", "RUSTC_WRAPPER", "RUSTFLAGS",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "SSH_ASKPASS", "SUDO_ASKPASS", "SSH_AUTH_SOCK",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS", "GLIBC_TUNABLES",
		"DEEPSEEK_BASE_URL", "DEEPSEEK_SEARCH_BASE_URL", "LETTA_BASE_URL", "LETTA_SANDBOX", "LETTA_CONFINE", "LETTA_CONFINE_TRACE", "LETTA_FS_SANDBOX",
	}
	forbiddenStarts = []string{"LD_", "DYLD_", "BASH_", "DSH_", "XDG_", "GIT_", "PYTHON", "PERL5", "PERLLIB", "LUA_PATH", "LUA_CPATH", "LUA_INIT_", "CORECLR_", "COR_", "NPM_CONFIG_", "CARGO_", "MALLOC_"}
	forbiddenEnds   = []string{"_PROXY", "_CA_BUNDLE"}
	harmlessEnds    = []string{"_TOKEN", "_PASSWORD", "_SECRET"}
)

// Forbidden reports whether a variable of that name, in any case, steers programs
// and is thus none that a file in some directory may set. What ends in _TOKEN,
// _PASSWORD or _SECRET is nobody's switch.
func Forbidden(name string) bool {
	upper := strings.ToUpper(name)
	starts := func(s string) bool { return strings.HasPrefix(upper, s) }
	ends := func(s string) bool { return strings.HasSuffix(upper, s) }
	if slices.ContainsFunc(harmlessEnds, ends) {
		return false
	}
	return slices.Contains(forbiddenNames, upper) || slices.ContainsFunc(forbiddenStarts, starts) || slices.ContainsFunc(forbiddenEnds, ends)
}

// lineError says where a text cannot be read. It never holds any of the text: what
// looks like a name may be a line of a key.
type lineError struct {
	line int
	what string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }
