// kubelet doctor: argv → settings → facts of the machine → findings → report and exit code.
// Invariant: nothing of the machine is changed; the report is complete within the deadline of the facts.
import { setMaxListeners } from 'node:events';
import { withDeadline } from '../../base/abort/deadline.ts';
import { realClock } from '../../base/clock.ts';
import { usageHint } from '../../config/command-line/help.ts';
import {
  loadCommandLine,
  type Outcome,
  type RunOutcome,
} from '../../config/command-line/load-command-line.ts';
import { subcommandUsage } from '../../config/command-line/subcommands.ts';
import type { ConfigurationFiles } from '../../config/load/read-files.ts';
import { checks } from '../../doctor/checks.ts';
import { countsOf, jsonReport, textReport } from '../../doctor/report.ts';
import { type CheckResult, runChecks } from '../../doctor/run-checks.ts';
import { untilAnswers } from '../../edge/doctor/answering-file.ts';
import { hasTlsGroup } from '../../edge/http/tls-groups.ts';
import { readMachine } from '../../edge/machine/machine.ts';
import { configurationFiles } from '../configuration-files.ts';
import type { CommandCall, CommandResult } from './command-call.ts';
import { doctorHost } from './doctor-host.ts';
import { doctorSettings, startupRules } from './doctor-settings.ts';

/** Of each fact and of each file of the configuration. A runtime that is slower than this is worth a finding. */
const factDeadlineMs = 5_000;
const usageExitCode = 2;

export async function doctor({ args, signal }: CommandCall): Promise<CommandResult> {
  // One listener for each fact.
  setMaxListeners(0, signal);
  const { flags, output } = readOutput(args);
  if (output !== 'text' && output !== 'json')
    return usage(`--output is text or json, not ${JSON.stringify(output)}`);
  const { cgroupVersion } = await readMachine();
  const files = answeringFiles(signal);
  const outcome = await load(flags, cgroupVersion, files);
  signal.throwIfAborted();
  if (outcome.kind === 'print') return { stdout: outcome.text, exitCode: 0 };
  if (outcome.kind === 'run') return report(await judge(outcome, [], signal), output);
  const hint = outcome.text.indexOf(usageHint);
  if (hint >= 0) return usage(problemsOf(outcome.text.slice(0, hint)).join('; '));
  // Settings that are wrong on this machine only leave the others to be judged.
  const problems = problemsOf(outcome.text);
  const onV2 = await load(flags, 2, files);
  if (onV2.kind === 'run') return report(await judge(onV2, problems, signal), output);
  const finding = problems.join('; ');
  const fix = /\b(EACCES|EPERM)\b/.test(finding)
    ? 'run the command as root: sudo kubelet doctor …'
    : 'correct the settings, then run the command again for the other checks';
  return report([{ name: 'settings', status: 'fail', finding, fix }], output);
}

function load(argv: readonly string[], cgroupVersion: 1 | 2, files: ConfigurationFiles): Promise<Outcome> {
  const host = async () => ({ cgroupVersion, hasTlsGroup });
  return loadCommandLine({ argv, files, host });
}

/** Each file and folder has a deadline, and a file is read once: the second load of a pipe would find it empty. */
function answeringFiles(signal: AbortSignal): ConfigurationFiles {
  const files = configurationFiles();
  const texts = new Map<string, Promise<string>>();
  const inTime = <T>(path: string, read: () => Promise<T>): Promise<T> =>
    withDeadline({ clock: realClock, ms: factDeadlineMs, signal, what: 'reading it' }, async (own) => {
      await untilAnswers(path, own);
      return await read();
    });
  return {
    read: (path) => {
      const text = texts.get(path) ?? inTime(path, () => files.read(path));
      texts.set(path, text);
      return text;
    },
    list: (path) => inTime(path, () => files.list(path)),
    workingDirectory: files.workingDirectory,
  };
}

/** The output format, and the arguments without it. */
function readOutput(args: readonly string[]): { readonly output: string; readonly flags: readonly string[] } {
  const at = args.findIndex((word) => word === '--output' || word.startsWith('--output='));
  if (at < 0) return { output: 'text', flags: args };
  const word = args[at] ?? '';
  const isSplit = word === '--output';
  return {
    output: isSplit ? (args[at + 1] ?? '') : word.slice('--output='.length),
    flags: args.toSpliced(at, isSplit ? 2 : 1),
  };
}

/** The indented lines of an error outcome. */
function problemsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim());
}

async function judge(
  outcome: RunOutcome,
  problems: readonly string[],
  signal: AbortSignal,
): Promise<readonly CheckResult[]> {
  const settings = doctorSettings(outcome, problems);
  const host = doctorHost({ outcome, settings, clock: realClock });
  try {
    const context = { settings, rules: startupRules(outcome) };
    return await runChecks({
      checks,
      context,
      host: host.facts,
      clock: realClock,
      signal,
      deadlineMs: factDeadlineMs,
    });
  } finally {
    host.close();
  }
}

function report(results: readonly CheckResult[], output: 'text' | 'json'): CommandResult {
  return {
    stdout: output === 'json' ? jsonReport(results) : textReport(results),
    exitCode: countsOf(results).fail === 0 ? 0 : 1,
  };
}

function usage(problem: string): CommandResult {
  const text = `kubelet doctor: ${problem}\n\nUsage:\n  ${subcommandUsage('doctor')}\n`;
  return { stdout: '', stderr: text, exitCode: usageExitCode };
}
