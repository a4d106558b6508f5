import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CgroupDriver } from '../api/cri/generated/runtime/v1/api.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import { everything, World } from './fixtures/world.ts';
import { type StartupHost, type StartupSettings, startupSteps } from './startup-steps.ts';

describe('startupSteps', () => {
  test('are these, in this order, each fatal or not', () => {
    const steps = startupSteps(new World().input(everything));
    expect(steps.map(({ name, onFailure }) => `${name}: ${onFailure}`)).toEqual([
      'systemd watchdog: fail',
      'lock file: fail',
      'lock contention: fail',
      'node name: fail',
      'node IPs: fail',
      'node IPs on this host: warn',
      'permissions: warn',
      'swap: fail',
      'cgroup controllers: fail',
      'kernel settings: warn',
      'OOM score: warn',
      'open files: warn',
      'directories: fail',
      'shared mount: warn',
      'API server access: fail',
      'cgroup driver: fail',
    ]);
  });

  test('are documented in docs/start-up.md, in this order and with what a failure does', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/start-up.md'), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| \d+ \|/.test(line));
    const documented = rows.map((row) => {
      const [, , step = '', , failure = ''] = row.split('|').map((cell) => cell.trim());
      return `${step.replace(/:.*/, '')}: ${failure.replace(/[ ,;].*/, '')}`;
    });
    const steps = startupSteps(new World().input(everything));
    const first = documented.indexOf('systemd watchdog: fail');
    expect(documented.slice(first, first + steps.length)).toEqual(
      steps.map(({ name, onFailure }) => `${name}: ${onFailure}`),
    );
    // Around them: the configuration before; components and systemd after.
    expect(documented.length).toBe(steps.length + 3);
  });

  test('run in order and return what they found', async () => {
    const world = new World();
    const outcome = await world.start(everything);
    expect(world.did).toEqual([
      'lock /run/kubelet.lock',
      'watch /run/kubelet.lock',
      'oom -999',
      'files 1000000',
      'directories',
      'share /var/lib/kubelet',
      'load the cluster for node-1',
    ]);
    expect(outcome).toMatchObject({
      kind: 'ready',
      nodeName: 'node-1',
      nodeIps: ['10.0.0.5', 'fd00::5'],
      cluster: 'cluster',
      cgroupDriver: 'cgroupfs',
      watchdogIntervalMs: undefined,
    });
    expect(world.warned).toEqual([]);
  });

  test('work without a lock file, node IP and API server', async () => {
    const world = new World();
    expect(await world.start()).toMatchObject({
      kind: 'ready',
      nodeName: 'node-1',
      nodeIps: [],
      cluster: undefined,
    });
    expect(world.did).toEqual(['oom -999', 'files 1000000', 'directories', 'share /var/lib/kubelet']);
  });

  const failing = new KubeletError('forbidden', 'EPERM', 'not permitted');
  const fail = async (): Promise<never> => {
    throw failing;
  };

  const fatal: readonly (readonly [
    string,
    Partial<StartupSettings>,
    Partial<StartupHost<string>>,
    string,
  ])[] = [
    [
      'contention without a lock file',
      { exitOnLockContention: true },
      {},
      'start-up failed at "lock file" (--exit-on-lock-contention): --exit-on-lock-contention needs --lock-file',
    ],
    [
      'a lock that cannot be acquired',
      { lockFile: '/l' },
      { acquireLock: fail },
      'start-up failed at "lock file" (--lock-file): not permitted',
    ],
    [
      'a lock that cannot be watched',
      { lockFile: '/l', exitOnLockContention: true },
      { watchLock: fail },
      'start-up failed at "lock contention" (--exit-on-lock-contention): not permitted',
    ],
    [
      'an empty host name',
      {},
      { hostname: ' ' },
      'start-up failed at "node name" (--hostname-override): the host name is empty, so the node has no name',
    ],
    [
      'two node IPs of one family',
      { nodeIp: '1.1.1.1,2.2.2.2' },
      {},
      'start-up failed at "node IPs" (--node-ip): invalid --node-ip "1.1.1.1,2.2.2.2": must be one address, or one IPv4 and one IPv6 address',
    ],
    [
      'no root directory',
      { rootDir: '' },
      {},
      'start-up failed at "directories" (--root-dir): --root-dir is empty',
    ],
    [
      'an invalid watchdog timeout',
      {},
      { env: { WATCHDOG_USEC: '1000000' } },
      'start-up failed at "systemd watchdog" (WATCHDOG_USEC): WATCHDOG_USEC=1000000 is not more than a second',
    ],
    [
      'directories that cannot be created',
      {},
      { createDirectories: fail },
      'start-up failed at "directories" (--root-dir): not permitted',
    ],
  ];
  for (const [name, changes, host, want] of fatal) {
    test(`a fatal failure ends start-up: ${name}`, async () => {
      const world = new World(host);
      const err = await world.start(changes).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(describeError(err)).toBe(want);
      // Nothing stays held, and no further step runs.
      expect(world.did.filter((each) => each.startsWith('lock')).length).toBe(
        world.did.filter((each) => each === 'unlock').length,
      );
      expect(world.did).not.toContain('share /var/lib/kubelet');
      expect(world.warned).toEqual([]);
    });
  }

  const survivable: readonly (readonly [
    string,
    Partial<StartupSettings>,
    Partial<StartupHost<string>>,
    string,
  ])[] = [
    [
      'not root',
      {},
      { uid: 1000 },
      'start-up failed at "permissions": the kubelet needs to run as user 0, but runs as user 1000',
    ],
    [
      'the OOM score',
      {},
      { applyOomScore: fail },
      'start-up failed at "OOM score" (oomScoreAdj (--oom-score-adj)): not permitted',
    ],
    [
      'open files',
      {},
      { setOpenFiles: fail },
      'start-up failed at "open files" (maxOpenFiles (--max-open-files)): not permitted',
    ],
    [
      'the shared mount',
      {},
      { shareMount: fail },
      'start-up failed at "shared mount" (--root-dir): not permitted',
    ],
    [
      'a node IP of another host',
      { nodeIp: '10.9.9.9' },
      {},
      'start-up failed at "node IPs on this host" (--node-ip): 10.9.9.9 is not assigned to any network interface of this host',
    ],
  ];
  for (const [name, changes, host, want] of survivable) {
    test(`start-up continues with a warning: ${name}`, async () => {
      const world = new World(host);
      expect(await world.start(changes)).toMatchObject({ kind: 'ready', nodeName: 'node-1' });
      expect(world.warned).toEqual([`Start-up step failed, continuing without it: ${want}`]);
    });
  }

  test('a kubeconfig or cgroup driver that cannot be used is fatal', async () => {
    await expect(new World({ loadCluster: fail }).start(everything)).rejects.toThrow(
      'start-up failed at "API server access" (--kubeconfig)',
    );
    const runtimeConfig = async () => ({ linux: { cgroupDriver: CgroupDriver.UNRECOGNIZED } });
    await expect(new World({ runtimeConfig }).start()).rejects.toThrow(
      'start-up failed at "cgroup driver" (cgroupDriver (--cgroup-driver))',
    );
  });

  test('the watchdog interval, and the cgroup driver that the runtime reports, are found', async () => {
    const world = new World({
      env: { WATCHDOG_USEC: '30000000' },
      runtimeConfig: async () => ({ linux: { cgroupDriver: CgroupDriver.SYSTEMD } }),
    });
    expect(await world.start()).toMatchObject({ watchdogIntervalMs: 15_000, cgroupDriver: 'systemd' });
    expect(await world.start({ systemdWatchdog: false })).toMatchObject({ watchdogIntervalMs: undefined });
  });

  test('0.0.0.0 and :: are not checked against the interfaces, and entries that are no addresses are ignored with a warning', async () => {
    const world = new World();
    expect(await world.start({ nodeIp: '::,nonsense' })).toMatchObject({ nodeIps: ['::'] });
    expect(world.warned).toEqual(['Ignoring entries of --node-ip that are not IP addresses: ["nonsense"]']);
  });

  test('lock contention stops the kubelet, and the lock is released on close', async () => {
    const world = new World();
    const outcome = await world.start(everything);
    world.contend('opened');
    expect(world.did.at(-1)).toBe('stop');
    if (outcome.kind !== 'ready') throw new Error('not ready');
    outcome.close();
    outcome.close();
    expect(world.did.slice(-3)).toEqual(['stop', 'unwatch', 'unlock']);
  });
});
