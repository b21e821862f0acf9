package readonly

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Host is the Facts of the file system that the program runs on.
type Host struct{}

// maxLinks is how many links the kernel follows in one name (path_resolution(7)).
const maxLinks = 40

// Real resolves links component by component, so that a ".." after a link leads
// where the kernel goes.
func (Host) Real(name string) (string, error) {
	if !strings.HasPrefix(name, "/") {
		return "", fs.ErrInvalid
	}
	real, rest, links, missing := "/", name, 0, false
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && missing:
			return "", fs.ErrNotExist
		case part == "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, part)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			missing = true
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if strings.HasPrefix(target, "/") {
				real = "/"
			}
			rest = target + "/" + rest
			continue
		}
		real = next
	}
	return real, nil
}

// Glob matches *, ? and sets of letters as the shell does, and names that begin with
// a dot too. It fails where more than maxGlobbed names would have to be looked at: a
// hook that is still looking when its harness stops waiting has not answered.
func (Host) Glob(pattern string) ([]string, error) {
	found, looked := []string{""}, 0
	for _, part := range strings.Split(strings.TrimPrefix(path.Clean(pattern), "/"), "/") {
		var next []string
		for _, dir := range found {
			if !strings.ContainsAny(part, `*?[\`) {
				if looked++; looked > maxGlobbed {
					return nil, errGlob
				}
				if _, err := os.Lstat(dir + "/" + part); err == nil {
					next = append(next, dir+"/"+part)
				}
				continue
			}
			d, err := os.Open(dir + "/")
			if err != nil {
				continue // as the shell does
			}
			names, _ := d.Readdirnames(maxGlobbed + 1)
			d.Close()
			if looked += 1 + len(names); looked > maxGlobbed {
				return nil, errGlob
			}
			slices.Sort(names)
			for _, name := range names {
				ok, err := path.Match(part, name)
				if err != nil {
					return nil, err
				}
				if ok {
					next = append(next, dir+"/"+name)
				}
			}
		}
		found = next
	}
	return found, nil
}

// maxGlobbed bounds what one pattern looks at.
const maxGlobbed = 4096

var errGlob = errors.New("the pattern matches too much")

// maxFile bounds what ReadFile reads; an index of more files is not looked at.
const maxFile = 8 << 20

// ReadFile reads a regular file of at most 8 MiB.
func (Host) ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fs.ErrInvalid
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// Exists is true unless it is certain that nothing has the name.
func (Host) Exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// maxWalk bounds how many names Escapes looks at.
const maxWalk = 20000

// Escapes looks for a link beneath dir that leads out of it.
func (h Host) Escapes(dir string) bool {
	top, err := h.Real(dir)
	if err != nil {
		return true
	}
	seen := 0
	err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if seen++; err != nil && name != top || seen > maxWalk {
			return fs.ErrInvalid
		}
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			real, err := h.Real(name)
			if err != nil || real != top && !strings.HasPrefix(real, strings.TrimSuffix(top, "/")+"/") {
				return fs.ErrInvalid
			}
		}
		return nil
	})
	return err != nil
}
