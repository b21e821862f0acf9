//go:build (linux || darwin) && !launcher

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/credential"
	"github.com/letta-confine/letta-confine/internal/flagset"
	"github.com/letta-confine/letta-confine/internal/launch"
)

const credentialsUsage = `usage: letta-confine credentials list [--json]
       letta-confine credentials describe [--json] REF
       letta-confine credentials set REF
       letta-confine credentials unset REF

Keeps secrets for --credential NAME=REF. They are looked for in the environment,
the store, DSH's store, the .env file here, and the user's .env files. No value
is ever shown. set takes it from standard input, or asks for it at a terminal.

exit status: 0; 1 where describe finds no value; 125 it failed
`

// described is what there is to say of a credential.
type described struct {
	Ref      string           `json:"ref"`
	Layer    credential.Layer `json:"layer,omitempty"` // that answers
	Path     string           `json:"path,omitempty"`
	Writable bool             `json:"writable"` // what set would store would be the answer
}

func (d described) String() string {
	where := "no value"
	if d.Layer != "" {
		where = "a value from the " + string(d.Layer)
	}
	if d.Path != "" {
		where += fmt.Sprintf(", %q", d.Path)
	}
	if d.Writable {
		return d.Ref + ": " + where + "; writable"
	}
	return d.Ref + ": " + where + "; not writable"
}

// manageCredentials is letta-confine credentials.
func manageCredentials(args []string) (int, error) {
	if len(args) == 0 {
		return 0, usageError("credentials list, describe, set or unset?")
	}
	var json bool
	words, err := parseCheck(args[1:], []flag{{"json", true, func(_ *options, s string) error { return boolean(&json, s) }}})
	if errors.Is(err, flagset.ErrHelp) || args[0] == "--help" || args[0] == "-h" {
		fmt.Print(credentialsUsage)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	undumpable()
	cwd, err := getcwd()
	if err != nil {
		return 0, err
	}
	if args[0] == "list" && len(words) == 0 {
		return 0, listCredentials(layersOf(cwd), json)
	}
	actions := map[string]func(ref string) (int, error){
		"describe": func(ref string) (int, error) { return describeCredential(ref, layersOf(cwd), json) },
		"set":      func(ref string) (int, error) { return 0, setCredential(ref) },
		"unset":    func(ref string) (int, error) { return 0, unsetCredential(ref) },
	}
	action, ok := actions[args[0]]
	switch {
	case !ok || len(words) != 1:
		// More words may be a value: they are not repeated.
		return 0, usageError("want credentials list, or describe, set or unset with one REF; a value is read from standard input")
	case json && args[0] != "describe":
		return 0, usageError("--json is for list and describe")
	}
	if _, _, err := credential.ParsePair(words[0] + "=" + words[0]); err != nil {
		return 0, usageError("a REF is of letters, digits and _, and does not steer programs as PATH does")
	}
	return action(words[0])
}

// describe says which layer answers. The store can answer where the environment
// does not.
func describe(ref string, layers []credential.Source) (described, error) {
	_, from, err := credential.Resolve(ref, os.Getenv, layers)
	if err != nil && !errors.Is(err, credential.ErrUnresolved) {
		return described{}, err
	}
	return described{ref, from.Layer, from.Path, from.Layer != credential.Environment}, nil
}

func describeCredential(ref string, layers []credential.Source, json bool) (int, error) {
	d, err := describe(ref, layers)
	if err != nil {
		return 0, err
	}
	status := 0
	if d.Layer == "" {
		status = 1
	}
	if json {
		return status, printJSON(struct {
			Schema int `json:"schema"`
			described
		}{schemaVersion, d})
	}
	fmt.Println(d)
	return status, nil
}

// listCredentials prints every reference that a file has a value for.
func listCredentials(layers []credential.Source, json bool) error {
	names := map[string]bool{}
	for _, l := range layers {
		refs, err := l.Refs()
		if err != nil {
			return err
		}
		for name := range refs {
			names[name] = true
		}
	}
	list := []described{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d, err := describe(name, layers)
		if err != nil {
			return err
		}
		if d.Layer != "" {
			list = append(list, d)
		}
	}
	if json {
		return printJSON(map[string]any{"schema": schemaVersion, "credentials": list})
	}
	for _, d := range list {
		fmt.Println(d)
	}
	return nil
}

// shadowed refuses to change what would not be the answer.
func shadowed(ref string) error {
	if os.Getenv(ref) == "" {
		return nil
	}
	return withHint(fmt.Errorf("credential %q is in the environment, which goes before the store", ref), "unset the variable first")
}

func setCredential(ref string) error {
	if err := shadowed(ref); err != nil {
		return err
	}
	value, err := readValue(ref)
	switch {
	case err != nil:
		return err
	case value == "":
		return withHint(errors.New("the value is empty"), "letta-confine credentials unset "+ref)
	case strings.IndexByte(value, 0) >= 0 || !utf8.ValidString(value):
		return errors.New("the value is not text")
	}
	return changeStore(true, func(refs map[string]string) error { refs[ref] = value; return nil })
}

func unsetCredential(ref string) error {
	if err := shadowed(ref); err != nil {
		return err
	}
	return changeStore(false, func(refs map[string]string) error {
		if _, ok := refs[ref]; !ok {
			return withHint(fmt.Errorf("credential %q is not in the store", ref), "letta-confine credentials describe "+ref+" says where it is")
		}
		delete(refs, ref)
		return nil
	})
}

// changeStore changes the launcher's own store: under a lock, and so that whoever
// reads it sees the old one or the new one, whatever happens.
func changeStore(create bool, change func(map[string]string) error) error {
	own := placesOf(os.Getenv).own
	if len(own) == 0 {
		return withHint(errors.New("there is no place for the store"), "set HOME or XDG_CONFIG_HOME")
	}
	path := filepath.Join(own[0], storeName)
	if create {
		if err := os.MkdirAll(own[0], 0o700); err != nil {
			return fmt.Errorf("store %q: %w", path, bare(err))
		}
	}
	dir, err := openFolder(own[0])
	if err == nil {
		defer unix.Close(dir)
		if err = privateFolder(dir); err == nil {
			err = lockFolder(dir)
		}
	}
	var refs map[string]string
	if err == nil {
		var text []byte
		text, err = readPrivate(path)
		if errors.Is(err, unix.ENOENT) {
			err = nil
		}
		if err == nil {
			refs, err = credential.ParseStore(text)
		}
	}
	if err != nil && (create || !errors.Is(err, unix.ENOENT)) { // without a folder, unset finds nothing
		return withHint(fmt.Errorf("store %q: %w", path, err), hintOf(err))
	}
	if err := change(refs); err != nil {
		return err
	}
	if err := replaceIn(dir, storeName, credential.FormatStore(refs)); err != nil {
		return fmt.Errorf("store %q: %w", path, err)
	}
	return nil
}

// lockFolder waits for other writers, for half a minute: each of them waits for the
// disk, and those that wait go in no order.
func lockFolder(dir int) error {
	var err error
	for range 3000 {
		if err = unix.Flock(dir, unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("somebody else holds its lock")
}

// replaceIn puts a file in the place of another. The lock is held: a new file that
// is there is left over from a writer that was killed.
func replaceIn(dir int, name string, text []byte) (err error) {
	next := name + ".new"
	if err := unix.Unlinkat(dir, next, 0); err != nil && err != unix.ENOENT {
		return err
	}
	fd, err := unix.Openat(dir, next, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), next)
	defer func() {
		if err != nil {
			unix.Unlinkat(dir, next, 0)
		}
	}()
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(0o600), file.Sync(), file.Close())
	if err != nil {
		return fmt.Errorf("writing it: %w", err)
	}
	if err := unix.Renameat(dir, next, dir, name); err != nil {
		return err
	}
	return unix.Fsync(dir)
}

// readValue reads a value from standard input, without the newline at its end, or
// asks for it where that is a terminal.
func readValue(ref string) (string, error) {
	old, err := unix.IoctlGetTermios(0, getTerminal)
	if err == nil {
		return promptValue(ref, old)
	}
	text, err := launch.ReadAll(0, maxStore/2)
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}
