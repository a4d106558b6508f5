// The live configuration while something else is wrong: the machine, a shutdown, the first start, files that never settle.
import { describe, expect, test } from 'vitest';
import { type FakeConfig, FakeProcess, periodMs } from '../../test/fakes/fake-config-process.ts';

const one: FakeConfig = { live: '1', fixed: '1' };

async function proven(mode: 'Apply' | 'Restart' = 'Restart'): Promise<FakeProcess> {
  const process = new FakeProcess(mode);
  process.put(one);
  await process.start();
  await process.passTrial();
  process.actions.length = 0;
  return process;
}

describe('what the machine cannot hold', () => {
  test('is rejected if it would be applied without the start that refuses it', async () => {
    const process = await proven();
    process.fault = 'Expected capacity >= reservation.';
    await process.write({ live: '2', fixed: '1' });
    await process.passTrial();
    expect(process.actions).toEqual([]);
    expect(process.outcomes()).toEqual(['rejected', 'good']);
    expect(process.status.entries()[0]?.reasons).toEqual(['Expected capacity >= reservation.']);
    expect(process.status.current().active).toBe(process.status.current().lastKnownGood);
    expect(process.status.current().error).toBe('the configuration files have a problem');
  });

  test('is tried again on request', async () => {
    const process = await proven();
    process.fault = 'Expected capacity >= reservation.';
    await process.write({ live: '2', fixed: '1' });
    process.fault = undefined;
    await process.hangUp();
    expect(process.actions).toEqual(['apply 2']);
    expect(process.status.current().error).toBeUndefined();
  });

  test('does not end the trial of another configuration', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    process.fault = 'Expected capacity >= reservation.';
    await process.write({ live: '3', fixed: '1' });
    await process.passTrial();
    expect(process.outcomes()).toEqual(['rejected', 'good', 'good']);
    expect(process.actions).toEqual(['apply 2']);
  });
});

describe('while the machine is being shut down', () => {
  test('changed files wait for a cancellation, since a restart in place would end the delay', async () => {
    const process = await proven();
    process.isShuttingDown = true;
    await process.write({ live: '2', fixed: '2' });
    await process.hangUp();
    await process.clock.advance(60_000);
    expect(process.actions).toEqual([]);
    process.isShuttingDown = false;
    await process.clock.advance(2_000);
    expect(process.actions).toEqual(['stop 1/1/', 'run 2/2/']);
  });

  test('a trial is suspended: the node is not ready for another reason', async () => {
    const process = await proven();
    process.nodeReady = true;
    await process.write({ live: '2', fixed: '2' });
    process.isShuttingDown = true;
    process.nodeReady = false;
    await process.clock.advance(2 * periodMs);
    expect(process.outcomes()).toEqual(['on-trial', 'good']);
    process.isShuttingDown = false;
    await process.clock.advance(10_000);
    process.nodeReady = true;
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'good']);
  });
});

describe('the first start', () => {
  test('that hangs begins again with the repaired files at once', async () => {
    const process = new FakeProcess('Apply');
    process.put({ does: 'hangs' });
    await process.start();
    await process.clock.advance(5_000);
    await process.write(one);
    expect(process.actions).toEqual(['run //hangs', 'run 1/1/']);
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'superseded']);
  });

  test('that hangs is reported once in half a period', async () => {
    const process = new FakeProcess('Restart');
    process.put({ does: 'hangs' });
    await process.start();
    await process.clock.advance(5 * periodMs);
    expect(process.errors.length).toBeGreaterThan(7);
    expect(process.errors.length).toBeLessThanOrEqual(10);
    expect(process.outcomes()).toEqual(['unhealthy']);
  });

  test('delays a change visibly', async () => {
    const process = new FakeProcess('Restart');
    process.put(one);
    await process.start();
    await process.write({ live: '2', fixed: '1' });
    expect(process.infos).toContain('A changed configuration waits for the end of the first trial');
  });
});

describe('a stop during the start of what is on trial', () => {
  test('is an interruption if the start has just begun', async () => {
    const process = await proven();
    await process.write({ fixed: '2', does: 'hangs' });
    await process.stop();
    expect([process.exit, process.outcomes()[0]]).toEqual([0, 'interrupted']);
    expect((await process.restart()).actions).toEqual(['run /2/hangs']);
  });

  test('is the verdict if the start hangs: a service manager would try it again and again', async () => {
    const process = await proven();
    await process.write({ fixed: '2', does: 'hangs' });
    await process.clock.advance(10_000);
    await process.stop();
    expect([process.exit, process.outcomes()[0]]).toEqual([0, 'fell-back']);
    expect((await process.restart()).actions).toEqual(['run 1/1/']);
  });
});

test('fifty restarts in place leave no timer behind', async () => {
  const process = await proven();
  await process.write({ fixed: '2' });
  await process.passTrial();
  const timers = process.clock.pendingTimers();
  for (let count = 0; count < 50; count++) await process.write({ fixed: `v${count}` });
  await process.passTrial();
  expect(process.actions.filter((action) => action.startsWith('run '))).toHaveLength(51);
  expect(process.outcomes()[0]).toBe('good');
  expect(process.clock.pendingTimers()).toBe(timers);
});

test('a crash before the history was written is recorded at the next start', async () => {
  const process = await proven();
  const history = process.state('history') ?? '';
  await process.write({ live: '2', fixed: '1' });
  process.disk.set('/root/live-config/history.json', history);
  const next = await process.restart();
  expect(next.outcomes()).toEqual(['fell-back', 'good']);
  expect(next.status.entries()[0]).toMatchObject({
    reasons: ['the kubelet crashed in the trial'],
    changes: [{ path: 'live', applies: 'now' }],
  });
});

test('files that are invalid in another way each time are reported', async () => {
  const process = await proven();
  for (let count = 0; count < 50; count++) {
    process.put(`half ${count}`);
    await process.clock.advance(200);
  }
  expect(process.outcomes()[0]).toBe('rejected');
});

describe('SIGHUP without a change', () => {
  test('is answered in the log', async () => {
    const process = await proven();
    await process.hangUp();
    expect(process.infos.at(-1)).toBe('The configuration files have not changed');
    expect(process.notified.slice(-2)).toEqual(['reloading', 'ready']);
    expect(process.actions).toEqual([]);
  });

  test('reports files that are still invalid, without another entry in the history', async () => {
    const process = await proven();
    await process.write('half');
    await process.hangUp();
    expect(process.errors.at(-1)).toBe(
      'The configuration files are still invalid, the configuration in force stays',
    );
    expect(process.outcomes()).toEqual(['rejected', 'good']);
  });
});

test('the event of many problems is truncated', async () => {
  const process = await proven();
  process.problems = Array.from({ length: 500 }, (_, at) => `problem ${at}`);
  await process.write('half');
  const notice = process.status.takeNotices().find(({ reason }) => reason === 'KubeletConfigRejected');
  expect(notice?.message).toHaveLength(1_024);
  expect(process.status.entries()[0]?.reasons).toHaveLength(20);
});
