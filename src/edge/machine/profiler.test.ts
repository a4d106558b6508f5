import { expect, test } from 'vitest';
import { realClock } from '../../base/clock.ts';
import { processProfiler } from './profiler.ts';

interface CpuProfile {
  readonly samples: readonly number[];
}

/** Requests a profile of this duration and keeps the CPU busy for 300 ms. */
async function profileWhileBusy(seconds: number): Promise<CpuProfile> {
  const sleep = async (): Promise<void> => {
    const until = realClock.monotonic() + 300;
    while (realClock.monotonic() < until) JSON.stringify({ busy: true });
  };
  const { signal } = new AbortController();
  return JSON.parse(await processProfiler({ ...realClock, sleep }).cpu(seconds, signal)) as CpuProfile;
}

test('samples a long CPU profile less often, so that its size is bounded', async () => {
  const short = await profileWhileBusy(1);
  const long = await profileWhileBusy(300);
  // At 1 ms there would be about 300 samples, at 10 ms there are about 30.
  expect(short.samples.length).toBeGreaterThan(long.samples.length);
  expect(long.samples.length).toBeLessThan(100);
});
