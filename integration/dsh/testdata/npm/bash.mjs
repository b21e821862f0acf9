// Runs one command as DSH's bash tool does, and prints what that makes of it. The
// argument is { sandbox, mode, workspaceRoot, workdir, command, landlock }.
import { Context } from '@deepseek-ai/cordis'
import BashExecutor from '@deepseek-ai/dsh-bash-sandbox'
import SandboxProvider from '@deepseek-ai/dsh-sandbox-local'
import SandboxPolicy from '@deepseek-ai/dsh-sandbox-policy'
import Subprocess from '@deepseek-ai/dsh-subprocess-local'

const given = JSON.parse(process.argv[2])
const ctx = new Context()
await ctx.plugin(Subprocess, {})
await ctx.plugin(SandboxProvider, given.sandbox)
await ctx.plugin(SandboxPolicy, { mode: given.mode, workspaceRoot: given.workspaceRoot })
await ctx.plugin(BashExecutor, {})
if (given.landlock) ctx.sandbox.internals.chain = ['landlock'] // as where there is no bubblewrap
let answer
try {
  const { exitCode, stdout, stderr, sandbox } = await ctx.shell.run(ctx.shell.resolve(given))
  answer = { exitCode, stdout: stdout.text, stderr: stderr.text, ...sandbox }
} catch (error) {
  answer = { code: error.code, message: error.message }
}
console.log(JSON.stringify(answer))
process.exit(0)
