//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/letta-confine/letta-confine/credential"
	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// secret is a credential that the command gets. Its value is in no field that is
// ever printed.
type secret struct {
	Name  string           `json:"name"` // of the variable
	Ref   string           `json:"ref"`
	Layer credential.Layer `json:"layer"`
	value string
}

// hidden is a denied root that nobody has to ask for.
type hidden struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Files of credentials, and their folders below the home directory where no
// variable says otherwise.
const (
	storeName    = "credentials.yaml"
	dshStoreName = ".credentials.yaml"
	dotEnv       = ".env"

	maxStore = 1 << 20
)

// places are where credentials lie: the launcher's own folder and DSH's, each where
// a variable puts it and where it is without one. Both are hidden from commands; only
// the first of each is read.
type places struct{ own, dsh []string }

func placesOf(getenv func(string) string) places {
	var p places
	add := func(list *[]string, dir, below string) {
		if filepath.IsAbs(dir) {
			*list = append(*list, filepath.Join(dir, below))
		}
	}
	home := getenv("HOME")
	add(&p.own, getenv("XDG_CONFIG_HOME"), "letta-confine")
	add(&p.own, home, ".config/letta-confine")
	add(&p.dsh, getenv("DSH_HOME"), "")
	add(&p.dsh, home, ".dsh")
	return p
}

// credentials finds the values of --credential.
func (in *inputs) credentials() error {
	if len(in.opts.credentials) == 0 {
		return nil
	}
	undumpable()
	layers := layersOf(in.cwd)
	for _, pair := range in.opts.credentials {
		name, ref, err := credential.ParsePair(pair)
		if err != nil {
			return withHint(fmt.Errorf("--credential: %w", err), "values come from the environment, the store or a .env file, never from the command line")
		}
		given := slices.ContainsFunc(in.opts.setEnv, func(e string) bool { n, _, _ := strings.Cut(e, "="); return n == name })
		if given || slices.ContainsFunc(in.secrets, func(s secret) bool { return s.Name == name }) {
			return usageError(fmt.Sprintf("the variable %s is given twice", name))
		}
		value, from, err := credential.Resolve(ref, os.Getenv, layers)
		if errors.Is(err, credential.ErrUnresolved) {
			return withHint(err, "letta-confine credentials set "+ref)
		}
		if err != nil {
			return err
		}
		in.secrets = append(in.secrets, secret{name, ref, from.Layer, value})
		if from.Layer == credential.Project {
			if err := in.unplantedChdir(); err != nil {
				return err
			}
			in.hidden = append(in.hidden, hidden{from.Path, "the .env file that a credential is from"})
		}
	}
	in.about.Credentials = in.secrets
	return nil
}

// layersOf are the places where a reference is looked for, in their order.
func layersOf(cwd string) []credential.Source {
	var list []credential.Source
	add := func(layer credential.Layer, path string, read func(string) ([]byte, error), parse func([]byte) (map[string]string, error)) {
		list = append(list, credential.Source{Layer: layer, Path: path, Refs: func() (map[string]string, error) {
			return readRefs(path, read, parse)
		}})
	}
	p := placesOf(os.Getenv)
	if len(p.own) > 0 {
		add(credential.Store, p.own[0]+"/"+storeName, readPrivate, credential.ParseStore)
	}
	if len(p.dsh) > 0 {
		add(credential.Store, p.dsh[0]+"/"+dshStoreName, readPrivate, credential.ParseStore)
	}
	add(credential.Project, strings.TrimSuffix(cwd, "/")+"/"+dotEnv, readProject, credential.ParseEnv)
	for _, dirs := range [][]string{p.own, p.dsh} {
		if len(dirs) > 0 {
			add(credential.User, dirs[0]+"/"+dotEnv, readPrivate, credential.ParseEnv)
		}
	}
	return list
}

// readRefs reads a file of credentials; one that is not there has none.
func readRefs(path string, read func(string) ([]byte, error), parse func([]byte) (map[string]string, error)) (map[string]string, error) {
	text, err := read(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	var refs map[string]string
	if err == nil {
		refs, err = parse(text)
		clear(text)
	}
	if err != nil {
		return nil, withHint(fmt.Errorf("%q: %w", path, err), hintOf(err))
	}
	return refs, nil
}

// readPrivate reads a file that nobody but the caller can have written or read.
func readPrivate(path string) ([]byte, error) {
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, filepath.Base(path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == unix.ELOOP {
		return nil, errors.New("it is a symlink")
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := privateFolder(dir); err != nil {
		return nil, err
	}
	if err := private(fd, unix.S_IFREG, "file", "chmod 600"); err != nil {
		return nil, err
	}
	return launch.ReadAll(fd, maxStore)
}

// openFolder opens the folder of such a file. What lies above it is the user's own
// business.
func openFolder(dir string) (int, error) {
	above, err := policy.Canonical(filepath.Dir(dir), hostfs.FS{})
	if err != nil {
		return -1, bare(err)
	}
	fd, err := unix.Open(strings.TrimSuffix(above, "/")+"/"+filepath.Base(dir), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ELOOP || err == unix.ENOTDIR && isLink(dir) {
		return -1, errors.New("its folder is a symlink")
	}
	return fd, err
}

func privateFolder(dir int) error { return private(dir, unix.S_IFDIR, "folder", "chmod 700") }

func isLink(path string) bool {
	info, err := (hostfs.FS{}).Lstat(path)
	return err == nil && info.Kind == policy.Symlink
}

// private refuses what somebody else owns, can read or can reach by another name.
func private(fd int, kind uint32, what, cure string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	mode := uint32(st.Mode)
	switch {
	case mode&unix.S_IFMT != kind:
		return errors.New("not a regular file")
	case st.Uid != uint32(unix.Geteuid()):
		return fmt.Errorf("its %s belongs to uid %d", what, st.Uid)
	case mode&0o077 != 0:
		return withHint(fmt.Errorf("its %s has mode %#o, and is open to others", what, mode&0o777), cure+" the "+what)
	case kind == unix.S_IFREG && st.Nlink > 1:
		return errors.New("its file has a second name, a hard link")
	}
	return nil
}

// readProject reads the .env file of a working directory, which is canonical. A
// link would have the launcher read for the command what that may not see.
func readProject(path string) ([]byte, error) {
	fd, err := hostfs.OpenPlain(path, unix.O_RDONLY, 0)
	if err == unix.ELOOP {
		return nil, errors.New("it is a symlink")
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	st, err := regular(fd)
	switch {
	case err != nil:
		return nil, err
	case st.Uid != uint32(unix.Geteuid()) && st.Uid != 0:
		return nil, fmt.Errorf("it belongs to uid %d", st.Uid)
	case st.Mode&0o002 != 0:
		return nil, withHint(errors.New("everybody can write it"), "chmod o-w "+dotEnv)
	}
	return launch.ReadAll(fd, maxStore)
}

// hide denies what holds credentials to every command that is confined at all. What
// is not there is not made: there is nothing in it to hide.
func (in *inputs) hide() error {
	for _, h := range in.stores() {
		if !hostfs.Visible(h.Path) {
			continue // one call, on a host without a store
		}
		path, err := policy.Canonical(h.Path, hostfs.FS{})
		if err != nil {
			return fmt.Errorf("%s, %q: %w", h.Why, h.Path, bare(err))
		}
		if path != h.Path {
			if err := in.plantable(h); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(in.hidden, func(o hidden) bool { return o.Path == path }) {
			in.hidden = append(in.hidden, hidden{path, h.Why})
		}
	}
	if len(in.hidden) == 0 || !in.resolved.Restricts() {
		in.hidden = nil
		return nil
	}
	for _, h := range in.hidden {
		for _, root := range in.resolved.Roots() {
			if root.Access() != policy.None && root.List != policy.BaseWritable && policy.Holds(h.Path, root.Path) {
				return withHint(fmt.Errorf("%s %q would uncover %s", root.List, root.Given, h.Why), "leave it out: pass what the command needs by --credential")
			}
		}
		if !slices.Contains(in.policy.Denied, h.Path) {
			in.policy.Denied = append(slices.Clip(in.policy.Denied), h.Path)
		}
	}
	return in.resolve()
}

// plantable refuses a store behind a symlink that the command could replace: where that
// is done, the next run hides what the new one leads to, and not the store.
func (in *inputs) plantable(h hidden) error {
	links, err := policy.Links(h.Path, hostfs.FS{})
	if err != nil {
		return fmt.Errorf("%s, %q: %w", h.Why, h.Path, bare(err))
	}
	for _, link := range links {
		if in.canChange(link) && hostfs.CanReplace(link) {
			return withHint(fmt.Errorf("%s are reached through %q, a symlink that the command could replace", h.Why, link),
				"put in its place the directory or file itself, or let the command not write there")
		}
	}
	return nil
}

// implicit says why a root is in force that nobody listed, or nothing.
func (in *inputs) implicit(path string) string {
	for _, h := range in.hidden {
		if h.Path == path {
			return h.Why
		}
	}
	return ""
}

// accountHome returns the home directory that passwd(5) has for a user, or "".
func accountHome(passwd []byte, uid int) string {
	for line := range strings.Lines(string(passwd)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return fields[5]
		}
	}
	return ""
}

// stores are the places of credentials that no command sees.
func (in *inputs) stores() []hidden {
	var list []hidden
	p := placesOf(func(name string) string {
		value := os.Getenv(name)
		if name == "HOME" && !filepath.IsAbs(value) { // as of a service: whose account it is still counts
			text, _ := readFile("/etc/passwd", maxStore)
			return accountHome(text, os.Geteuid())
		}
		return value
	})
	for _, dir := range p.own {
		list = append(list, hidden{dir, "letta-confine's credentials"})
	}
	for _, dir := range p.dsh {
		for _, name := range []string{dshStoreName, dotEnv} {
			list = append(list, hidden{dir + "/" + name, "DSH's credentials"})
		}
	}
	return list
}
