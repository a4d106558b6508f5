// Whether a pod has to wait for a device plugin before it is admitted. Pure: no clock, no I/O, no log.
// differs from upstream, which rejects the pod for good (kubernetes issues 125579, 133382).
// Invariant: only resources that a device plugin has advertised are waited for; others may be advertised by hand.
import type { Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { DeviceInventory } from './device-inventory.ts';
import { containerDeviceRequests } from './device-requests.ts';
import type { MissingDevices } from './device-waits.ts';
import type { HeldDevices } from './held-devices.ts';

/** After its registration a plugin may report its devices bit by bit. */
const settleMs = 10_000;

interface MissingQuestion {
  readonly pod: Pod;
  /** On the monotonic clock. */
  readonly nowMs: number;
  readonly held: Pick<HeldDevices, 'get'>;
  readonly inventory: Pick<DeviceInventory, 'get'>;
  readonly isKnown: (resource: string) => boolean;
  readonly isConnected: (resource: string) => boolean;
  readonly isRunning: (containerName: string) => boolean;
  /** Whether it is unknown which devices are in use. */
  readonly isWithheld: (resource: string) => boolean;
}

/** The first resource that the pod has to wait for. */
export function computeMissingDevices(question: MissingQuestion): MissingDevices | undefined {
  const { isKnown, isRunning, pod } = question;
  const containers = initAndRegularContainers(pod);
  // It was admitted before the kubelet restarted, and keeps what it has.
  if (containers.some(({ name }) => isRunning(name))) return undefined;
  for (const container of containers) {
    for (const [resource, count] of containerDeviceRequests(pod, container)) {
      const missing = isKnown(resource) ? missingOf(question, container.name, resource, count) : undefined;
      if (missing !== undefined) return missing;
    }
  }
  return undefined;
}

function missingOf(
  { held, inventory, isConnected, isWithheld, nowMs, pod }: MissingQuestion,
  container: string,
  resource: string,
  count: number,
): MissingDevices | undefined {
  const forever = Number.POSITIVE_INFINITY;
  const waits = (message: string, untilMs = forever): MissingDevices => ({ resource, message, untilMs });
  if (!isConnected(resource)) return waits(`device plugin of resource "${resource}" has not registered yet`);
  const state = inventory.get(resource);
  if (state?.isListed !== true)
    return waits(`device plugin of resource "${resource}" has not reported its devices yet`);
  if (isWithheld(resource))
    return waits(`it is unknown which devices of resource "${resource}" running pods use`);
  const settledMs = (state.registeredMs ?? 0) + settleMs;
  if (nowMs >= settledMs) return undefined;
  const ids = held.get({ uid: podUid(pod), container, resource })?.ids ?? [];
  const isHealthy = ids.every((id) => state.devices.get(id)?.healthy === true);
  if (isHealthy && state.healthy.length >= count) return undefined;
  return waits(
    `device plugin of resource "${resource}" has reported ${state.healthy.length} healthy devices since it registered, ${count} are requested`,
    settledMs,
  );
}
