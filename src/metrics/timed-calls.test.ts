import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import { timedCgroups, timedImages } from './timed-calls.ts';

test('times operations that change cgroups, including failed ones', async () => {
  let nowMs = 0;
  const observed: string[] = [];
  class Fake {
    readonly version = 2;
    #created = 0;
    async create(): Promise<void> {
      nowMs += 20;
      this.#created++;
    }
    async removeIdle(): Promise<void> {
      nowMs += 5;
      throw new Error('busy');
    }
    path(): string {
      return `/${this.#created}`;
    }
  }
  const cgroups = timedCgroups(
    new Fake() as unknown as Cgroups,
    { cgroup: (operation, seconds) => void observed.push(`${operation} ${seconds}`) },
    { monotonic: () => nowMs },
  );
  await cgroups?.create(['a'], {});
  await expect(cgroups?.removeIdle(['a'])).rejects.toThrow('busy');
  expect([cgroups?.path(['a']), cgroups?.version, observed]).toEqual([
    '/1',
    2,
    ['create 0.02', 'destroy 0.005'],
  ]);
});

test('records only the wait for an image, for its pod', async () => {
  const waits: string[] = [];
  const images = {
    ensure: async (request: { readonly pod: object }, found: string) =>
      `${found} ${Object.keys(request).join()}`,
    find: (name: string) => name,
  };
  const timed = timedImages(images, {
    during: async (uid, pull) => {
      waits.push(uid);
      return await pull();
    },
  });
  const pod = aPod({ uid: 'u1' });
  expect([timed.find('a'), await timed.ensure({ pod }, 'b'), waits]).toEqual(['a', 'b pod', ['u1']]);
});
