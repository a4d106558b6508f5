import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted } from '../base/errors.ts';
import { everything, World } from './fixtures/world.ts';
import { runStartup } from './run-startup.ts';
import type { StartupHost } from './startup-steps.ts';

describe('runStartup', () => {
  const hang = (): Promise<never> => new Promise(() => undefined);
  const stages: readonly (readonly [string, Partial<StartupHost<string>>])[] = [
    ['locking', { acquireLock: hang }],
    ['watching the lock', { watchLock: hang }],
    ['setting the OOM score', { applyOomScore: hang }],
    ['setting the limit of open files', { setOpenFiles: hang }],
    ['creating directories', { createDirectories: hang }],
    ['sharing the mount', { shareMount: hang }],
    ['loading the kubeconfig', { loadCluster: hang }],
    ['reading the cgroup driver', { runtimeConfig: hang }],
  ];
  for (const [name, host] of stages) {
    test(`an abort during ${name} is a clean stop, even if the step ignores its signal`, async () => {
      const world = new World(host);
      const starting = world.start(everything);
      await new FakeClock().settle();
      world.stop.abort(new Aborted('SIGTERM'));
      expect(await starting).toEqual({ kind: 'stopped' });
      expect(world.warned).toEqual([]);
      expect(world.did.includes('unlock')).toBe(world.did.includes('lock /run/kubelet.lock'));
    });
  }

  test('releases a lock that is acquired after the abort', async () => {
    let give: (lock: { close(): void }) => void = () => undefined;
    const world = new World({
      acquireLock: () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    });
    const starting = world.start(everything);
    await new FakeClock().settle();
    world.stop.abort(new Aborted('SIGTERM'));
    expect(await starting).toEqual({ kind: 'stopped' });
    give({ close: () => world.did.push('unlock') });
    await new FakeClock().settle();
    expect(world.did).toEqual(['unlock']);
  });

  test('does nothing when it is aborted before its start', async () => {
    const world = new World();
    world.stop.abort(new Aborted('SIGTERM'));
    expect(await world.start(everything)).toEqual({ kind: 'stopped' });
    expect(world.did).toEqual([]);
  });

  test('is stopped and releases the lock when its last step aborts it', async () => {
    const world = new World({
      runtimeConfig: async () => {
        world.stop.abort(new Aborted('SIGTERM'));
        return {};
      },
    });
    expect(await world.start(everything)).toEqual({ kind: 'stopped' });
    expect(world.did.at(-1)).toBe('unlock');
  });

  test('reports an error that is no KubeletError as internal', async () => {
    const boom = { name: 'x', onFailure: 'fail', run: () => Promise.reject(new TypeError('boom')) } as const;
    const { log } = new World();
    const signal = new AbortController().signal;
    await expect(runStartup([boom], { log, clock: new FakeClock(), signal })).rejects.toMatchObject({
      kind: 'internal',
      reason: 'StartupFailed',
      details: { step: 'x' },
    });
  });
});
