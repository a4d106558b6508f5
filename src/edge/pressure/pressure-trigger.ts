// Signals when tasks are stalled by memory reclaim, by a trigger in a PSI file of the machine or of a v2 cgroup.
// Invariants: the trigger lives as long as the open file; a removed cgroup ends the watch instead of spinning.
// Upstream has none: its notifiers do nothing on cgroup v2.
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { KubeletError } from '../../base/errors.ts';
import type { Syscalls } from '../syscalls/syscalls.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { sameFile } from './same-file.ts';

export interface PressureTrigger {
  /** At least one task was stalled for this long… */
  readonly stallUs: number;
  /** …within this window. The kernel signals once per window at most. */
  readonly windowUs: number;
}

/**
 * A tenth of a second in one second: reclaim that tasks feel, well before the machine thrashes. A lower value would also wake for
 * the reclaim of page cache by a single container at its own limit, which is harmless to the node.
 */
const defaultTriggers: readonly PressureTrigger[] = [
  { stallUs: 100_000, windowUs: 1_000_000 },
  // Without CAP_SYS_RESOURCE the kernel accepts only windows of whole multiples of 2 s, and checks them every 2 s.
  { stallUs: 200_000, windowUs: 2_000_000 },
];

interface PressureWatchRequest {
  /** /proc/pressure/memory, or memory.pressure of a cgroup. */
  readonly path: string;
  /** The first that the kernel accepts is used. */
  readonly triggers: readonly PressureTrigger[] | undefined;
  readonly onSignal: () => void;
  readonly onEnd: (err: KubeletError) => void;
}

export function watchPressure(
  syscalls: Pick<Syscalls, 'whenExceptional'>,
  { onEnd, onSignal, path, triggers = defaultTriggers }: PressureWatchRequest,
): { close(): void } {
  const what = `cannot watch ${path}`;
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  } catch (err) {
    throw hostError(err, `${what}: the kernel has no pressure stall information for it`, { path });
  }
  let watch: { close(): void };
  try {
    setTrigger(fd, triggers);
    watch = syscalls.whenExceptional(fd, () => signalled());
  } catch (err) {
    closeSync(fd);
    throw hostError(err, what, { path });
  }
  let isOpen = true;
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    watch.close();
    closeSync(fd);
  };
  const exists = sameFile(path);
  // The file of a removed cgroup reports an error indefinitely.
  const signalled = (): void => {
    if (exists()) return onSignal();
    close();
    onEnd(new KubeletError('not-found', 'CgroupRemoved', `${path} was removed`));
  };
  return { close };
}

function setTrigger(fd: number, [first, ...others]: readonly PressureTrigger[]): void {
  if (first === undefined) throw new Error('no trigger');
  try {
    writeSync(fd, triggerText(first));
  } catch (err) {
    if (errorCode(err) !== 'EINVAL' || others.length === 0) throw err;
    setTrigger(fd, others);
  }
}

/** The kernel overwrites the last byte with a zero byte, so it must be one already. */
export function triggerText({ stallUs, windowUs }: PressureTrigger): string {
  return `some ${stallUs} ${windowUs}\0`;
}
