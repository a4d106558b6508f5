// Runs a command of the kubelet: its --help, its arguments, its handler, what it prints, and how it ends.
// Invariants: a row for every command of the table; a handler is loaded only when its command runs; a failure is one line
// without control characters, never a stack trace; a signal and a reader that is gone are clean ends.
import { describeError } from '../../base/errors.ts';
import { type ParsedCommand, parseSubcommand } from '../../config/command-line/parse-subcommand.ts';
import {
  type SubcommandName,
  subcommandHelp,
  subcommands,
  subcommandUsage,
} from '../../config/command-line/subcommands.ts';
import { type CommandHandler, type CommandOutput, type CommandResult, UsageError } from './command-call.ts';
import { processOutput, ReaderGone } from './process-output.ts';

const usageExitCode = 2;
/** Of a shell for a program that a signal ended: 128 and the number of the signal. */
const signalExitCodes: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

const handlers: Readonly<Record<SubcommandName, () => Promise<CommandHandler>>> = {
  completion: async () => (await import('./print-text.ts')).printCompletion,
  doctor: async () => (await import('./doctor.ts')).doctor,
  explain: async () => (await import('./explain.ts')).explain,
  history: async () => (await import('./history.ts')).history,
  logs: async () => (await import('./logs.ts')).logs,
  man: async () => (await import('./print-text.ts')).printManPage,
  ps: async () => (await import('./ps.ts')).ps,
  top: async () => (await import('./top.ts')).top,
};

interface SubcommandCall {
  readonly args: readonly string[];
  readonly signal: AbortSignal;
}

/** Returns the exit code. */
export async function runSubcommand(name: SubcommandName, call: SubcommandCall): Promise<number> {
  return await runWithOutput(name, call, processOutput(process));
}

export async function runWithOutput(
  name: SubcommandName,
  call: SubcommandCall,
  output: CommandOutput,
): Promise<number> {
  try {
    const { exitCode, stderr = '', stdout = '' } = await resultOf(name, call, output);
    if (stdout !== '') await output.print(stdout);
    if (stderr !== '') output.warn(stderr);
    return exitCode;
  } catch (err) {
    if (err instanceof ReaderGone) return 0;
    const { signal } = call;
    if (signal.aborted && !subcommands[name].takesKubeletFlags)
      return signalExitCodes[signal.reason instanceof Error ? signal.reason.message : ''] ?? 1;
    if (subcommands[name].takesKubeletFlags) throw err;
    if (err instanceof UsageError) {
      output.warn(usageText(name, err.message));
      return usageExitCode;
    }
    output.warn(`kubelet ${name}: ${withoutControls(describeError(err))}\n`);
    return 1;
  }
}

async function resultOf(
  name: SubcommandName,
  { args, signal }: SubcommandCall,
  output: CommandOutput,
): Promise<CommandResult> {
  if (isHelp(args)) return { stdout: subcommandHelp(name), exitCode: 0 };
  let parsed: ParsedCommand = { argument: undefined, options: new Map() };
  if (!subcommands[name].takesKubeletFlags) {
    const read = parseSubcommand(name, args);
    if ('problem' in read) throw new UsageError(read.problem);
    parsed = read;
  }
  const handler = await handlers[name]();
  return await handler({ args, parsed, output, signal });
}

/** Behind -- a word is an argument. */
function isHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return (end < 0 ? args : args.slice(0, end)).some((word) => word === '--help' || word === '-h');
}

function usageText(name: SubcommandName, problem: string): string {
  return `kubelet ${name}: ${withoutControls(problem)}\n\nUsage:\n  ${subcommandUsage(name)}\n`;
}

/** An answer of a server may be part of the message. The commands that show pods have a stricter rule. */
function withoutControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd');
}
