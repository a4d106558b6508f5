// Runs a command of the kubelet: its --help, its arguments, its handler, and what it prints.
// Invariant: a row for every command of the table; a handler is loaded only when its command runs.
import {
  argumentProblem,
  type SubcommandName,
  subcommandHelp,
  subcommands,
  subcommandUsage,
} from '../../config/command-line/subcommands.ts';
import type { CommandCall, CommandHandler, CommandResult } from './command-call.ts';

const usageExitCode = 2;

const handlers: Readonly<Record<SubcommandName, () => Promise<CommandHandler>>> = {
  completion: async () => (await import('./print-text.ts')).printCompletion,
  man: async () => (await import('./print-text.ts')).printManPage,
};

/** Returns the exit code. */
export async function runSubcommand(name: SubcommandName, call: CommandCall): Promise<number> {
  const { exitCode, stderr = '', stdout } = await resultOf(name, call);
  await write(process.stdout, stdout);
  await write(process.stderr, stderr);
  return exitCode;
}

async function resultOf(name: SubcommandName, call: CommandCall): Promise<CommandResult> {
  if (call.args.some((word) => word === '--help' || word === '-h'))
    return { stdout: subcommandHelp(name), exitCode: 0 };
  const problem = subcommands[name].takesKubeletFlags ? undefined : argumentProblem(name, call.args);
  if (problem !== undefined) return usageError(name, problem);
  const handler = await handlers[name]();
  return await handler(call);
}

function usageError(name: SubcommandName, problem: string): CommandResult {
  return {
    stdout: '',
    stderr: `kubelet ${name}: ${problem}\n\nUsage:\n  ${subcommandUsage(name)}\n`,
    exitCode: usageExitCode,
  };
}

/** Resolves when the text is written; a reader that is gone is not an error. */
function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '') return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
