import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Aborted } from '../base/errors.ts';
import { everything, World } from './fixtures/world.ts';
import { runStartup } from './run-startup.ts';
import type { StartupHost } from './startup-steps.ts';

describe('runStartup', () => {
  const hang = (): Promise<never> => new Promise(() => undefined);
  const stages: readonly (readonly [string, Partial<StartupHost>])[] = [
    ['the lock', { acquireLock: hang }],
    ['the watch of the lock', { watchLock: hang }],
    ['the OOM score', { applyOomScore: hang }],
    ['open files', { setOpenFiles: hang }],
    ['directories', { createDirectories: hang }],
    ['the shared mount', { shareMount: hang }],
  ];
  for (const [name, host] of stages) {
    test(`an abort during ${name} is a clean stop, even of a step that does not listen`, async () => {
      const world = new World(host);
      const starting = world.start(everything);
      await new FakeClock().settle();
      world.stop.abort(new Aborted('SIGTERM'));
      expect(await starting).toEqual({ kind: 'stopped' });
      expect(world.warned).toEqual([]);
      expect(world.did.includes('unlock')).toBe(world.did.includes('lock /run/kubelet.lock'));
    });
  }

  test('a lock that comes after the abort is not kept', async () => {
    let give: (lock: { close(): void }) => void = () => undefined;
    const world = new World({
      acquireLock: () =>
        new Promise((resolve) => {
          give = resolve;
        }),
    });
    const starting = world.start(everything);
    world.stop.abort(new Aborted('SIGTERM'));
    expect(await starting).toEqual({ kind: 'stopped' });
    give({ close: () => world.did.push('unlock') });
    await new FakeClock().settle();
    expect(world.did).toEqual(['unlock']);
  });

  test('aborted before, it does nothing', async () => {
    const world = new World();
    world.stop.abort(new Aborted('SIGTERM'));
    expect(await world.start(everything)).toEqual({ kind: 'stopped' });
    expect(world.did).toEqual([]);
  });

  test('aborted by its last step, it is stopped, and the lock is free', async () => {
    const world = new World({
      shareMount: async () => {
        world.stop.abort(new Aborted('SIGTERM'));
        return 'bound';
      },
    });
    expect(await world.start(everything)).toEqual({ kind: 'stopped' });
    expect(world.did.at(-1)).toBe('unlock');
  });

  test('what a step throws that is no KubeletError is a failure of ours', async () => {
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
