// Reads the health of one driver's storage, and publishes it in CSINode and as a metric.
// Invariant: a call that fails changes nothing. Upstream: probeStorageHealth in
// pkg/kubelet/volumemanager/volumehealth/manager.go.
import type { StorageHealthCondition } from '../../api/k8s/types.ts';
import type { CsiDriverClient } from '../../api/ports/csi.ts';
import { isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { computeStorageConditions } from './compute-conditions.ts';

export interface StorageProbeDeps {
  /** Undefined on a standalone node, which has no CSINode. */
  readonly csiNode:
    | {
        reportHealth(
          driver: string,
          conditions: readonly StorageHealthCondition[],
          signal: AbortSignal,
        ): Promise<void>;
      }
    | undefined;
  readonly metrics: { replace(driver: string, conditions: readonly StorageHealthCondition[]): void };
  readonly log: Logger;
}

/** Resolves to whether the driver reports the health of its storage; undefined if that is not known. */
export async function probeStorage(
  deps: StorageProbeDeps,
  client: CsiDriverClient,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const { log } = deps;
  const { driver } = client;
  let conditions: readonly StorageHealthCondition[];
  try {
    const { storageHealth } = await client.capabilities(signal);
    if (!storageHealth) return false;
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    log.v(4).info('Failed to check storage health capability', { driver, err });
    return undefined;
  }
  try {
    conditions = computeStorageConditions(await client.storageHealth({ secrets: {} }, signal));
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    log.v(4).info('NodeGetStorageHealth failed; leaving previous conditions unchanged', { driver, err });
    return undefined;
  }
  await publishStorageHealth(deps, driver, conditions, signal);
  return true;
}

/** False if CSINode could not be written. */
export async function publishStorageHealth(
  { csiNode, log, metrics }: StorageProbeDeps,
  driver: string,
  conditions: readonly StorageHealthCondition[],
  signal: AbortSignal,
): Promise<boolean> {
  metrics.replace(driver, conditions);
  try {
    await csiNode?.reportHealth(driver, conditions, signal);
    return true;
  } catch (err) {
    if (isAbortOf(err, signal)) throw err;
    log.error('Failed to update CSINode storage health', { driver, err });
    return false;
  }
}
