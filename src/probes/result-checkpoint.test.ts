import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asContainerId } from '../api/pod/pod-ref.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { parseCheckpoint, ResultCheckpoint } from './result-checkpoint.ts';

const [a, b] = [asContainerId('a'), asContainerId('b')];

describe('ResultCheckpoint', () => {
  let clock: FakeClock;
  let log: string[];
  let text: string | undefined;
  let writes: string[];
  /** What the disk does before it reads or writes. */
  let disk: () => Promise<void>;

  beforeEach(() => {
    clock = new FakeClock();
    log = [];
    text = undefined;
    writes = [];
    disk = async () => undefined;
  });

  function checkpoint(): ResultCheckpoint {
    return new ResultCheckpoint({
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

  async function loaded(): Promise<ResultCheckpoint> {
    const results = checkpoint();
    await clock.until(results.load(new AbortController().signal));
    return results;
  }

  describe('across a restart', () => {
    test('restores results by container and kind', async () => {
      const first = await loaded();
      await first.save(a, 'readiness', 'success');
      await first.save(a, 'startup', 'success');
      await first.save(b, 'readiness', 'failure');
      const second = await loaded();
      expect([second.get(a, 'readiness'), second.get(a, 'startup')]).toEqual(['success', 'success']);
      expect([second.get(b, 'readiness'), second.get(b, 'startup')]).toEqual(['failure', undefined]);
    });

    test('removes dropped containers from the file with the next write', async () => {
      const results = await loaded();
      await results.save(a, 'readiness', 'success');
      results.drop(a);
      await results.save(b, 'readiness', 'success');
      expect((await loaded()).get(a, 'readiness')).toBeUndefined();
    });

    test('dropUnclaimed drops the results that no container claimed', async () => {
      const first = await loaded();
      await first.save(a, 'readiness', 'success');
      await first.save(b, 'readiness', 'success');
      const second = await loaded();
      expect(second.get(a, 'readiness')).toBe('success');
      second.dropUnclaimed();
      expect([second.get(a, 'readiness'), second.get(b, 'readiness')]).toEqual(['success', undefined]);
    });

    test('keeps at most 4096 containers', async () => {
      const results = await loaded();
      for (let i = 0; i < 4_200; i++) void results.save(asContainerId(`c${i}`), 'readiness', 'success');
      await clock.until(results.idle());
      expect(parseCheckpoint(text ?? '')).toHaveLength(4_096);
      expect(results.get(asContainerId('c4199'), 'readiness')).toBe('success');
    });
  });

  describe('disk', () => {
    test('coalesces concurrent saves into two writes at most', async () => {
      const results = await loaded();
      await Promise.all(
        [a, b].flatMap((id) => [
          results.save(id, 'readiness', 'success'),
          results.save(id, 'startup', 'success'),
        ]),
      );
      expect(writes.length).toBeLessThanOrEqual(2);
      expect(parseCheckpoint(writes.at(-1) ?? '')).toHaveLength(2);
    });

    test('logs a failing disk once and keeps accepting results', async () => {
      const results = await loaded();
      disk = () => Promise.reject(new Error('no space left on device'));
      await results.save(a, 'readiness', 'success');
      await results.save(a, 'readiness', 'failure');
      expect(log.filter((line) => line.includes('no space left'))).toHaveLength(1);
      disk = async () => undefined;
      await results.save(b, 'readiness', 'success');
      expect((await loaded()).get(a, 'readiness')).toBe('failure');
    });

    test('delays a result by at most a second if a write hangs, and never overwrites new results with old ones', async () => {
      const results = await loaded();
      let release = (): void => undefined;
      disk = () => new Promise((resolve) => (release = resolve));
      const stuck = results.save(a, 'readiness', 'success');
      await clock.until(stuck, 1_000);
      disk = async () => undefined;
      const later = results.save(a, 'readiness', 'failure');
      await clock.until(later, 1_000);
      expect(writes).toEqual([]);
      release();
      await clock.until(results.idle());
      expect((await loaded()).get(a, 'readiness')).toBe('failure');
    });

    test('starts without results if reading hangs', async () => {
      disk = () => new Promise(() => undefined);
      expect((await loaded()).get(a, 'readiness')).toBeUndefined();
      expect(log.join('')).toContain('Failed to read the probe results');
    });
  });

  describe('an invalid file', () => {
    for (const garbage of ['', '{', '\u0000\u0001', '{"containers":{"a":{"readiness"']) {
      test(`${JSON.stringify(garbage)} is logged once and counts as no checkpoint`, async () => {
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
      test(`${odd} has no results`, () => expect(parseCheckpoint(odd)).toEqual([]));
    }
    test('reads the known fields of another version', () => {
      expect(
        parseCheckpoint('{"version":9,"containers":{"a":{"readiness":"success","liveness":"x"}}}'),
      ).toEqual([['a', { readiness: 'success' }]]);
    });
  });
});
