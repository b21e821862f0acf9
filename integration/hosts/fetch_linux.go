package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// suite is one release of Debian for one architecture, read through an apt
// configuration of its own: the machine's is left alone.
type suite struct {
	name, arch string
	conf       string // file of the apt configuration
	fresh      error  // why the lists could not be brought up to date
}

// suites are the ones that were opened in this run.
var suites struct {
	sync.Mutex
	opened map[string]func() (*suite, error)
}

// keyring holds the keys of Debian's archive (package debian-archive-keyring).
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// suite opens a release: "trixie", or "bookworm-security". The mirror is the one
// that this machine's own apt uses. Without a network, what an earlier run fetched
// serves.
func (e *env) suite(name, arch string) (*suite, error) {
	suites.Lock()
	if suites.opened == nil {
		suites.opened = make(map[string]func() (*suite, error))
	}
	open := suites.opened[name+arch]
	if open == nil {
		open = sync.OnceValues(func() (*suite, error) { return e.openSuite(name, arch) })
		suites.opened[name+arch] = open
	}
	suites.Unlock()
	return open()
}

func (e *env) openSuite(name, arch string) (*suite, error) {
	mirror, err := e.mirror()
	if err != nil {
		return nil, skip{err}
	}
	if strings.HasSuffix(name, "-security") {
		mirror += "-security"
	}
	return e.openFrom(fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, name), name, arch)
}

// oldRelease is what still serves a bubblewrap from before 0.4: Ubuntu 18.04. Its keys
// are not on a Debian machine, so the package is held to a sum.
const (
	oldRelease = "bionic"
	oldSource  = "deb [trusted=yes] http://archive.ubuntu.com/ubuntu bionic universe\n"
	oldPackage = "bubblewrap_0.2.1-1_amd64.deb"
	oldSum     = "71c7de3e13b0bb03a9a4d32283b2cf610ed6b2e0e100c65199a36ecc0f0bf281"
)

// oldBubblewrap returns the program of that release. The libraries of a later one
// serve it too.
func (e *env) oldBubblewrap() ([]byte, error) {
	if runtime.GOARCH != "amd64" {
		return nil, skip{errors.New("the sum is that of the package for amd64")}
	}
	s, err := e.openFrom(oldSource, oldRelease, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	deb, err := e.deb(s, "bubblewrap")
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(deb)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(data); filepath.Base(deb) != oldPackage || hex.EncodeToString(sum[:]) != oldSum {
		return nil, fmt.Errorf("%q is not the package that was looked at", deb)
	}
	files, err := e.unpack(deb, needed)
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%q holds %d programs: %w", deb, len(files), err)
	}
	return files[0].data, nil
}

func (e *env) openFrom(source, name, arch string) (*suite, error) {
	dir := filepath.Join(e.cache, name+"-"+arch)
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	s := &suite{name: name, arch: arch, conf: filepath.Join(dir, "apt.conf")}
	text := fmt.Sprintf(`Dir::Etc::SourceList "%[1]s/sources.list"; Dir::Etc::SourceParts "-";
Dir::State::Lists "%[1]s/lists"; Dir::State::status "%[1]s/status"; Dir::Cache "%[1]s/cache";
APT::Architecture "%[2]s"; APT::Architectures "%[2]s"; APT::Sandbox::User "root"; Acquire::Languages "none"; Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false"; Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
APT::Update::Error-Mode "any"; APT::Update::Post-Invoke-Success ""; DPkg::Post-Invoke "";
`, dir, arch)
	for file, text := range map[string]string{
		s.conf: text, dir + "/status": "", dir + "/sources.list": source,
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	_, s.fresh = e.apt(s.conf, "", "apt-get", "-qq", "update")
	return s, nil
}

// mirror returns where this machine's apt gets Debian from.
func (e *env) mirror() (string, error) {
	out, err := e.apt("", "", "apt-get", "indextargets", "--format", "$(SITE)")
	if err != nil {
		return "", err
	}
	for site := range strings.Lines(out) {
		if site = strings.TrimRight(site, "/\n"); strings.HasSuffix(site, "/debian") {
			return site, nil
		}
	}
	return "", errors.New("apt of this machine knows no Debian mirror")
}

// apt runs a program of apt's in a directory, with a configuration if there is one.
func (e *env) apt(conf, dir string, line ...string) (string, error) {
	cmd := e.command(line)
	cmd.Env = os.Environ() // with the proxy, if any
	if conf != "" {
		cmd.Env = append(cmd.Env, "APT_CONFIG="+conf)
	}
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if _, absent := errors.AsType[*exec.Error](err); absent {
		return "", skip{err}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", line[0], err, lastLine(stderr.String()))
	}
	return string(out), nil
}

// deb fetches the newest package whose name the pattern matches whole, and
// returns its file.
func (e *env) deb(s *suite, pattern string) (string, error) {
	missing := skip{fmt.Errorf("%s for %s serves no %s", s.name, s.arch, pattern)}
	if s.fresh != nil {
		missing = skip{fmt.Errorf("%w (%w)", missing.error, s.fresh)}
	}
	out, err := e.apt(s.conf, "", "apt-cache", "pkgnames")
	if err != nil {
		return "", err
	}
	whole := regexp.MustCompile("^(" + pattern + ")$")
	var names []string
	for _, name := range strings.Fields(out) {
		if whole.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return -slices.Compare(numbers(a), numbers(b)) })
	dir := filepath.Join(filepath.Dir(s.conf), "debs")
	for _, name := range names[:min(len(names), 4)] {
		if _, err := e.apt(s.conf, dir, "apt-get", "-qq", "download", name); err != nil && s.fresh == nil {
			missing = skip{err} // named in the lists, and gone from the mirror
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
		if err == nil && len(files) > 0 {
			slices.SortFunc(files, func(a, b string) int { return -slices.Compare(numbers(a), numbers(b)) })
			return files[0], nil
		}
	}
	return "", missing
}

// numbers returns those in a name, to compare versions by.
func numbers(name string) (list []int) {
	for _, digits := range strings.FieldsFunc(name, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(digits)
		list = append(list, n)
	}
	return list
}

// unpack returns the files of a package that are wanted, by their paths without a
// leading slash.
func (e *env) unpack(deb string, wanted func(path string) bool) ([]file, error) {
	cmd := e.command([]string{"dpkg-deb", "--fsys-tarfile", deb})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	files, err := untar(out, wanted)
	io.Copy(io.Discard, out)
	if waited := cmd.Wait(); err == nil && waited != nil {
		err = fmt.Errorf("%q: %w: %s", deb, waited, lastLine(stderr.String()))
	}
	return files, err
}

func untar(r io.Reader, wanted func(path string) bool) (files []file, err error) {
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		path := strings.TrimPrefix(h.Name, "./")
		if !wanted(path) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeReg:
			data, err := io.ReadAll(archive)
			if err != nil {
				return nil, err
			}
			files = append(files, file{path: path, mode: uint32(h.Mode) | modeRegular, data: data})
		case tar.TypeSymlink:
			files = append(files, file{path: path, mode: 0o777 | modeLink, data: []byte(h.Linkname)})
		}
	}
}
