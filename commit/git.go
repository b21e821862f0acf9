package commit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Repo says which repository, and which index of it.
type Repo struct {
	Dir    string // in the working tree, or ""
	GitDir string // the repository itself, or "" for the one that Dir is in
	Index  string // the index that is about to be committed, or "" for the usual one
}

// ErrNoRepository is that git finds none where Repo says.
var ErrNoRepository = errors.New("there is no git repository")

// places are where git may be. The PATH is not asked: who commits may have set it.
var places = []string{"/usr/bin/git", "/bin/git", "/usr/local/bin/git", "/opt/homebrew/bin/git", "/run/current-system/sw/bin/git"}

func findGit() (string, error) {
	for _, file := range places {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && info.Mode()&0o022 == 0 {
			return file, nil
		}
	}
	return "", errors.New("git is in none of " + strings.Join(places, ", "))
}

// command is git with an environment of its own and with everything switched off
// by which a repository's configuration could start a program, fetch, show
// another object in the place of one, or hide a change.
func (r Repo) command(args ...string) (*exec.Cmd, error) {
	git, err := findGit()
	if err != nil {
		return nil, err
	}
	safe := []string{
		"--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null",
		"-c", "diff.orderFile=/dev/null", "-c", "diff.external=", "-c", "protocol.allow=never",
	}
	cmd := exec.Command(git, append(safe, args...)...)
	cmd.Dir = r.Dir
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none",
	}
	for name, path := range map[string]string{"GIT_DIR": r.GitDir, "GIT_INDEX_FILE": r.Index} {
		if path == "" {
			continue
		}
		full, err := filepath.Abs(filepath.Join(r.Dir, path))
		if filepath.IsAbs(path) {
			full, err = path, nil
		}
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, name+"="+full)
	}
	return cmd, nil
}

// change is an entry of what is staged. Src is empty for what was added, Dst for
// what was deleted.
type change struct {
	status           byte
	src, dst         string
	srcMode, dstMode string
	srcID, dstID     string
}

// staged lists what is staged, as it is: names are not quoted, nothing is left
// out by configuration or attributes.
func (r Repo) staged() ([]change, error) {
	cmd, err := r.command("diff", "--cached", "--raw", "-z", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-relative",
		"--no-color", "--ignore-submodules=none", "--ita-invisible-in-index")
	if err != nil {
		return nil, err
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, gitError("diff", err, said.String())
	}
	return parseRaw(out.String())
}

func gitError(what string, err error, said string) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 129 {
		return ErrNoRepository // to git diff it is then a command line that is none
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%q: %w", p.Path, p.Err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	if line == "" {
		return fmt.Errorf("git %s: %w", what, err)
	}
	return fmt.Errorf("git %s: %w: %s", what, err, line)
}

// parseRaw reads the format of git-diff(1), "Raw output format", with -z.
func parseRaw(out string) ([]change, error) {
	var list []change
	fields := strings.Split(out, "\x00")
	for len(fields) > 1 {
		head := strings.Fields(strings.TrimPrefix(fields[0], ":"))
		if len(head) != 5 || fields[0][0] != ':' || head[4] == "" {
			return nil, fmt.Errorf("git diff: %q is no change", fields[0])
		}
		c := change{status: head[4][0], srcMode: head[0], dstMode: head[1], srcID: head[2], dstID: head[3], src: fields[1], dst: fields[1]}
		fields = fields[2:]
		switch c.status {
		case 'R', 'C':
			if len(fields) < 2 {
				return nil, errors.New("git diff: a rename without its new name")
			}
			c.dst, fields = fields[0], fields[1:]
		case 'A':
			c.src = ""
		case 'D':
			c.dst = ""
		}
		list = append(list, c)
	}
	return list, nil
}

// maxBlob bounds a file that is judged.
const maxBlob = 32 << 20

// errTooLarge is the error for a file above maxBlob.
var errTooLarge = errors.New("the file is too large to be judged")

// objects reads objects through one git process.
type objects struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said bytes.Buffer
}

func (r Repo) objects() (*objects, error) {
	cmd, err := r.command("cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	o := &objects{cmd: cmd}
	cmd.Stderr = &o.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if o.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	o.out = bufio.NewReader(out)
	return o, cmd.Start()
}

// close ends git. What it could not read was an error before.
func (o *objects) close() {
	o.in.Close()
	_, _ = io.Copy(io.Discard, o.out)
	_ = o.cmd.Wait()
}

// read returns the blob of that name, and whether there is one.
func (o *objects) read(name string) (text []byte, ok bool, err error) {
	if _, err := io.WriteString(o.in, name+"\n"); err != nil {
		return nil, false, gitError("cat-file", err, o.said.String())
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		return nil, false, gitError("cat-file", err, o.said.String())
	}
	fields := strings.Fields(head)
	if len(fields) == 2 && fields[1] == "missing" {
		return nil, false, nil
	}
	size := -1
	if len(fields) == 3 {
		size, err = strconv.Atoi(fields[2])
	}
	if size < 0 || err != nil {
		return nil, false, fmt.Errorf("git cat-file: %q is no answer", strings.TrimSpace(head))
	}
	if fields[1] != "blob" {
		_, err := io.CopyN(io.Discard, o.out, int64(size)+1)
		return nil, false, err
	}
	if size > maxBlob {
		if _, err := io.CopyN(io.Discard, o.out, int64(size)+1); err != nil {
			return nil, false, gitError("cat-file", err, o.said.String())
		}
		return nil, true, errTooLarge
	}
	text = make([]byte, size+1)
	if _, err := io.ReadFull(o.out, text); err != nil {
		return nil, false, gitError("cat-file", err, o.said.String())
	}
	return text[:size], true, nil
}
