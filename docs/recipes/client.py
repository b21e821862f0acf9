"""Run a command confined, and tell what came of it. Python 3.8, no packages.

plan says before anything runs what the host gives; the report says what did
happen: without a "started" event the command never ran, whatever the status.
"""
import json
import os
import subprocess
import tempfile

LAUNCHER = "letta-confine"


def plan(argv, flags=()):
    """The backend that would run argv: its name, enforcement, gaps."""
    p = subprocess.run([LAUNCHER, "plan", "--json", *flags, "--", *argv], capture_output=True, text=True)
    if p.returncode != 0:
        raise RuntimeError(p.stderr.strip())  # the reason, and the cure if there is one
    return next(b for b in json.loads(p.stdout)["backends"] if b["chosen"])


def run(argv, flags=(), **kwargs):
    """Runs argv, and returns the process that ended and the report's events."""
    with tempfile.TemporaryFile() as report:
        fd = report.fileno()
        p = subprocess.run([LAUNCHER, "--report", f"fd:{fd}", *flags, "--", *argv], pass_fds=[fd], **kwargs)
        report.seek(0)
        events = {e["event"]: e for e in map(json.loads, report)}
    if "started" not in events:  # 125, 126 or 127: the command's own status is none of these here
        raise RuntimeError(f"{argv[0]} did not run: status {p.returncode}")
    return p, events


if __name__ == "__main__":
    home = os.environ["HOME"]
    flags = ["--deny", f"{home}/.letta/agents", "--scrub-env"]
    flags += ["--on-unavailable", "fail"]  # the default: never unconfined without being asked
    print(plan(["true"], flags)["enforcement"] in ("full", "partial"))
    p, events = run(["cat", f"{home}/.letta/agents/bob/memory/x.md"], flags, capture_output=True)
    print(p.returncode, p.stdout, events["plan"]["backend"] in ("bwrap", "landlock", "seatbelt"))
