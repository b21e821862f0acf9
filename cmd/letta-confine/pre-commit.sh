#!/bin/sh
# Judges what is staged in this memory repository. It is advice: --no-verify skips
# it. A status other than 0 stops the commit, also where letta-confine is not found.
git_dir=$(git rev-parse --absolute-git-dir) || exit 125
exec letta-confine check commit --git-dir "$git_dir" --index "${GIT_INDEX_FILE:-$git_dir/index}" >&2
