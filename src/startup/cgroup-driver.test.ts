import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { CgroupDriver } from '../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../base/errors.ts';
import { silentLogger } from '../base/log/log.ts';
import { findCgroupDriver, type RuntimeConfigCall } from './cgroup-driver.ts';

type Answer = Awaited<ReturnType<RuntimeConfigCall>>;

async function find(...answers: readonly (Answer | KubeletError)[]) {
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
  const { cgroupDriver: driver, runtimeReportsConfig: reports } = await clock.until(
    found.catch((err: Error) => ({ cgroupDriver: err.message, runtimeReportsConfig: true })),
    10_000,
  );
  return { driver, calls, reports };
}

const unreachable = new KubeletError('unavailable', 'UNAVAILABLE', 'no such file');

test('uses the driver that the runtime reports', async () =>
  expect(await find({ linux: { cgroupDriver: CgroupDriver.SYSTEMD } })).toEqual({
    driver: 'systemd',
    calls: 1,
    reports: true,
  }));

test('uses the configured driver when the runtime reports none or lacks the call', async () => {
  expect(await find({})).toEqual({ driver: 'cgroupfs', calls: 1, reports: true });
  const unknown = new KubeletError('internal', 'UNIMPLEMENTED', 'unknown method RuntimeConfig');
  expect(await find(unknown)).toEqual({ driver: 'cgroupfs', calls: 1, reports: false });
});

test('retries while the runtime is starting', async () =>
  expect(await find(unreachable, { linux: { cgroupDriver: CgroupDriver.SYSTEMD } })).toEqual({
    driver: 'systemd',
    calls: 2,
    reports: true,
  }));

test('uses the configured driver after three failed attempts', async () =>
  expect(await find(unreachable)).toEqual({ driver: 'cgroupfs', calls: 3, reports: true }));

test('rejects an unknown driver', async () =>
  expect((await find({ linux: { cgroupDriver: CgroupDriver.UNRECOGNIZED } })).driver).toContain(
    'runtime returned an unknown cgroup driver',
  ));

test('an abort ends the retries at once and is not a failure', async () => {
  const stop = new AbortController();
  const found = findCgroupDriver({
    runtimeConfig: () => Promise.reject(unreachable),
    configured: 'cgroupfs',
    clock: new FakeClock(0),
    signal: stop.signal,
    log: silentLogger,
  });
  stop.abort();
  expect(await found).toMatchObject({ cgroupDriver: 'cgroupfs' });
});
