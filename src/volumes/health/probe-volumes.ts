// Reads the health of one driver's volumes.
// Invariants: few calls at once, and none for a volume that is not in use any longer; a call that fails changes nothing.
// Upstream: probeVolumeHealth in pkg/kubelet/volumemanager/volumehealth/manager.go, which probes one volume after the other.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { CsiCapabilities, CsiDriverClient } from '../../api/ports/csi.ts';
import { isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { VolumeLayout } from '../layout.ts';
import { computeVolumeConditions } from './compute-conditions.ts';
import { type AttemptedVolume, computeTargets, type HealthTarget } from './compute-targets.ts';
import type { VolumeHealth } from './volume-health-store.ts';

export interface VolumeProbeDeps {
  /** The volumes whose set-up has begun and whose tear-down has not. */
  readonly volumes: {
    attempted(): readonly AttemptedVolume[];
    isAttempted(uid: PodUid, name: string): boolean;
  };
  readonly layout: VolumeLayout;
  readonly health: VolumeHealth;
  readonly log: Logger;
}

/** A call that hangs occupies one of them, until its deadline. */
const parallelCalls = 4;

export async function probeVolumes(
  deps: VolumeProbeDeps,
  client: CsiDriverClient,
  signal: AbortSignal,
): Promise<void> {
  const { health, layout, log, volumes } = deps;
  const { driver } = client;
  health.retain(driver, (uid, name) => volumes.isAttempted(uid, name));
  const targets = computeTargets(volumes.attempted(), driver, layout);
  if (targets.length === 0) return;
  const capabilities = await capabilitiesOf(client, log, signal);
  if (capabilities === undefined) return;
  if (!capabilities.volumeHealth) {
    // differs from upstream: conditions of a driver that does not report any longer would stay forever.
    for (const { names, uid } of health.unhealthy(driver)) health.set(uid, names, { driver, conditions: [] });
    return;
  }
  const waiting = targets.values();
  const lane = async (): Promise<void> => {
    for (const target of waiting)
      await probe(deps, client, capabilities.stage ? target : { ...target, stagingPath: '' }, signal);
  };
  await Promise.all(Array.from({ length: parallelCalls }, lane));
}

async function capabilitiesOf(
  client: CsiDriverClient,
  log: Logger,
  signal: AbortSignal,
): Promise<CsiCapabilities | undefined> {
  try {
    return await client.capabilities(signal);
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    log.v(4).info('Failed to check volume health capability', { driver: client.driver, err });
    return undefined;
  }
}

async function probe(
  deps: VolumeProbeDeps,
  client: CsiDriverClient,
  target: HealthTarget,
  signal: AbortSignal,
): Promise<void> {
  const { health, log } = deps;
  const { driver } = client;
  const { publishPath, stagingPath, uid, volumeId } = target;
  // It may have been unmounted while other calls were in progress.
  if (inUse(deps, target).length === 0) return;
  const request = { volumeId, volumePublishPath: publishPath, stagingTargetPath: stagingPath };
  try {
    const conditions = computeVolumeConditions(await client.volumeHealth(request, signal));
    health.set(uid, inUse(deps, target), { driver, conditions });
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    log.v(4).info('NodeGetVolumeHealth failed; leaving previous conditions unchanged', {
      driver,
      podUID: uid,
      volume: target.names[0] ?? '',
      err,
    });
  }
}

/** The names of the volume that its pod still uses. */
function inUse({ volumes }: VolumeProbeDeps, { names, uid }: HealthTarget): readonly string[] {
  return names.filter((name) => volumes.isAttempted(uid, name));
}
