// The files of a log as the reader needs them: the current one and the rotated ones. Types only.

export interface LogFile {
  /** Identifies the file, whatever its name. */
  readonly identity: string;
  /** Can be read forwards only, and its size is unknown. */
  readonly compressed: boolean;
  /** Reads into the buffer from offset `at`; 0 at the end. */
  read(buffer: Buffer, at: number): Promise<number>;
  size(): Promise<number>;
  /** Its present name without the directory, or the last one if it was deleted. */
  name(): Promise<string>;
  close(): Promise<void>;
}

export interface RotatedLog {
  readonly path: string;
  readonly identity: string;
}

export interface LogFiles {
  /** Undefined if the file does not exist. Rejects if it is not a log of this container, for example a link. */
  open(path: string, containerId: string): Promise<LogFile | undefined>;
  /** The rotated files of `path`, oldest first. */
  rotated(path: string): Promise<readonly RotatedLog[]>;
  identity(path: string): Promise<string | undefined>;
  /** Calls back, at least once, when a file in the directory may have changed. */
  watch(path: string, onChange: () => void): { close(): void };
}

export interface LogTarget {
  readonly path: string;
  readonly containerId: string;
}
