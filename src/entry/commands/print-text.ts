// The commands that print a text rendered from the tables: the manual page and the completion scripts.
import { completionScript } from '../../config/completion/completion.ts';
import { manPage } from '../../config/man/man-page.ts';
import type { CommandCall, CommandResult } from './command-call.ts';

export async function printManPage(): Promise<CommandResult> {
  return { stdout: manPage(packageDate(process.env['SOURCE_DATE_EPOCH'])), exitCode: 0 };
}

/** The date that the build of a package sets for everything it generates (https://reproducible-builds.org). */
function packageDate(epoch: string | undefined): string | undefined {
  if (epoch === undefined || !/^[0-9]{1,11}$/.test(epoch)) return undefined;
  return new Date(Number(epoch) * 1000).toISOString().slice(0, 10);
}

export async function printCompletion({ parsed }: CommandCall): Promise<CommandResult> {
  const script = completionScript(parsed.argument ?? '');
  if (script === undefined)
    throw new Error(`there is no completion script for the shell ${parsed.argument ?? ''}`);
  return { stdout: script, exitCode: 0 };
}
