package guard

import "strings"

// Kind is what a tool does with the paths of its call.
type Kind uint8

// The kinds. A tool that is not known may do anything.
const (
	Other    Kind = iota // not known
	Reader               // reads the files that it names
	Writer               // writes them
	Mover                // moves or copies them: whatever it is given is a path
	Patcher              // writes the files that the directives of a patch name
	Talker               // is about no file: what it says may begin like a path
	Lister               // reads all below a directory
	Searcher             // the same, for what a regular expression matches
	Globber              // reads all that a pattern of paths matches
	Shell                // runs a command
)

// KindOf returns what is known of a tool, by its name at any provider.
func KindOf(tool string) Kind {
	switch strings.TrimSuffix(fold(tool), "gemini") {
	case "read", "readfile", "view", "viewimage", "notebookread", "openfile", "cat":
		return Reader
	case "write", "writefile", "edit", "editfile", "multiedit", "notebookedit", "replace", "create", "createfile",
		"delete", "deletefile", "strreplace", "searchreplace", "editnotebook", "strreplacebasededittool", "strreplaceeditor",
		"memory", "createdirectory":
		return Writer
	case "movefile", "renamefile", "copyfile":
		return Mover
	case "applypatch", "memoryapplypatch":
		return Patcher
	case "todowrite", "todoread", "writetodos", "updateplan", "enterplanmode", "exitplanmode", "task", "agent", "taskcreate", "taskget",
		"tasklist", "taskoutput", "taskstop", "taskupdate", "bashoutput", "killbash", "killshell", "askuserquestion", "requestuserinput",
		"skill", "slashcommand", "toolsearch", "webfetch", "websearch", "googlewebsearch", "fetchwebpage", "messagechannel":
		return Talker
	case "ls", "listdir", "listdirectory", "listfiles":
		return Lister
	case "grep", "grepfiles", "searchfilecontent", "grepsearch", "ripgrep", "searchfiles":
		return Searcher
	case "glob", "globfiles", "globfilesearch", "readmanyfiles", "findfiles", "filesearch":
		return Globber
	case "bash", "shell", "shellcommand", "localshell", "execcommand", "writestdin", "runshellcommand", "runterminalcmd",
		"runterminalcommand", "monitor", "terminal":
		return Shell
	}
	return Other
}

// fold spells a name without case, underscores and hyphens.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// pathKey reports whether an argument of this name is a path. strong is whether it
// is one whatever its value looks like.
func pathKey(key string) (path, strong bool) {
	k := fold(key)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(k, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("path"):
		return true, true
	case has("text", "content", "type", "format", "mode", "filter", "desc", "encod", "limit", "profile"):
		return false, false
	case has("file", "folder", "directory", "uri", "notebook", "include"):
		return true, true
	}
	switch k {
	case "dir", "dirs", "cwd", "workdir", "workingdir", "root", "roots":
		return true, true
	case "source", "sources", "src", "target", "targets", "destination", "dest", "dst", "from", "to", "location", "url":
		return true, false
	}
	return false, false
}

// WorkdirKey reports whether an argument of this name is the directory that relative
// paths are relative to.
func WorkdirKey(key string) bool {
	switch fold(key) {
	case "cwd", "workdir", "workingdir", "workingdirectory":
		return true
	}
	return false
}

// globKey reports whether an argument of this name is a pattern of paths, of a tool
// that takes such.
func globKey(key string) bool {
	switch fold(key) {
	case "pattern", "patterns", "glob", "globs", "globpattern", "include", "includes", "paths":
		return true
	}
	return false
}
