// What reading a log needs of the files it is in: the current one, and those it was rotated away to. Types only.

export interface LogFile {
  /** The same as long as it is the same file, whatever it is called. */
  readonly identity: string;
  /** Can be read forwards only, and its size is not known. */
  readonly compressed: boolean;
  /** Fills the buffer with what is at `at`; 0 at the end. */
  read(buffer: Buffer, at: number): Promise<number>;
  size(): Promise<number>;
  close(): Promise<void>;
}

export interface RotatedLog {
  readonly path: string;
  readonly identity: string;
}

export interface LogFiles {
  /** Undefined when it is not there. Refuses what is no file of this container's, whatever its name leads to. */
  open(path: string, containerId: string): Promise<LogFile | undefined>;
  /** What `path` was called when it was rotated away, oldest first. */
  rotated(path: string): Promise<readonly RotatedLog[]>;
  identity(path: string): Promise<string | undefined>;
  /** Tells, once or more often, when the file or its neighbours may have changed. */
  watch(path: string, onChange: () => void): { close(): void };
}

export interface LogTarget {
  readonly path: string;
  readonly containerId: string;
}
