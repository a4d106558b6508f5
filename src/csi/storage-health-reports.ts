// Reports the health of drivers' storage to CSINode.
// Invariant: while nothing changes, CSINode is read every ten minutes only, since it may have been replaced.
// Upstream: UpdateCSINodeStorageHealth in pkg/volume/csi/nodeinfomanager, which reads CSINode every minute for every driver.
import type { StorageHealthCondition } from '../api/k8s/types.ts';
import type { Clock } from '../base/clock.ts';
import { healthIdentities } from './storage-health.ts';

interface StorageHealthReportsDeps {
  readonly nodeInfo: {
    updateHealth(
      driver: string,
      conditions: readonly StorageHealthCondition[],
      signal: AbortSignal,
    ): Promise<void>;
  };
  readonly clock: Clock;
}

const recheckMs = 600_000;

export class StorageHealthReports {
  readonly #deps: StorageHealthReportsDeps;
  /** By driver: what CSINode has, as of the latest success. */
  readonly #written = new Map<string, { readonly identities: string; readonly atMs: number }>();

  constructor(deps: StorageHealthReportsDeps) {
    this.#deps = deps;
  }

  async reportHealth(
    driver: string,
    conditions: readonly StorageHealthCondition[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, nodeInfo } = this.#deps;
    const identities = [...healthIdentities(conditions)].toSorted().join('\n');
    const before = this.#written.get(driver);
    const isFresh = before !== undefined && clock.monotonic() - before.atMs < recheckMs;
    if (isFresh && before.identities === identities) return;
    this.#written.delete(driver);
    await nodeInfo.updateHealth(driver, conditions, signal);
    this.#written.set(driver, { identities, atMs: clock.monotonic() });
  }
}
