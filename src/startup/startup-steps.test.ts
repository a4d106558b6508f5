import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeError, KubeletError } from '../base/errors.ts';
import { everything, World } from './fixtures/world.ts';
import { type StartupHost, type StartupSettings, startupSteps } from './startup-steps.ts';

describe('startupSteps', () => {
  test('are these, in this order; what the kubelet cannot do without fails', () => {
    const steps = startupSteps(new World().input(everything));
    expect(steps.map(({ name, onFailure }) => `${name}: ${onFailure}`)).toEqual([
      'lock file: fail',
      'lock contention: fail',
      'configz: warn',
      'standalone or cluster: fail',
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
    ]);
  });

  test('are documented, in this order and with what happens when they fail', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/start-up.md'), 'utf8');
    const rows = page.split('\n').filter((line) => /^\| \d+ \|/.test(line));
    const documented = rows.map((row) => {
      const [, , step = '', , failure = ''] = row.split('|').map((cell) => cell.trim());
      return `${step.replace(/:.*/, '')}: ${failure.replace(/[ ,;].*/, '')}`;
    });
    const steps = startupSteps(new World().input(everything));
    const first = documented.indexOf('lock file: fail');
    expect(documented.slice(first, first + steps.length)).toEqual(
      steps.map(({ name, onFailure }) => `${name}: ${onFailure}`),
    );
    // Around them: reading, validation and the watchdog's settings; components and systemd.
    expect(documented.length).toBe(steps.length + 4);
  });

  test('do all of it and tell what they found', async () => {
    const world = new World();
    const outcome = await world.start(everything);
    expect(world.did).toEqual([
      'lock /run/kubelet.lock',
      'watch /run/kubelet.lock',
      'configz',
      'oom -999',
      'files 1000000',
      'directories',
      'share /var/lib/kubelet',
    ]);
    expect(outcome).toMatchObject({
      kind: 'ready',
      nodeName: 'node-1',
      nodeIps: ['10.0.0.5', 'fd00::5'],
      standalone: false,
    });
    expect(world.warned).toEqual([]);
  });

  test('need no lock file, node IP or API server', async () => {
    const world = new World();
    expect(await world.start()).toMatchObject({
      kind: 'ready',
      nodeName: 'node-1',
      nodeIps: [],
      standalone: true,
    });
    expect(world.did).toEqual([
      'configz',
      'oom -999',
      'files 1000000',
      'directories',
      'share /var/lib/kubelet',
    ]);
  });

  const failing = new KubeletError('forbidden', 'EPERM', 'not permitted');
  const fail = async (): Promise<never> => {
    throw failing;
  };

  const fatal: readonly (readonly [string, Partial<StartupSettings>, Partial<StartupHost>, string])[] = [
    [
      'contention without a lock file',
      { exitOnLockContention: true },
      {},
      'start-up failed at "lock file" (--exit-on-lock-contention): there is no lock file to exit on the contention of',
    ],
    [
      'a lock that cannot be had',
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
      'no name',
      {},
      { hostname: ' ' },
      'start-up failed at "node name" (--hostname-override): the host has no name, and a node needs one',
    ],
    [
      'two node IPs of one family',
      { nodeIp: '1.1.1.1,2.2.2.2' },
      {},
      'start-up failed at "node IPs" (--node-ip): bad --node-ip "1.1.1.1,2.2.2.2": it takes one address, or one IPv4 and one IPv6 address',
    ],
    [
      'no root directory',
      { rootDir: '' },
      {},
      'start-up failed at "directories" (--root-dir): the root directory has no name',
    ],
    [
      'directories that cannot be made',
      {},
      { createDirectories: fail },
      'start-up failed at "directories" (--root-dir): not permitted',
    ],
  ];
  for (const [name, changes, host, want] of fatal) {
    test(`end start-up: ${name}`, async () => {
      const world = new World(host);
      const err = await world.start(changes).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(describeError(err)).toBe(want);
      // Nothing stays held, and nothing is done after the failure.
      expect(world.did.filter((each) => each.startsWith('lock')).length).toBe(
        world.did.filter((each) => each === 'unlock').length,
      );
      expect(world.did).not.toContain('share /var/lib/kubelet');
      expect(world.warned).toEqual([]);
    });
  }

  const survivable: readonly (readonly [string, Partial<StartupSettings>, Partial<StartupHost>, string])[] = [
    [
      'not root',
      {},
      { uid: 1000 },
      'start-up failed at "permissions": the kubelet needs to run as user 0 and runs as user 1000',
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
      'start-up failed at "node IPs on this host" (--node-ip): 10.9.9.9 is on none of the network interfaces of this host',
    ],
  ];
  for (const [name, changes, host, want] of survivable) {
    test(`go on with a warning: ${name}`, async () => {
      const world = new World(host);
      expect(await world.start(changes)).toMatchObject({ kind: 'ready', nodeName: 'node-1' });
      expect(world.warned).toEqual([`Start-up step failed, going on without it: ${want}`]);
    });
  }

  test('go on with a warning: configz', async () => {
    const world = new World();
    const registerConfigz = (): never => {
      throw failing;
    };
    expect(await world.start({}, { registerConfigz })).toMatchObject({ kind: 'ready' });
    expect(world.warned).toEqual([
      'Start-up step failed, going on without it: start-up failed at "configz": not permitted',
    ]);
  });

  test('a preference of a family is not looked for on the interfaces; garbage is named and left out', async () => {
    const world = new World();
    expect(await world.start({ nodeIp: '::,nonsense' })).toMatchObject({ nodeIps: ['::'] });
    expect(world.warned).toEqual(['What is no IP address in --node-ip is ignored: ["nonsense"]']);
  });

  test('contention stops the kubelet; the lock is let go when it is closed', async () => {
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
