// The whole way from argv to something main.ts can run, print or refuse.

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
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly files: ConfigurationFiles;
  /** Asked only when the kubelet is to run. Without it, rules that depend on the host are not checked. */
  readonly host?: () => Promise<HostFacts>;
}

export interface RunOutcome extends Loaded {
  readonly kind: 'run';
  /** What to report as version. */
  readonly version: string;
  /** The command line as it was read, for /flagz and the log. */
  readonly args: ParsedArgs;
  /** Settings that were changed and do not, or only partly, take effect. */
  readonly settingWarnings: readonly SettingWarning[];
}

export type Outcome =
  | RunOutcome
  | { readonly kind: 'print'; readonly text: string; readonly exitCode: 0 }
  | { readonly kind: 'error'; readonly text: string; readonly exitCode: 1 };

export async function loadCommandLine({ argv, files, host }: CommandLineDeps): Promise<Outcome> {
  const args = parseArgs(argv);
  const findings: Findings = { problems: [...args.problems], warnings: [] };
  const flags = readFlags(args, findings);
  if (findings.problems.length > 0) return refusal(findings.problems, `\n${usageHint}`);
  if (flags.help) return { kind: 'print', text: helpText(), exitCode: 0 };
  const reported = flags.version.startsWith('v') ? flags.version : kubeletVersion;
  if (flags.version === 'raw') return { kind: 'print', text: `${rawVersion(reported)}\n`, exitCode: 0 };
  if (flags.version === 'true') return { kind: 'print', text: `Kubernetes ${reported}\n`, exitCode: 0 };
  const { fileProblems, problems, ...loaded } = await loadConfiguration(args, flags, files);
  if (fileProblems.length > 0) return refusal([...fileProblems, ...problems], '');
  const verdict = validateConfiguration(loaded, host === undefined ? undefined : await host());
  const all = [...problems, ...verdict.problems];
  if (all.length > 0) return refusal(all, '');
  return {
    kind: 'run',
    version: reported,
    args,
    ...loaded,
    warnings: [...loaded.warnings, ...verdict.warnings],
    settingWarnings: settingWarnings(loaded),
  };
}

function refusal(problems: readonly Problem[], more: string): Outcome {
  const count =
    problems.length === 1
      ? 'The kubelet cannot start:'
      : `The kubelet cannot start, for ${problems.length} reasons:`;
  const list = describeProblems(problems)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  return { kind: 'error', text: `${count}\n${list}\n${more}`, exitCode: 1 };
}
