//go:build linux || darwin

package launch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// defaultPath is searched when the environment has no PATH (execvp(3)).
const defaultPath = "/bin:/usr/bin"

// LookPath returns the program that execvp(3) would start for name: name itself
// when it holds a slash, else the first executable file of that name on the PATH
// of env. It answers for the calling process as it is confined at that moment.
// The error is an [*ExecError].
func LookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if err := executable(name); err != nil {
			return "", execError(name, name, err)
		}
		return name, nil
	}
	path, ok := Getenv(env, "PATH")
	if !ok {
		path = defaultPath
	}
	var found error
	for dir := range strings.SplitSeq(path, ":") {
		if name == "" {
			break
		}
		file := inDir(dir, name)
		switch err := executable(file); {
		case err == nil:
			return file, nil
		case errors.Is(err, unix.EACCES):
			found = err
		}
	}
	if found != nil {
		return "", execError(name, name, found)
	}
	return "", execError(name, name, unix.ENOENT)
}

// executable returns nil for a regular file that the caller may execute, EACCES
// for anything else that is there.
func executable(file string) error {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.EACCES
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}

// Exec replaces the process by the program that LookPath finds for argv[0]. The
// caller stays on the thread that it confined. Exec returns only on failure, with
// an [*ExecError]. It goes through syscall.Exec, which gives back the limit on
// open files that the Go runtime raised; a plain execve would leak it.
func Exec(argv, env []string) error {
	file, err := LookPath(argv[0], env)
	if err != nil {
		return err
	}
	return execError(argv[0], file, syscall.Exec(file, argv, env))
}

// execError translates an error of looking up or executing a program. ENOENT
// for a file that exists means that the interpreter it names does not, and counts
// as not found, as in a shell.
func execError(name, file string, err error) *ExecError {
	switch {
	case errors.Is(err, unix.ENOENT):
		if executable(file) == nil {
			if interp := interpreter(file); interp != "" {
				return &ExecError{ExitNotFound, fmt.Sprintf("command %q: its interpreter %q is not there", name, interp)}
			}
			return &ExecError{ExitNotFound, fmt.Sprintf("command %q: the loader that it names is not there", name)}
		}
		return &ExecError{ExitNotFound, fmt.Sprintf("command %q not found", name)}
	case errors.Is(err, unix.ENOTDIR):
		return &ExecError{ExitNotFound, fmt.Sprintf("command %q not found", name)}
	}
	return &ExecError{ExitCannot, fmt.Sprintf("command %q cannot run: %v", name, err)}
}

// interpreter returns the program that the first line of a script names
// (execve(2)), or "".
func interpreter(file string) string {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	buf := make([]byte, shebangSize)
	n, err := unix.Read(fd, buf)
	if err != nil || !bytes.HasPrefix(buf[:n], []byte("#!")) {
		return ""
	}
	line, _, _ := bytes.Cut(buf[2:n], []byte("\n"))
	if fields := bytes.Fields(line); len(fields) > 0 {
		return string(fields[0])
	}
	return ""
}

// Candidates returns every file that execvp(3) could start for name, in the order
// in which it tries them: name itself when it holds a slash, else each executable
// of that name on the PATH of env.
func Candidates(name string, env []string) []string {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	path, ok := Getenv(env, "PATH")
	if !ok {
		path = defaultPath
	}
	var files []string
	for dir := range strings.SplitSeq(path, ":") {
		if file := inDir(dir, name); name != "" && executable(file) == nil {
			files = append(files, file)
		}
	}
	return files
}

// inDir names a file in a directory of a PATH, where an empty element means the
// current directory.
func inDir(dir, name string) string {
	if dir == "" {
		dir = "."
	}
	return dir + "/" + name
}

// Interpreter returns the program that executes file if it is a script, or "".
func Interpreter(file string) string { return interpreter(file) }
