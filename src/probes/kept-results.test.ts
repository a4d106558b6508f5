import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asContainerId } from '../api/pod/pod-ref.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { KeptResults, parseKept } from './kept-results.ts';

const [a, b] = [asContainerId('a'), asContainerId('b')];

describe('kept results', () => {
  let clock: FakeClock;
  let log: string[];
  let text: string | undefined;
  let writes: string[];
  /** What the disk does before it takes a text. */
  let disk: () => Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    log = [];
    text = undefined;
    writes = [];
    disk = async () => undefined;
  });

  function kept(): KeptResults {
    return new KeptResults({
      clock,
      log: textLogger({ write: (line) => void log.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
      file: {
        read: async () => {
          await disk();
          return text;
        },
        write: async (next) => {
          await disk();
          writes.push(next);
          text = next;
        },
      },
    });
  }

  async function loaded(): Promise<KeptResults> {
    const results = kept();
    await clock.until(results.load(new AbortController().signal));
    return results;
  }

  describe('between two lives', () => {
    test('what was kept is there, by container and kind', async () => {
      const first = await loaded();
      await first.keep(a, 'readiness', 'success');
      await first.keep(a, 'startup', 'success');
      await first.keep(b, 'readiness', 'failure');
      const second = await loaded();
      expect([second.get(a, 'readiness'), second.get(a, 'startup')]).toEqual(['success', 'success']);
      expect([second.get(b, 'readiness'), second.get(b, 'startup')]).toEqual(['failure', undefined]);
    });

    test('what has gone leaves the disk with the next write', async () => {
      const results = await loaded();
      await results.keep(a, 'readiness', 'success');
      results.drop(a);
      await results.keep(b, 'readiness', 'success');
      expect((await loaded()).get(a, 'readiness')).toBeUndefined();
    });

    test('dropUnclaimed drops the results that no container claimed', async () => {
      const first = await loaded();
      await first.keep(a, 'readiness', 'success');
      await first.keep(b, 'readiness', 'success');
      const second = await loaded();
      expect(second.get(a, 'readiness')).toBe('success');
      second.dropUnclaimed();
      expect([second.get(a, 'readiness'), second.get(b, 'readiness')]).toEqual(['success', undefined]);
    });

    test('it does not grow without end', async () => {
      const results = await loaded();
      for (let i = 0; i < 4_200; i++) void results.keep(asContainerId(`c${i}`), 'readiness', 'success');
      await clock.until(results.idle());
      expect(parseKept(text ?? '')).toHaveLength(4_096);
      expect(results.get(asContainerId('c4199'), 'readiness')).toBe('success');
    });
  });

  describe('the disk', () => {
    test('many at once are two writes at most', async () => {
      const results = await loaded();
      await Promise.all(
        [a, b].flatMap((id) => [
          results.keep(id, 'readiness', 'success'),
          results.keep(id, 'startup', 'success'),
        ]),
      );
      expect(writes.length).toBeLessThanOrEqual(2);
      expect(parseKept(writes.at(-1) ?? '')).toHaveLength(2);
    });

    test('one that fails is told once, and results go on', async () => {
      const results = await loaded();
      disk = () => Promise.reject(new Error('no space left on device'));
      await results.keep(a, 'readiness', 'success');
      await results.keep(a, 'readiness', 'failure');
      expect(log.filter((line) => line.includes('no space left'))).toHaveLength(1);
      disk = async () => undefined;
      await results.keep(b, 'readiness', 'success');
      expect((await loaded()).get(a, 'readiness')).toBe('failure');
    });

    test('one that hangs delays a result by a second, and nothing old replaces what is new', async () => {
      const results = await loaded();
      let release = (): void => undefined;
      disk = () => new Promise((resolve) => (release = resolve));
      const stuck = results.keep(a, 'readiness', 'success');
      await clock.until(stuck, 1_000);
      disk = async () => undefined;
      const later = results.keep(a, 'readiness', 'failure');
      await clock.until(later, 1_000);
      expect(writes).toEqual([]);
      release();
      await clock.until(results.idle());
      expect((await loaded()).get(a, 'readiness')).toBe('failure');
    });

    test('one that hangs when it is read does not keep the kubelet from starting', async () => {
      disk = () => new Promise(() => undefined);
      expect((await loaded()).get(a, 'readiness')).toBeUndefined();
      expect(log.join('')).toContain('cannot be read');
    });
  });

  describe('a file that is not ours', () => {
    for (const garbage of ['', '{', '\u0000\u0001', '{"containers":{"a":{"readiness"']) {
      test(`${JSON.stringify(garbage)}: told once, and begun anew`, async () => {
        text = garbage;
        expect((await loaded()).get(a, 'readiness')).toBeUndefined();
        expect(log).toHaveLength(1);
      });
    }
    for (const odd of [
      'null',
      '[]',
      '7',
      '{}',
      '{"containers":null}',
      '{"containers":{"a":7,"b":{"readiness":"perhaps"}}}',
    ]) {
      test(`${odd}: nothing is known`, () => expect(parseKept(odd)).toEqual([]));
    }
    test('what is understood of another version is taken', () => {
      expect(parseKept('{"version":9,"containers":{"a":{"readiness":"success","liveness":"x"}}}')).toEqual([
        ['a', { readiness: 'success' }],
      ]);
    });
  });
});
