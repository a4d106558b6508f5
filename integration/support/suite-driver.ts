// A CSI driver without a kubelet for each test of a suite: call in the body of a `describe`, which the hooks belong to.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { clearWorkspace, findLeftovers } from '../rig/leftovers.ts';
import { slowness } from '../rig/wait.ts';
import { claimWorkspace, type RigWorkspace } from '../rig/workspace.ts';
import { CsiClient } from './csi-client.ts';
import { CsiDriver, csiUnavailableReason, type DriverSettings } from './csi-driver.ts';

interface SuiteDriver {
  readonly driver: CsiDriver;
  readonly client: CsiClient;
}

/** Skips the suite, with the reason, on a machine that cannot run the driver. */
export function describeOnMounts(name: string, body: () => void): void {
  const why = csiUnavailableReason();
  describe.skipIf(why !== undefined)(why === undefined ? name : `${name} (skipped: ${why})`, body);
}

/**
 * Returns a function that starts a driver with directories of its own and hands it to `onStarted`. It is cleared at the test's
 * end; the suite ends with a check that nothing stays on the machine.
 */
export function useDriver(
  onStarted: (started: SuiteDriver) => void,
): (settings?: DriverSettings) => Promise<void> {
  let workspace: RigWorkspace;
  let count = 0;
  const drivers: CsiDriver[] = [];
  beforeAll(() => {
    workspace = claimWorkspace();
  });
  afterAll(async () => {
    const traces = await clearWorkspace(workspace);
    expect(await findLeftovers(workspace, traces)).toEqual([]);
  });
  afterEach(async () => {
    for (const driver of drivers.splice(0)) await driver.clear();
  });
  return async (settings = {}) => {
    count += 1;
    const dir = join(workspace.dir, `t${count}`);
    mkdirSync(dir);
    const driver = new CsiDriver({ dir, rootDir: join(dir, 'root') }, settings);
    drivers.push(driver);
    await driver.start();
    onStarted({ driver, client: new CsiClient(driver) });
  };
}

/** `expect.poll` with a deadline for loaded machines. */
export function eventually<T>(probe: () => T) {
  return expect.poll(probe, { timeout: 20_000 * slowness });
}
