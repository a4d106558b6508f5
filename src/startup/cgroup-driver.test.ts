import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { CgroupDriver } from '../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { type CgroupDriverDeps, findCgroupDriver } from './cgroup-driver.ts';

type Answer = Awaited<ReturnType<CgroupDriverDeps['runtimeConfig']>>;

async function asked(...answers: readonly (Answer | KubeletError)[]) {
  const clock = new FakeClock(0);
  let calls = 0;
  const found = findCgroupDriver({
    runtimeConfig: async () => {
      const answer = answers[Math.min(calls++, answers.length - 1)] ?? {};
      if (answer instanceof KubeletError) throw answer;
      return answer;
    },
    configured: 'cgroupfs',
    clock,
    signal: new AbortController().signal,
    log: silentLogger,
  });
  const driver = await clock.until(
    found.catch((err: Error) => err.message),
    10_000,
  );
  return { driver, calls };
}

const away = new KubeletError('unavailable', 'UNAVAILABLE', 'no such file');

test('the runtime says it', async () =>
  expect(await asked({ linux: { cgroupDriver: CgroupDriver.SYSTEMD } })).toEqual({
    driver: 'systemd',
    calls: 1,
  }));

test('it says nothing of Linux, or does not know the question: as configured', async () => {
  expect(await asked({})).toEqual({ driver: 'cgroupfs', calls: 1 });
  const unknown = new KubeletError('internal', 'UNIMPLEMENTED', 'unknown method RuntimeConfig');
  expect(await asked(unknown)).toEqual({ driver: 'cgroupfs', calls: 1 });
});

test('it comes up while it is asked', async () =>
  expect(await asked(away, { linux: { cgroupDriver: CgroupDriver.SYSTEMD } })).toEqual({
    driver: 'systemd',
    calls: 2,
  }));

test('it does not: as configured, after three tries', async () =>
  expect(await asked(away)).toEqual({ driver: 'cgroupfs', calls: 3 }));

test('a driver nobody knows is refused', async () =>
  expect((await asked({ linux: { cgroupDriver: CgroupDriver.UNRECOGNIZED } })).driver).toContain(
    'runtime returned an unknown cgroup driver',
  ));

test('asked to stop meanwhile: at once, and not as a failure', async () => {
  const stop = new AbortController();
  const found = findCgroupDriver({
    runtimeConfig: () => Promise.reject(away),
    configured: 'cgroupfs',
    clock: new FakeClock(0),
    signal: stop.signal,
    log: silentLogger,
  });
  stop.abort();
  expect(await found).toBe('cgroupfs');
});
