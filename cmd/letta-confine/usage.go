package main

// usage is the answer to --help. A test holds it to the flag set, and runs its
// examples.
const usage = `usage: letta-confine [flags] -- command [argument ...]
       letta-confine plan [flags] [--json] -- command [argument ...]
       letta-confine explain [flags] [--risks] [--json] path ... | --stderr FILE
       letta-confine probe|doctor [--self-test] [--json] | check KIND ...
       letta-confine approve ... | preset list|current|set NAME [--json]
       letta-confine completion bash|zsh|fish | version [--json]
       letta-confine bwrap-argv ... | landlock-run ...  (docs/dsh.md)

Runs a command that can read and write only what a policy lets it; without one,
what the mode workspace-write does: write here and to the temporary directory.

policy
  --policy FILE|-|fd:N      read a policy file (repeats; lists add up)
  --restrict-writes  --base-writable PATH  only this is written, but for roots
  --deny PATH               neither read nor written
  --read-only PATH  --writable PATH  read and not written; read and written
  --protect PATH  --protect-git DIR  keep what exists there, or what git obeys
  --git-worktree DIR        grant the repository of a linked working tree
  --deny-helpers            deny the sockets of docker, tmux and the like
  --caches none|private|host         where build tools may keep their caches
  --print-policy            print all of this as a policy file, and run nothing
mode, or the preset that names it; or a profile, from letta-code's variables too
  --mode read-only|workspace-write|danger-full-access|env
  --default-mode MODE       where none is named; env means DSH_PERMISSION_MODE
  --session-log FILE        what the session has settled: mode, when to ask
  --preset MODE  --approval ask|never  with, or just, when to ask for more
  --answerer tty|FILE|fd:N  --answer-timeout 5m  --tool NAME  --call-id ID
  --widen MODE  --justification TEXT  --widen-on-denial  ask; run wider once
  --profile cross-agent|memory-subagent|workspace
  --agent-id ID  --parent-agent-id ID  --memory-dir DIR  --home DIR
  --layout letta|mini-letta  --agents-tree DIR  where agents are; one more tree
  --workspace DIR  --isolation-root DIR  what is written, and denied around it
  --honor-letta-default     cross-agent only where LETTA_FS_SANDBOX is set
backend
  --backend auto|bwrap|landlock|seatbelt  --bwrap PATH
  --prefer strong|fast      with auto: bwrap first, or Landlock if it suffices
  --require full|contents|any        the least enforcement that is accepted
  --on-unavailable fail|run what to do where no backend can confine
  --allow-over-denial  --max-siblings N  take a Landlock that refuses too much
  --missing-denied create|refuse  --create-writable  for roots that are missing
process
  --tmp host|private  --tmpdir DIR  --no-tmpdir  where temporary files go
  --scrub-env  --keep-env GLOB  withhold variables that look secret, but those
  --env NAME=VALUE          set one; without =VALUE the caller's is handed on
  --chdir DIR  --keep-fd N  start there; inherit a descriptor (repeats)
  --new-session  --isolate-processes  its own session; its own processes, IPC
  --die-with-parent  --exec  end with the caller; no supervisor beside bwrap
output
  --report FILE|fd:N        write what happened as JSON, one event a line
  --quiet  --json  --error-format text|json  no warnings; JSON, of errors too
  --for OPERATION  --stderr FILE  --risks   with explain: what would allow it;
                            which lines are denials; services that could act
  --self-test  --probe-timeout 5s  with probe: every attempt; time for each step

exit status: the command's own; 125 the launcher failed and the command never
ran; 126 the command cannot run; 127 it was not found; 128+n signal n ended it

examples:
  letta-confine -- make test
  letta-confine --deny "$HOME/.ssh" -- ls -a "$HOME"
`
