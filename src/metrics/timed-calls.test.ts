import { expect, test } from 'vitest';
import { aPod } from '../../test/builders/builders.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import { timedCgroups, timedImages } from './timed-calls.ts';

test('measures the operations on cgroups that change them, failed ones too', async () => {
  let nowMs = 0;
  const seen: string[] = [];
  class Fake {
    readonly version = 2;
    #made = 0;
    async create(): Promise<void> {
      nowMs += 20;
      this.#made++;
    }
    async removeIdle(): Promise<void> {
      nowMs += 5;
      throw new Error('busy');
    }
    path(): string {
      return `/${this.#made}`;
    }
  }
  const cgroups = timedCgroups(
    new Fake() as unknown as Cgroups,
    { cgroup: (operation, seconds) => void seen.push(`${operation} ${seconds}`) },
    { monotonic: () => nowMs },
  );
  await cgroups?.create(['a'], {});
  await expect(cgroups?.removeIdle(['a'])).rejects.toThrow('busy');
  expect([cgroups?.path(['a']), cgroups?.version, seen]).toEqual(['/1', 2, ['create 0.02', 'destroy 0.005']]);
});

test('counts the wait for an image to its pod, and nothing else', async () => {
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
