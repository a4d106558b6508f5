// From argv to an outcome for the command: run with this configuration, print a text, or fail with all problems.

import { type Loaded, loadConfiguration, readFlags } from '../load/load.ts';
import type { ConfigurationFiles, Findings } from '../load/read-files.ts';
import { type SettingWarning, settingWarnings } from '../marked-settings.ts';
import { describeProblems, type Problem } from '../problem.ts';
import type { HostFacts } from '../validation/context.ts';
import { validateConfiguration } from '../validation/validate.ts';
import { kubeletVersion, rawVersion } from '../version.ts';
import { helpText, usageHint } from './help.ts';
import { type ParsedArgs, parseArgs } from './parse-args.ts';

interface CommandLineDeps {
  /** Without the program name. */
  readonly argv: readonly string[];
  readonly files: ConfigurationFiles;
  /** Called only if the kubelet is to run. Without it, rules that depend on the host are not checked. */
  readonly host?: () => Promise<HostFacts>;
}

export interface RunOutcome extends Loaded {
  readonly kind: 'run';
  /** The version to report. */
  readonly version: string;
  /** For /flagz. */
  readonly args: ParsedArgs;
  /** Settings that were changed and do not, or only partly, take effect. */
  readonly settingWarnings: readonly SettingWarning[];
}

export type Outcome =
  | RunOutcome
  | { readonly kind: 'print'; readonly text: string; readonly exitCode: 0 }
  | {
      readonly kind: 'error';
      readonly text: string;
      /** Those that the text lists. */
      readonly problems: readonly Problem[];
      readonly exitCode: 1;
    };

export async function loadCommandLine({ argv, files, host }: CommandLineDeps): Promise<Outcome> {
  const args = parseArgs(argv);
  const findings: Findings = { problems: [...args.problems], warnings: [] };
  const flags = readFlags(args, findings);
  if (findings.problems.length > 0) return failure(findings.problems, `\n${usageHint}`);
  if (flags.help) return { kind: 'print', text: helpText(), exitCode: 0 };
  const reported = flags.version.startsWith('v') ? flags.version : kubeletVersion;
  if (flags.version === 'raw') return { kind: 'print', text: `${rawVersion(reported)}\n`, exitCode: 0 };
  if (flags.version === 'true') return { kind: 'print', text: `Kubernetes ${reported}\n`, exitCode: 0 };
  const { fileProblems, problems, ...loaded } = await loadConfiguration(args, flags, files);
  if (fileProblems.length > 0) return failure([...fileProblems, ...problems], '');
  const verdict = validateConfiguration(loaded, host === undefined ? undefined : await host());
  const all = [...problems, ...verdict.problems];
  if (all.length > 0) return failure(all, '');
  return {
    kind: 'run',
    version: reported,
    args,
    ...loaded,
    warnings: [...loaded.warnings, ...verdict.warnings],
    settingWarnings: settingWarnings(loaded),
  };
}

function failure(problems: readonly Problem[], more: string): Outcome {
  const count =
    problems.length === 1
      ? 'The kubelet cannot start:'
      : `The kubelet cannot start because of ${problems.length} problems:`;
  const list = describeProblems(problems)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  return { kind: 'error', text: `${count}\n${list}\n${more}`, problems, exitCode: 1 };
}
