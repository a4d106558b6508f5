import type { CommandCall, CommandResult } from './command-call.ts';
export async function history(_: CommandCall): Promise<CommandResult> {
  return { exitCode: 1 };
}
