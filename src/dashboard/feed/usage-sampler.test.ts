import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { UsageSampler } from './usage-sampler.ts';

describe('the sampler', () => {
  let clock: FakeClock;
  let loads: Map<string, { cpuNs: number | undefined; workingSetBytes: number | undefined }>;
  let pods: Map<string, string>;
  let running: string[];
  let costMs: number;
  let longestMs: number;
  let sampler: UsageSampler;

  beforeEach(() => {
    clock = new FakeClock();
    loads = new Map([['/', { cpuNs: 0, workingSetBytes: 500 }]]);
    pods = new Map();
    running = [];
    costMs = 0;
    longestMs = 0;
    let nowMs = 0;
    let resumedMs = 0;
    sampler = new UsageSampler({
      source: {
        pods: () => pods,
        load: (path) => {
          nowMs += costMs;
          return loads.get(path);
        },
      },
      running: () => running,
      observe: () => undefined,
      // Reading takes time on this clock.
      clock: { now: () => clock.now() + nowMs, monotonic: () => clock.monotonic() + nowMs },
      pause: async () => {
        longestMs = Math.max(longestMs, nowMs - resumedMs);
        resumedMs = nowMs;
      },
    });
  });

  test('CPU is the difference of two readings, memory the last one', async () => {
    pods.set('u', '/kubepods/podu');
    loads.set('/kubepods/podu', { cpuNs: 5e9, workingSetBytes: 1_000 });
    expect(await sampler.sample()).toMatchObject({ node: [null, 500], pods: { u: [null, 1_000] } });
    await clock.advance(1_000);
    loads.set('/', { cpuNs: 2e9, workingSetBytes: 600 });
    loads.set('/kubepods/podu', { cpuNs: 5.25e9, workingSetBytes: 2_000 });
    expect(await sampler.sample()).toMatchObject({ node: [2_000, 600], pods: { u: [250, 2_000] } });
    await clock.advance(2_000);
    loads.set('/kubepods/podu', { cpuNs: 6.25e9, workingSetBytes: 2_000 });
    expect((await sampler.sample()).pods).toEqual({ u: [500, 2_000] });
  });

  test('a counter that was reset, and a cgroup that is new, have no CPU once', async () => {
    pods.set('u', '/u');
    loads.set('/u', { cpuNs: 5e9, workingSetBytes: 1 });
    await sampler.sample();
    await clock.advance(1_000);
    pods.set('v', '/v');
    loads.set('/u', { cpuNs: 1e9, workingSetBytes: 1 });
    loads.set('/v', { cpuNs: 1e9, workingSetBytes: undefined });
    expect((await sampler.sample()).pods).toEqual({ u: [null, 1], v: [null, null] });
  });

  test('a running pod without a cgroup, and one whose cgroup has gone, are null', async () => {
    running = ['sandboxed'];
    pods.set('gone', '/gone');
    expect((await sampler.sample()).pods).toEqual({ sandboxed: [null, null], gone: [null, null] });
  });

  test('500 pods are read in short slices', async () => {
    costMs = 0.1;
    for (let index = 0; index < 500; index++) pods.set(`u${index}`, `/u${index}`);
    expect(Object.keys((await sampler.sample()).pods).length).toBe(500);
    expect(longestMs).toBeLessThan(1.5);
  });

  test('a machine without cgroups has no figures', async () => {
    const none = new UsageSampler({
      source: undefined,
      running: () => ['u'],
      observe: () => undefined,
      clock,
      pause: async () => undefined,
    });
    expect(await none.sample()).toEqual({ atMs: clock.now(), node: [null, null], pods: { u: [null, null] } });
  });
});
