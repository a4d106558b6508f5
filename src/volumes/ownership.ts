// Applies the pod's fsGroup to the files of a volume and emits events while that takes long. Upstream: pkg/volume/volume_linux.go.
import type { EventSink } from '../api/ports/events.ts';
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { SetUpRequest } from './plugin.ts';

export interface OwnershipDeps {
  readonly host: VolumeHost;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Logger;
}

const firstReportMs = 30_000;
const reportEveryMs = 60_000;

export async function applyFsGroup(
  deps: OwnershipDeps,
  request: SetUpRequest,
  options: { readonly readOnly: boolean; readonly onlyOnRootMismatch: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { pod, path, owner, spec } = request;
  if (owner.fsGroup === undefined) return;
  const uid = pod.metadata?.uid ?? '';
  const volumePath = path.slice(path.indexOf(uid));
  let reportAtMs = deps.clock.monotonic() + firstReportMs;
  let reported = false;
  const onProgress = (entries: number): void => {
    const nowMs = deps.clock.monotonic();
    if (nowMs < reportAtMs) return;
    reportAtMs = nowMs + reportEveryMs;
    const message = reported
      ? `Setting volume ownership for ${volumePath}, processed ${entries} files.`
      : `Setting volume ownership for ${volumePath} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`;
    reported = true;
    deps.events.pod(pod, { type: 'Warning', reason: 'VolumePermissionChangeInProgress', message });
  };
  const result = await deps.host.changeOwnership(
    { path, fsGroup: owner.fsGroup, onProgress, ...options },
    signal,
  );
  if (result.failed > 0)
    deps.log.warn('Failed to change the group of some files of a volume', {
      volume: spec.name,
      podUID: uid,
      failed: result.failed,
      err: result.firstFailure,
    });
}
