package readonly

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// vet looks for what a repository makes git run. With programs, git looks at
// contents or at the work tree, and every key of the repository's configuration
// must be known to name no program; without, only a few keys matter. It returns
// the reason not to run git there.
func (r *run) vet(dir string, programs bool) string {
	if r.Facts == nil {
		return "the repository cannot be looked at"
	}
	real, err := r.Facts.Real(dir)
	if err != nil {
		return "the repository cannot be found"
	}
	for at := path.Clean(real); ; at = path.Dir(at) {
		if r.Facts.Exists(path.Join(at, ".git")) {
			return r.vetRepository(path.Join(at, ".git"), programs)
		}
		// A directory that looks like a repository is one, though nobody sees it.
		if r.Facts.Exists(path.Join(at, "HEAD")) && r.Facts.Exists(path.Join(at, "objects")) && r.Facts.Exists(path.Join(at, "refs")) {
			return "the repository has no work tree, and may have been put there"
		}
		if at == "/" {
			break
		}
	}
	if programs {
		return "there is no repository to look at"
	}
	return ""
}

func (r *run) vetRepository(gitDir string, programs bool) string {
	// In a linked work tree .git is a file that says where the directory is.
	if text, err := r.Facts.ReadFile(gitDir); err == nil {
		to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
		if !ok {
			return "the repository's .git is not understood"
		}
		gitDir = absolute(path.Dir(gitDir), to)
	}
	common := gitDir
	if text, err := r.Facts.ReadFile(gitDir + "/commondir"); err == nil {
		common = absolute(gitDir, strings.TrimSpace(string(text)))
	}
	for _, name := range []string{common + "/config", gitDir + "/config.worktree", common + "/config.worktree"} {
		text, err := r.Facts.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && !r.Facts.Exists(name) {
			continue
		}
		if err != nil {
			return "the repository's configuration cannot be read"
		}
		if why := vetConfig(string(text), programs); why != "" {
			return why
		}
	}
	if !programs {
		return ""
	}
	for _, dir := range []string{common, gitDir} {
		if r.Facts.Exists(dir + "/hooks/post-index-change") {
			return "the repository has a hook that git runs when it refreshes the index"
		}
		// A submodule has a configuration of its own, and git goes into it. Its mode
		// in the index is 0160000; a shared index is not looked at.
		index, err := r.Facts.ReadFile(dir + "/index")
		if err != nil && !errors.Is(err, fs.ErrNotExist) || strings.Contains(string(index), "\x00\x00\xe0\x00") {
			return "the repository has submodules, or an index that cannot be read"
		}
		if shared, err := r.Facts.Glob(dir + "/sharedindex.*"); err != nil || len(shared) > 0 {
			return "the repository has a split index"
		}
	}
	return ""
}

// harmlessKeys are the keys that name no program, between blanks; a * stands for
// the name of a subsection.
const harmlessKeys = " core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode core.autocrlf " +
	"core.eol core.safecrlf core.symlinks core.quotepath core.abbrev core.untrackedcache core.compression extensions.objectformat extensions.worktreeconfig " +
	"remote.*.url remote.*.pushurl remote.*.fetch remote.*.tagopt remote.*.prune remote.*.gh-resolved http.*.extraheader branch.*.vscode-merge-base branch.*.github-pr-owner-number branch.*.remote branch.*.merge branch.*.rebase branch.*.description " +
	"branch.*.pushremote branch.autosetuprebase user.name user.email init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote fetch.prune " +
	"rebase.autostash rebase.autosquash merge.ff merge.conflictstyle diff.renames diff.algorithm diff.mnemonicprefix diff.noprefix diff.colormoved " +
	"color.ui color.status color.diff color.branch color.pager advice.* gc.auto rerere.enabled status.short status.branch status.showuntrackedfiles commit.gpgsign " +
	"tag.gpgsign lfs.repositoryformatversion submodule.active http.postbuffer help.autocorrect log.date index.version feature.manyfiles "

// vetConfig reads a configuration as git does, on the safe side.
func vetConfig(text string, programs bool) string {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		for strings.HasPrefix(line, "[") {
			// A name of a subsection may have a bracket in it, and look like a header.
			end := strings.IndexByte(line, ']')
			if end < 0 || strings.ContainsAny(line[end+1:], `]"`) || strings.Contains(line[:end], `\`) {
				return "the repository's configuration is not understood"
			}
			head := line[1:end]
			name, sub, _ := strings.Cut(head, " ")
			section = strings.ToLower(name)
			if strings.Contains(sub, `"`) {
				section += ".*"
			} else if strings.Contains(name, ".") {
				section = strings.ToLower(name[:strings.IndexByte(name, '.')]) + ".*"
			}
			line = strings.TrimSpace(line[end+1:])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if section == "" { // after a byte order mark git sees a header
			return "the repository's configuration is not understood"
		}
		key := section + "." + strings.ToLower(strings.TrimSpace(name))
		if strings.HasSuffix(value, `\`) {
			return "the repository's configuration is not understood"
		}
		if !programs && !matters(section, key) {
			continue
		}
		if !strings.Contains(harmlessKeys, " "+key+" ") && section != "advice" &&
			!(key == "core.fsmonitor" && strings.EqualFold(strings.TrimSpace(value), "false")) {
			return "the repository's configuration sets " + key
		}
	}
	return ""
}

// matters reports whether a key can make git run a program when it only walks the
// history: to check signatures, to fetch what is missing, by what another file
// says, and to show it a page at a time where the output is a terminal.
func matters(section, key string) bool {
	switch strings.TrimSuffix(section, ".*") {
	case "gpg", "include", "includeif", "extensions", "pretty", "format", "pager":
		return true
	}
	return key == "core.pager" || key == "log.showsignature" || key == "remote.*.promisor" || key == "remote.*.partialclonefilter" || key == "core.worktree" || key == "log.diffmerges"
}
