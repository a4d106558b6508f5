import type { CommandCall, CommandResult } from './command-call.ts';
export async function top(_: CommandCall): Promise<CommandResult> {
  return { exitCode: 1 };
}
