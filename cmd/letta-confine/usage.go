package main

// usage is the answer to --help. A test holds it to the flag set, with what the
// subcommands below add, and runs its examples.
const usage = `usage: letta-confine [flags] -- command [argument ...]
       letta-confine plan|explain|learn|probe|doctor ...  (each has a --help)
       letta-confine check KIND ... | credentials list|describe|set|unset [REF]
       letta-confine approve ... | preset list|current|set NAME
       letta-confine completion SHELL | version [--json]
       letta-confine bwrap-argv ... | landlock-run ...  (docs/dsh.md)

Runs a command that can read and write only what a policy lets it; without one,
what the mode workspace-write does: write here and to the temporary directory.

policy
  --policy FILE|-|fd:N      read a policy file (repeats; lists add up)
  --deny PATH               neither read nor written
  --read-only PATH  --writable PATH  read and not written; read and written
  --restrict-writes  --base-writable PATH  write only where a root says; there
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
  --answerer tty|FILE|fd:N  --answer-timeout 5m  --tool-name N  --call-id ID
  --widen MODE  --justification TEXT  --widen-on-denial  ask; run wider once
  --profile cross-agent|memory-subagent|workspace
  --agent-id ID  --parent-agent-id ID  --memory-dir DIR  --home DIR
  --layout letta|mini-letta  --agents-tree DIR  where agents are; one more tree
  --workspace DIR  --isolation-root DIR  what is written, and denied around it
  --honor-letta-default     cross-agent only where LETTA_FS_SANDBOX is set
backend
  --backend auto|bwrap|landlock|seatbelt  --bwrap PATH
  --prefer strong|fast  --require full|contents|any  with auto: bwrap first, or
                            Landlock if it suffices; the least enforcement
  --on-unavailable fail|run what to do where no backend can confine
  --allow-over-denial  --max-siblings N  take a Landlock that refuses too much
  --missing-denied create|refuse  --create-writable  for roots that are missing
process
  --chdir DIR  --keep-fd N  start there; hand on a descriptor (repeats)
  --tmp host|private  --tmpdir DIR  --no-tmpdir  where temporary files go
  --scrub-env  --keep-env GLOB  withhold variables that look secret, but those
  --env NAME=VALUE          set one; without =VALUE the caller's is handed on
  --credential NAME=REF     set a secret that the environment or a store has
  --new-session  --isolate-processes  its own session; its own processes, IPC
  --die-with-parent  --supervise  --exec  end with the caller; stay, or do not
output
  --report FILE|fd:N  --audit-log FILE|fd:N  JSON: events; one line for each run
  --fail-on-denial[=77]  --annotate github  --audit-denials  denials fail the
                            run; are errors of a build; the kernel logs them
  --quiet  --json  --error-format text|json  no warnings; JSON, of errors too

exit status: the command's own; 125 the launcher failed and the command never
ran; 126 the command cannot run; 127 it was not found; 128+n signal n ended it

examples:
  letta-confine -- make test
  letta-confine --deny "$HOME/.ssh" -- ls -a "$HOME"
`

// What a subcommand says for --help: the flags that only it takes.
const (
	planUsage = `usage: letta-confine plan [flags] [--json] -- command [argument ...]
       letta-confine plan --exec-argv [flags] [--json] -- command [argument ...]
       letta-confine plan --check FILE|-|fd:N

Prints what would be run and runs nothing: the policy as it resolves here, the
backend with its gaps, and its arguments, rules or profile. The flags are those
of letta-confine --help.

  --exec-argv   print the arguments that start the command confined without the
                launcher, each ended by a zero byte; nothing in them is masked
  --check FILE  does this plan, of --json, still hold? if not, say why

exit status: 0; 125 if the command would not be run, or the plan does not hold
`

	explainUsage = `usage: letta-confine explain [flags] [--json] path ...
       letta-confine explain [flags] [--json] --self path ...
       letta-confine explain [flags] [--json] --stderr FILE | --risks

Says what a policy lets a command do with each path, and which root decides. The
policy is what the flags of letta-confine --help come to.

  --for OPERATION  read, list, execute, write, metadata, create, delete, rename:
                   whether that is allowed, and the smallest change that would
  --stderr FILE    which lines of what a command wrote there are denials of this
                   policy; --report FILE says which backend it ran on
  --risks          which services on this host could act for the command
  --self           inside a run: what the policy in force lets this process read
                   and write, found out by trying, which changes nothing

exit status: 0; 125 if the question has no answer
`

	probeUsage = `usage: letta-confine probe [flags] [--json]
       letta-confine doctor [flags] [--json]

Tries the backends of this host and says what each is good for, or what keeps it
from working and what to change; and what is open and over-denied for the policy
of the flags, or for every profile and mode. doctor says --self-test too.

  --self-test          print every attempt, and how it ended
  --probe-timeout 5s   how long each step may take

exit status: 0 full enforcement, of that policy if there is one; 1 partial;
2 none; 125 probing failed
`
)
