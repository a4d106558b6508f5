// Signals when the memory usage of a v1 cgroup crosses a number of bytes. Owns one event counter at a time.
// Invariant: descriptors are closed before new ones are opened, so that re-arming cannot leak any.
// Upstream: pkg/kubelet/eviction/threshold_notifier_linux.go.
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { KubeletError } from '../../base/errors.ts';
import type { Syscalls } from '../syscalls/syscalls.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { sameFile } from './same-file.ts';

export interface MemoryWatch {
  /** Moves the threshold; replaces the descriptors. Throws if the kernel refuses, and is then closed. No effect on v2. */
  rearm(usageBytes: number): void;
  close(): void;
}

interface UsageWatchRequest {
  /** The cgroup's directory in the memory hierarchy. */
  readonly directory: string;
  readonly usageBytes: number;
  readonly onSignal: () => void;
  readonly onEnd: (err: KubeletError) => void;
}

type Calls = Pick<Syscalls, 'openEventCounter' | 'whenReadable'>;
const counterBytes = 8;

export function watchUsage(syscalls: Calls, request: UsageWatchRequest): MemoryWatch {
  let armed: { close(): void } | undefined;
  const exists = sameFile(request.directory);
  const close = (): void => {
    armed?.close();
    armed = undefined;
  };
  const signalled = (): void => {
    // The kernel signals once more when the cgroup is removed, and never again.
    if (exists()) return request.onSignal();
    close();
    request.onEnd(new KubeletError('not-found', 'CgroupRemoved', `${request.directory} was removed`));
  };
  const rearm = (usageBytes: number): void => {
    close();
    armed = arm(syscalls, { ...request, usageBytes }, signalled);
  };
  rearm(request.usageBytes);
  return { rearm, close };
}

function arm(
  syscalls: Calls,
  { directory, usageBytes }: Pick<UsageWatchRequest, 'directory' | 'usageBytes'>,
  onSignal: () => void,
): { close(): void } {
  const counter = syscalls.openEventCounter();
  try {
    register(directory, counter.fd, usageBytes);
  } catch (err) {
    counter.close();
    throw hostError(err, `cannot watch the memory usage of ${directory}`, { directory });
  }
  const buffer = Buffer.alloc(counterBytes);
  const watch = syscalls.whenReadable(counter.fd, () => {
    if (drain(counter.fd, buffer)) onSignal();
  });
  return {
    close(): void {
      watch.close();
      counter.close();
    },
  };
}

/** The kernel keeps the counter only; the files serve to name the cgroup and the figure. */
function register(directory: string, counter: number, usageBytes: number): void {
  const usage = openSync(`${directory}/memory.usage_in_bytes`, 'r');
  try {
    const control = openSync(`${directory}/cgroup.event_control`, constants.O_WRONLY);
    try {
      writeSync(control, thresholdLine(counter, usage, usageBytes));
    } finally {
      closeSync(control);
    }
  } finally {
    closeSync(usage);
  }
}

export function thresholdLine(counter: number, usage: number, usageBytes: number): string {
  return `${counter} ${usage} ${Math.max(Math.trunc(usageBytes), 0)}`;
}

/** False if another read has reset the counter already. */
function drain(fd: number, buffer: Buffer): boolean {
  try {
    return readSync(fd, buffer) > 0;
  } catch (err) {
    if (errorCode(err) === 'EAGAIN') return false;
    throw err;
  }
}
