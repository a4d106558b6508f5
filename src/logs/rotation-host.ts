// What rotation needs of the machine. Types only; implemented by edge/logs.
import type { LogEntry } from './plan-rotation.ts';

/** The open current file of a log. It stays the same file when it is renamed or deleted. */
export interface LiveLog {
  readonly identity: string;
  /** Does not wait for a disk. `hasName`: false once the file is deleted. */
  stat(): { readonly bytes: number; readonly hasName: boolean };
  /** Calls back once, at the next write or when the file is renamed or deleted. Undefined if it cannot be watched. */
  whenWritten(onWrite: () => void): { close(): void } | undefined;
  close(): void;
}

/** The open directory of a log. It stays the same directory, whatever its path becomes. */
export interface LogDirectory {
  /** The regular files that belong to the log: the current one, rotated and temporary ones. */
  list(): Promise<readonly LogEntry[]>;
  move(from: string, to: string): Promise<void>;
  /** As move(), unless `to` exists; false then. */
  moveBack(from: string, to: string): Promise<boolean>;
  /** No effect if the file does not exist. */
  remove(name: string): Promise<void>;
  /**
   * Compresses a file into a new one with the same mode and owner, which is on disk when the call returns. Rejects if the new
   * one exists; after any other failure it does not.
   */
  compress(from: string, to: string, signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface RotationHost {
  /** Undefined if the file does not exist. Rejects for anything but a regular file below the directory of logs. */
  openLive(path: string): Promise<LiveLog | undefined>;
  /** Undefined if the directory does not exist. Rejects if it is not below the directory of logs, or reached through a link. */
  openDirectory(path: string): Promise<LogDirectory | undefined>;
  /** Loads what watches need, and closes it once the signal is aborted. */
  start(signal: AbortSignal): Promise<void>;
}
