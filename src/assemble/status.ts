// The statuses of pods, generated from the stores.

import type { PodUid } from '../api/pod/pod-ref.ts';
import type { Subscribable } from '../base/channel.ts';
import type { HostIps } from '../node/host-ips.ts';
import type { Pleg } from '../pleg/pleg.ts';
import { StatusLoop, type StatusLoopDeps } from '../status/status-loop.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface StatusRooms {
  readonly stores: SharedStores;
  /** Desired pods with the resources they were allocated. */
  readonly allocated: StatusLoopDeps['stores']['desired'] & { readonly changed: Subscribable<PodUid> };
  /** Observed pods without containers whose postStart hook has not finished. */
  readonly reported: StatusLoopDeps['stores']['observed'];
  readonly resizes: StatusLoopDeps['stores']['resizes'];
  readonly devices: NonNullable<StatusLoopDeps['stores']['devices']>;
  /** Undefined: the gate CSIVolumeHealth is off. */
  readonly volumeHealth: StatusLoopDeps['stores']['volumeHealth'];
  readonly pleg: Pleg;
  readonly hostIps: HostIps;
}

export function assembleStatus(
  { clock, gates, log }: Pick<AssembleInput, 'clock' | 'gates' | 'log'>,
  { allocated, devices, hostIps, pleg, reported, resizes, stores, volumeHealth }: StatusRooms,
): StatusLoop {
  const { apiPods, lifecycles, probeResults, statuses } = stores;
  return new StatusLoop({
    stores: {
      desired: allocated,
      observed: reported,
      lifecycles,
      probes: probeResults,
      resizes,
      devices: gates.ResourceHealthStatus ? devices : undefined,
      volumeHealth,
      apiPods,
    },
    statuses,
    node: {
      hostIPs: () => hostIps.current(),
      runtimeName: () => pleg.runtimeName(),
      isInspected: (uid) => pleg.isInspected(uid),
    },
    gates,
    clock,
    log: log.with({ component: 'status' }),
  });
}
