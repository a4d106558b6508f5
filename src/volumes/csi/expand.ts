// Has the driver grow a volume on this node after the controller has grown it. Upstream: expander.go.
// Invariant: every error has ExpandFailureDetails, so that the caller knows whether to try again.
import { podUid } from '../../api/pod/pod-ref.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { ExpandFailure, ExpandRequest } from '../plugin.ts';
import { computeCapability } from './compute-capability.ts';
import { type CsiVolume, computeCsiVolume } from './csi-volume.ts';
import type { CsiContext } from './deps.ts';
import type { VolumeCalls } from './driver-calls.ts';
import { codeOf, driverMissing, outcomeOf } from './failure.ts';
import { blockPaths, locateVolume, podDevice, stagingPaths } from './paths.ts';
import { readSecret } from './read-secrets.ts';

const apiTimeoutMs = 30_000;
const infeasible: ReadonlySet<string> = new Set(['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND']);

// differs from upstream: the class of a wrapped error counts, so that an expansion that timed out is not taken for final.
export function computeExpandFailure(err: unknown): ExpandFailure {
  const code = codeOf(err) ?? '';
  if (infeasible.has(code)) return 'infeasible';
  return code === 'FAILED_PRECONDITION' ? 'precondition' : outcomeOf(err);
}

export async function expandVolume(
  context: CsiContext,
  request: ExpandRequest,
  signal: AbortSignal,
): Promise<bigint> {
  const { pod, sizeBytes, spec } = request;
  const volume = computeCsiVolume(pod, spec);
  const driver = context.drivers.get(volume.driver);
  // As with any failure before the call, the driver has not begun.
  if (driver === undefined) throw failed('uncertain', driverMissing(volume.driver), '');
  const { isMigrated: migrated = false, name } = spec;
  const client = context.calls.of(driver, podUid(pod), name, { migrated });
  const capabilities = await client.capabilities(signal).catch((err: unknown) => {
    const what = 'Expander.NodeExpand failed to check if node supports expansion : ';
    throw failed('uncertain', err, what);
  });
  if (!capabilities.expand)
    throw failed(
      'unsupported',
      new KubeletError(
        'invalid',
        'NotSupported',
        `NodeExpand is not supported by the CSI driver ${volume.driver}`,
      ),
      '',
    );
  const access = spec.isBlock
    ? ({ isBlock: true } as const)
    : ({ isBlock: false, mountFlags: volume.mountFlags, fsGroup: undefined } as const);
  const expandRequest = {
    volumeId: volume.handle,
    ...volumePaths(context, request, volume, capabilities.stage),
    capacityRange: { requiredBytes: sizeBytes, limitBytes: 0n },
    volumeCapability: computeCapability(volume, capabilities, access),
    secrets: await expandSecrets(context, volume, signal),
  };
  await call(client, expandRequest, signal);
  // The driver may report more, which is what the file system has, not what the user was granted.
  return sizeBytes;
}

async function call(
  client: VolumeCalls,
  request: Parameters<VolumeCalls['expand']>[0],
  signal: AbortSignal,
): Promise<void> {
  await client.expand(request, signal).catch((err: unknown) => {
    const failure = computeExpandFailure(err);
    const separator = failure === 'infeasible' ? ' ' : ' : ';
    throw failed(failure, err, `Expander.NodeExpand failed to expand the volume${separator}`);
  });
}

// differs from upstream: the staging path of a block volume is sent also for the second pod that uses it.
function volumePaths(
  { layout }: CsiContext,
  { path, spec }: ExpandRequest,
  volume: CsiVolume,
  isStaged: boolean,
): { readonly volumePath: string; readonly stagingTargetPath: string } {
  const located = locateVolume(layout, path);
  if (!spec.isBlock || located === undefined)
    return { volumePath: path, stagingTargetPath: isStaged ? stagingPaths(layout, volume).mount : '' };
  const paths = blockPaths(layout, located.directoryName);
  return {
    volumePath: podDevice(paths, located.uid).published,
    stagingTargetPath: isStaged ? paths.staging : '',
  };
}

async function expandSecrets(
  context: CsiContext,
  { expandSecret }: CsiVolume,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const deadline = {
    clock: context.ownership.clock,
    ms: apiTimeoutMs,
    signal,
    what: 'read the secret for the expansion of a volume',
  };
  return await withDeadline(deadline, (within) => readSecret(context, expandSecret, within)).catch(
    (err: unknown) => {
      const name = `${expandSecret?.namespace ?? ''}/${expandSecret?.name ?? ''}`;
      const what = `expander.NodeExpand failed to get NodeExpandSecretRef ${name}: `;
      throw failed('uncertain', err, what);
    },
  );
}

function failed(expansion: ExpandFailure, err: unknown, before: string): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  const reason = err instanceof KubeletError ? err.reason : 'VolumeResizeFailed';
  const message = `${before}${describeError(err)}`;
  return new KubeletError(kind, reason, message, { cause: err, details: { expansion } });
}
