// A changed configuration under a running kubelet, and at its start: applied, restarted in place, rejected, fallen back.
import { readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { CurrentConfigs, HistoryEntry } from '../src/live-config/config-status.ts';
import type { Kubelet, KubeletOptions } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { manifest } from './support/manifest.ts';
import { containerIdOf, untilRunning } from './support/pod-state.ts';

const clean = { code: 0, signal: null };
const period = '3s';

interface Page {
  readonly current: CurrentConfigs;
  readonly configurations: readonly HistoryEntry[];
}
type Config = Readonly<Record<string, unknown>>;

describeOnRig('live configuration', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    if (kubelet.running) expect(await kubelet.stop()).toEqual(clean);
    await rig.removeAllPods();
  });

  const launch = async (mode: 'Apply' | 'Restart', options: KubeletOptions = {}): Promise<void> => {
    count += 1;
    const flags = [`--live-config=${mode}`, `--live-config-watch-period=${period}`];
    kubelet = rig.newKubelet({ name: `k${count}`, nodeName: 'node', settingsInFile: true, ...options, flags });
    await kubelet.start();
  };
  const config = (): Config => JSON.parse(readFileSync(kubelet.configPath, 'utf8')) as Config;
  /** Replaces the file as editors and configuration management do. */
  const change = (changes: Config | string): void => {
    const text = typeof changes === 'string' ? changes : JSON.stringify({ ...config(), ...changes });
    const fresh = `${kubelet.configPath}.fresh`;
    writeFileSync(fresh, text);
    renameSync(fresh, kubelet.configPath);
  };
  const page = async (): Promise<Page> => JSON.parse((await kubelet.secure('/configz/history')).text) as Page;
  /** A kubelet that restarts in place does not answer for a moment. */
  const untilOutcome = (outcome: HistoryEntry['outcome'], path?: string): Promise<HistoryEntry> =>
    waitFor(
      async () => {
        const { configurations } = await page().catch(() => ({ configurations: [] }));
        return configurations.find(
          (entry) =>
            entry.outcome === outcome &&
            (path === undefined || entry.changes.some((each) => each.path === path)),
        );
      },
      `a configuration that is ${outcome}`,
      20_000,
    );
  const inForce = async (): Promise<Config> => {
    const { text } = await kubelet.secure('/configz');
    return (JSON.parse(text) as { readonly kubeletconfig: Config }).kubeletconfig;
  };
  const descriptors = (): number => readdirSync(`/proc/${kubelet.pid}/fd`).length;
  const threads = (): number => readdirSync(`/proc/${kubelet.pid}/task`).length;

  test('Apply: changes take effect without a restart, and those that need one are reported as pending', async () => {
    await launch('Apply');
    await untilOutcome('good');
    const stateFile = join(kubelet.rootDir, 'live-config', 'last-known-good.json');
    expect(statSync(stateFile).mode & 0o777).toBe(0o600);
    change({ logging: { verbosity: 5 }, clusterDNS: ['10.0.0.99'], healthzPort: 1 });
    await waitFor(async () => (await page()).current.pendingRestart.length > 0, 'the change to be read');
    expect(await inForce()).toMatchObject({
      logging: { verbosity: 5 },
      clusterDNS: ['10.0.0.99'],
      healthzPort: kubelet.healthzPort,
    });
    await kubelet.log.waitForLine(/Completed a check|^I.*/);
    expect((await page()).current.pendingRestart).toEqual(['healthzPort']);
    kubelet.writeManifest('dns', manifest('dns', { dnsPolicy: 'ClusterFirst' }));
    await untilRunning(kubelet, 'dns');
    change({ staticPodPath: 3 });
    await kubelet.stop('SIGHUP', 1).catch(() => undefined);
  });
});
