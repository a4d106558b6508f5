// What a command is called with, and what it returns. The caller prints the result and ends the process.
import type { ParsedCommand } from '../../config/command-line/parse-subcommand.ts';

/** Where a command prints while it runs. */
export interface CommandOutput {
  /** Resolves once the reader can take more. Rejects with ReaderGone when it is gone. */
  print(text: string | Uint8Array): Promise<void>;
  /** To stderr. */
  warn(text: string): void;
  /** Columns of the terminal now; undefined if it is none. */
  columns(): number | undefined;
  /** Lines of the terminal now. */
  rows(): number | undefined;
  readonly colours: boolean;
}

export interface CommandCall {
  /** What follows the name of the command. */
  readonly args: readonly string[];
  /** The arguments, of a command without flags of the kubelet. */
  readonly parsed: ParsedCommand;
  readonly output: CommandOutput;
  readonly signal: AbortSignal;
}

export interface CommandResult {
  /** What remains to be printed. */
  readonly stdout?: string;
  readonly stderr?: string;
  readonly exitCode: number;
}

export type CommandHandler = (call: CommandCall) => Promise<CommandResult>;

/** The arguments are wrong; the usage follows. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
