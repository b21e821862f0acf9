// Run a command confined, and tell what came of it. Node 18, no packages.
//
// plan says before anything runs what the host gives; the report says what did
// happen: without a "started" event the command never ran, whatever the status.
import { spawnSync } from 'node:child_process';

const launcher = 'letta-confine';

/** The backend that would run argv: its name, enforcement, gaps. */
export function plan(argv, flags = []) {
  const p = spawnSync(launcher, ['plan', '--json', ...flags, '--', ...argv], { encoding: 'utf8' });
  if (p.error) throw p.error;
  if (p.status !== 0) throw new Error(p.stderr.trim()); // the reason, and the cure if there is one
  return JSON.parse(p.stdout).backends.find((b) => b.chosen);
}

/** Runs argv, and returns what spawnSync gives and the report's events. */
export function run(argv, flags = [], options = {}) {
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe']; // the fourth is the report
  const args = ['--report', 'fd:3', ...flags, '--', ...argv];
  const p = spawnSync(launcher, args, { encoding: 'utf8', ...options, stdio });
  if (p.error) throw p.error;
  const events = {};
  for (const line of p.output[3].split('\n').filter(Boolean)) {
    const event = JSON.parse(line);
    events[event.event] = event;
  }
  if (!events.started) throw new Error(`${argv[0]} did not run: ${p.stderr.trim()}`);
  return { ...p, events };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const home = process.env.HOME;
  const flags = ['--deny', `${home}/.letta/agents`, '--scrub-env'];
  flags.push('--on-unavailable', 'fail'); // the default: never unconfined without being asked
  console.log(['full', 'partial'].includes(plan(['true'], flags).enforcement));
  const { status, stdout, events } = run(['cat', `${home}/.letta/agents/bob/memory/x.md`], flags);
  console.log(status, JSON.stringify(stdout), ['bwrap', 'landlock', 'seatbelt'].includes(events.plan.backend));
}
