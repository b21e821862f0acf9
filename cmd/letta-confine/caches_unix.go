//go:build linux || darwin

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/letta-confine/letta-confine/internal/hostfs"
	"github.com/letta-confine/letta-confine/internal/launch"
	"github.com/letta-confine/letta-confine/policy"
)

// cacheVars are the variables that --caches private points into the
// workspace's own cache folder, with the place that each program uses without,
// below the home directory.
var cacheVars = []struct{ name, below, usual string }{
	{"XDG_CACHE_HOME", "xdg", ".cache"},
	{"GOCACHE", "go-build", ".cache/go-build"},
	{"npm_config_cache", "npm", ".npm"},
	{"PIP_CACHE_DIR", "pip", ".cache/pip"},
	{"CARGO_HOME", "cargo", ".cargo"},
}

// cacheMark ends the path of a workspace's cache folder, so that the folders of
// a workspace and of one below it never hold one another.
const cacheMark = "@caches"

// caches applies --caches. Nothing is created before makeCaches.
func (in *inputs) caches(p *policy.Policy) error {
	switch in.opts.caches {
	case "host":
		for _, c := range in.hostCaches() {
			if info, err := (hostfs.FS{}).Lstat(c.path); err != nil || info.Kind != policy.Dir {
				continue
			}
			// Two caches lie in the directory of a third, where a run can write.
			if err := in.unplanted("--caches host: "+c.name, c.given, c.path); err != nil {
				return err
			}
			if err := p.Add(policy.Writable, c.path); err != nil {
				return err
			}
		}
	case "private":
		if err := in.unplantedChdir(); err != nil {
			return err
		}
		folder, err := in.cacheFolder()
		if err != nil {
			return err
		}
		in.makes = append(in.makes, making{"--caches private", folder, 0o700, "set XDG_CACHE_HOME to a directory that you can write"})
		for _, v := range cacheVars {
			in.env = launch.Setenv(in.env, v.name, folder+"/"+v.below)
		}
		return p.Add(policy.Writable, folder)
	}
	return nil
}

// hostCache is one of the user's own cache directories.
type hostCache struct{ name, given, path string } // by the variable; path is canonical

func (in *inputs) hostCaches() []hostCache {
	home := in.getenv("HOME")
	var list []hostCache
	for _, v := range cacheVars {
		dir := in.getenv(v.name)
		if dir == "" && home != "" {
			dir = home + "/" + v.usual
		}
		if filepath.IsAbs(dir) {
			list = append(list, hostCache{v.name, dir, canonicalOr(dir)})
		}
	}
	return list
}

// cacheFolder names the private cache folder of the workspace, which is the
// directory that the command starts in. It lies in the user's cache directory,
// where no other confined workspace can write.
func (in *inputs) cacheFolder() (string, error) {
	dir := in.getenv("XDG_CACHE_HOME")
	if dir == "" {
		if home := in.getenv("HOME"); home != "" {
			dir = home + "/.cache"
		}
	}
	const hint = "set XDG_CACHE_HOME to a directory that you can write"
	if !filepath.IsAbs(dir) {
		return "", withHint(errors.New("--caches private: there is no home directory to keep them in"), hint)
	}
	if strings.Contains(in.cwd+"/", "/"+cacheMark+"/") {
		return "", fmt.Errorf("--caches private: the workspace %q is a cache folder itself", in.cwd)
	}
	dir, err := policy.Canonical(dir, hostfs.FS{})
	if err != nil {
		return "", withHint(fmt.Errorf("--caches private: %w", err), hint)
	}
	return dir + "/letta-confine" + in.cwd + "/" + cacheMark, nil
}
