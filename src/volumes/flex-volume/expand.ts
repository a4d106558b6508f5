// Grows the file system of a FlexVolume on this node. Upstream: NodeExpand in pkg/volume/flexvolume/expander.go.
// Invariant: a volume whose driver does not require it is left alone.
import type { HostPrograms } from '../../api/ports/host-programs.ts';
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import type { ExpandFailure, ExpandRequest } from '../plugin.ts';
import { callDriver } from './driver-call.ts';
import { driverOptions, flexSource } from './driver-options.ts';
import type { GlobalMounts } from './global-mounts.ts';
import type { UndoDeps } from './undo.ts';

interface ExpandDeps {
  readonly host: Pick<VolumeHost, 'growFileSystem'>;
  readonly drivers: UndoDeps['drivers'];
  readonly programs: Pick<HostPrograms, 'run'>;
  readonly globals: Pick<GlobalMounts, 'devicePath'>;
}

export async function expandVolume(
  deps: ExpandDeps,
  request: ExpandRequest,
  signal: AbortSignal,
): Promise<bigint> {
  try {
    await expand(deps, request, signal);
    return request.sizeBytes;
  } catch (err) {
    if (signal.aborted || (err instanceof KubeletError && 'expansion' in err.details)) throw err;
    const expansion: ExpandFailure = isKind(err, 'timeout') ? 'uncertain' : 'final';
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    throw new KubeletError(kind, 'FailedExpand', describeError(err), { cause: err, details: { expansion } });
  }
}

async function expand(deps: ExpandDeps, request: ExpandRequest, signal: AbortSignal): Promise<void> {
  const { drivers, globals, host, programs } = deps;
  const { path, sizeBytes, spec } = request;
  const source = flexSource(spec);
  if (source === undefined || spec.persistent === undefined)
    throw new KubeletError(
      'invalid',
      'FailedExpand',
      `PersistentVolume not found for spec: ${spec.directoryName}`,
    );
  const driver = await drivers.use(source.driver, signal);
  if (!driver.capabilities.requiresFSResize)
    throw unsupported(`FlexVolume driver ${driver.name} does not require an expansion on the node`);
  const device = driver.capabilities.attach ? await globals.devicePath(driver, source, request, signal) : '';
  const before = spec.claim?.status?.capacity?.['storage'];
  const oldBytes = before === undefined ? 0n : Quantity.fromJson(before).value();
  const args = [driverOptions(source, spec), device, path, String(sizeBytes), String(oldBytes)];
  const answer = await callDriver(programs, driver, { command: 'expandfs', args }, signal);
  if (answer !== undefined || spec.isBlock) return;
  if (!device.startsWith('/'))
    throw unsupported(
      `FlexVolume driver ${driver.name} does not support expandfs, and the volume has no device`,
    );
  await host.growFileSystem({ device, mountPath: path }, signal);
}

function unsupported(message: string): KubeletError {
  const expansion: ExpandFailure = 'unsupported';
  return new KubeletError('invalid', 'FailedExpand', message, { details: { expansion } });
}
