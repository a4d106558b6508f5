// What a command is called with, and what it returns. The caller prints it and ends the process.
export interface CommandCall {
  /** What follows the name of the command. */
  readonly args: readonly string[];
  readonly signal: AbortSignal;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr?: string;
  readonly exitCode: number;
}

export type CommandHandler = (call: CommandCall) => Promise<CommandResult>;
