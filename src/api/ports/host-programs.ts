// Programs, devices and small files of the host, for volumes whose host programs attach a device: iSCSI, Fibre Channel,
// FlexVolume. Types only; edge/host-programs implements them. Upstream: k8s.io/utils/exec, pkg/volume/util/io.go.
// Invariants of an implementation: a program runs in a process group of its own and is killed at its deadline or on abort; its
// output is bounded; secrets reach it only as arguments that the caller names as sensitive, which no error and no standard
// error of a result repeats. Standard output is returned as it is: a caller that passed secrets must not quote it.

export interface ProgramRun {
  /** A path, or a name in PATH. */
  readonly program: string;
  readonly args: readonly string[];
  readonly timeoutMs: number;
  /** Arguments, or parts of them, that are secret. */
  readonly sensitive?: readonly string[];
  /** Default: 64 KiB per stream. The rest is discarded. */
  readonly outputBytes?: number;
}

export interface ProgramResult {
  /** 0 to 255; undefined if a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostPrograms {
  /** The path of a program in PATH; undefined if the host has none. */
  find(program: string): Promise<string | undefined>;
  /** Resolves whatever its exit code. `not-found` if it does not exist, `forbidden` if it is not executable, `timeout` at its deadline. */
  run(run: ProgramRun, signal: AbortSignal): Promise<ProgramResult>;
}

/** /dev, /sys, the mount table, and files of plugins below the kubelet's plugins directory. */
export interface HostDevices {
  /** Names in a directory; empty if it does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Follows links. */
  exists(path: string): Promise<boolean>;
  /** The path without links; undefined if it does not exist. */
  resolve(path: string): Promise<string | undefined>;
  /** A small file as text; undefined if it does not exist. A larger one is rejected. */
  read(path: string, limitBytes: number): Promise<string | undefined>;
  /** To a file of sysfs; `not-found` if it does not exist. The kernel may take long to handle it: a deadline applies. */
  writeSysfs(path: string, text: string, signal: AbortSignal): Promise<void>;
  /** What is mounted on the path according to the mount table, such as /dev/sdb; undefined if nothing is. */
  mountedDevice(path: string): Promise<string | undefined>;
}
