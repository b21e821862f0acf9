package learn

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/denial"
)

// hexed writes $text$ as strace does with -xx.
func hexed(line string) string {
	parts := strings.Split(line, "$")
	for i := 1; i < len(parts); i += 2 {
		var out strings.Builder
		for _, b := range []byte(parts[i]) {
			fmt.Fprintf(&out, `\x%s`, hex.EncodeToString([]byte{b}))
		}
		parts[i] = out.String()
	}
	return strings.Join(parts, "")
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		what, trace string
		want        []string
	}{
		{"a file that is opened to be written", `1 openat(AT_FDCWD<$/w$>, "$a$", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3<$/w/a$>`, []string{"create /w/a"}},
		{"what the kernel opened, not what was asked for", `1 openat(AT_FDCWD<$/w$>, "$link$", O_RDONLY) = 3<$/real$>`, []string{"read /real"}},
		{"a call that failed", `1 openat(AT_FDCWD<$/w$>, "$a$", O_RDONLY) = -1 ENOENT (No such file or directory)`, nil},
		{"a name that holds what the trace is made of", `1 mkdir("$/a", 0) = 0 <b>$", 0777) = 0`, []string{`create /a", 0) = 0 <b>`}},
		{"a descriptor's path", `1 mkdirat(3<$/d$>, "$e$", 0777) = 0`, []string{"create /d/e"}},
		{"both paths of a rename", `1 renameat2(AT_FDCWD<$/w$>, "$a$", 4<$/d$>, "$b$", RENAME_NOREPLACE) = 0`, []string{"rename /w/a", "rename /d/b"}},
		{"times of a descriptor", `1 utimensat(3<$/w/a$>, NULL, NULL, 0) = 0`, []string{"metadata /w/a"}},
		{"a directory that is listed", `1 openat(AT_FDCWD<$/w$>, "$/d$", O_RDONLY|O_DIRECTORY) = 3<$/d$>`, []string{"list /d"}},
		{"an old call in the working directory", "1 chdir(\"$/d$\") = 0\n1 unlink(\"$a$\") = 0", []string{"look /d", "delete /d/a"}},
		{"the working directory of a child", "1 chdir(\"$/d$\") = 0\n1 clone(child_stack=NULL, flags=SIGCHLD) = 2\n1 chdir(\"$/e$\") = 0\n2 unlink(\"$a$\") = 0", []string{"look /d", "look /e", "delete /d/a"}},
		{"a child that runs before its parent's fork returns", "1 chdir(\"$/d$\") = 0\n1 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n2 unlink(\"$a$\") = 0\n1 <... clone resumed>) = 2", []string{"look /d", "delete /d/a"}},
		{"threads share it", "1 clone(child_stack=NULL, flags=CLONE_VM|CLONE_FS) = 2\n2 chdir(\"$/d$\") = 0\n1 unlink(\"$a$\") = 0", []string{"look /d", "delete /d/a"}},
		{"a call that another came between", "1 openat(AT_FDCWD<$/w$>, \"$a$\", O_RDWR <unfinished ...>\n2 unlink(\"$/x$\") = 0\n1 <... openat resumed>) = 3<$/w/a$>", []string{"delete /x", "write /w/a"}},
		{"pipes and sockets have no path", `1 fchmod(3<$pipe:[1]$>, 0600) = 0`, nil},
		{"what is none of a trace's", "strace: Process 7 attached\n1 +++ exited with 0 +++\n\x00", nil},
	} {
		wishes, err := Read(strings.NewReader(hexed(c.trace)+"\n"+End+"1 unlink(\"$after$\") = 0\n"), "/w")
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := said(wishes); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func said(wishes []denial.Wish) (list []string) {
	for _, w := range wishes {
		list = append(list, string(w.Op)+" "+w.Path)
	}
	return list
}

func FuzzRead(f *testing.F) {
	f.Add(hexed(`1 openat(AT_FDCWD<$/w$>, "$a$", O_RDWR <unfinished ...>`))
	f.Fuzz(func(t *testing.T, trace string) {
		wishes, err := Read(strings.NewReader(trace), "/w")
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range wishes {
			if !strings.HasPrefix(w.Path, "/") {
				t.Errorf("the path %q is not absolute", w.Path)
			}
		}
	})
}
