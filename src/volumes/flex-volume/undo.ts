// Unmounts what a FlexVolume driver mounted, by the driver, or without it where that loses nothing.
// Upstream: unmounter.go and detacher.go in pkg/volume/flexvolume; without the driver, upstream unmounts nothing.
// Invariant: a mount that only the driver knows how to undo (a session, a lock, a mapped device) stays until the driver is usable.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { callDriver, type FlexDriver } from './driver-call.ts';

export interface UndoDeps {
  readonly host: Pick<VolumeHost, 'mountsBelow'>;
  readonly drivers: {
    use(name: string, signal: AbortSignal): Promise<FlexDriver>;
    lastKnown(name: string): FlexDriver | undefined;
  };
  readonly programs: Pick<HostPrograms, 'run'>;
  readonly log: Logger;
}

interface Undo {
  readonly driver: string;
  readonly command: 'unmount' | 'unmountdevice';
  readonly path: string;
  /** Unmounts the path without the driver. */
  readonly unmount: () => Promise<void>;
  /** Whether that is enough, so that the driver may be missing. */
  readonly isEnough: () => Promise<boolean>;
}

export async function isMounted(host: Pick<VolumeHost, 'mountsBelow'>, path: string): Promise<boolean> {
  return (await host.mountsBelow(path)).some((mount) => mount.path === path);
}

export async function undoMount(deps: UndoDeps, undo: Undo, signal: AbortSignal): Promise<void> {
  const { command, path } = undo;
  let driver: FlexDriver;
  try {
    driver = await deps.drivers.use(undo.driver, signal);
  } catch (err) {
    if (signal.aborted) throw err;
    await undoWithoutDriver(deps, undo, err);
    return;
  }
  const answer = await callDriver(deps.programs, driver, { command, args: [path] }, signal);
  if (answer === undefined) await undo.unmount();
}

async function undoWithoutDriver(
  { drivers, host, log }: UndoDeps,
  { command, driver, isEnough, path, unmount }: Undo,
  err: unknown,
): Promise<void> {
  if (!(await isMounted(host, path))) return;
  const isUnsupported = drivers.lastKnown(driver)?.unsupported.has(command) === true;
  if (!isUnsupported && !(await isEnough())) {
    const message = `${path} stays mounted until FlexVolume driver ${driver} can be called: ${describeError(err)}`;
    throw new KubeletError('unavailable', 'DriverUnavailable', message, { cause: err });
  }
  log.info('Unmounting volume without its FlexVolume driver', { driver, path, err: describeError(err) });
  await unmount();
}
