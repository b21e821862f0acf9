//go:build unix

package hostfs

import "strings"

// dataVolume is where macOS shows its data volume a second time: firmlinks join
// /Users and others to the directories of the same path there.
const dataVolume = "/System/Volumes/Data"

// ownName returns the last component of kernel, the path by which the kernel
// knows the file that was asked for as asked, or "" where that says nothing new.
//
// Of an ASCII name only the case may differ. A rename in between, or a second
// hard link, would put another name in its place, and a rule on that name would
// not hold for the one that was asked for. Names that are not ASCII differ by
// normalization as well, which is not checked here.
func ownName(asked, kernel string) string {
	name, was := lastName(kernel), lastName(asked)
	switch {
	case name == was || name == "" || was == "":
		return ""
	case ascii(name) && ascii(was) && !strings.EqualFold(name, was):
		return ""
	}
	return name
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// otherPlace returns the path that a firmlink may show name under, or "".
func otherPlace(name string) string {
	if rest, ok := strings.CutPrefix(name, dataVolume+"/"); ok && rest != "" {
		return "/" + rest
	}
	return ""
}

// systemLink returns path with the system's own links at the top of a Mac's file
// system replaced by where they lead. They lie on a volume that is sealed, so that
// nobody can re-point them; /tmp, /var and /etc are in everyday use.
func systemLink(path string) string {
	for _, top := range []string{"/tmp", "/var", "/etc"} {
		if path == top || strings.HasPrefix(path, top+"/") {
			return "/private" + path
		}
	}
	return path
}
