import { describe, expect, test } from 'vitest';
import { type FakeConfig, FakeProcess, path, periodMs } from '../../test/fakes/fake-config-process.ts';

const one: FakeConfig = { live: '1', fixed: '1' };

/** A process whose first configuration has passed its trial. */
async function proven(mode: 'Apply' | 'Restart' = 'Restart'): Promise<FakeProcess> {
  const process = new FakeProcess(mode);
  process.put(one);
  await process.start();
  await process.passTrial();
  expect(process.outcomes()).toEqual(['good']);
  process.actions.length = 0;
  return process;
}

describe('a changed file', () => {
  test('is applied without a restart if that is enough, and is good after the period', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    expect(process.actions).toEqual(['apply 2']);
    expect(process.notified).toEqual(['reloading', 'ready']);
    expect(process.outcomes()).toEqual(['on-trial', 'good']);
    expect(process.state('trial')).toContain('trying');
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'good']);
    expect(process.state('trial')).toBeUndefined();
    const { active, assigned, lastKnownGood } = process.status.current();
    expect([active, assigned]).toEqual([lastKnownGood, lastKnownGood]);
  });

  test('restarts the kubelet in place if a change needs it', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '2' });
    expect(process.actions).toEqual(['stop 1/1/', 'run 2/2/']);
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'good']);
  });

  test('with Apply, changes that need a restart are reported as pending, and the others are tried', async () => {
    const process = await proven('Apply');
    const { lastKnownGood } = process.status.current();
    await process.write({ live: '2', fixed: '2' });
    expect(process.actions).toEqual(['apply 2']);
    await process.passTrial();
    expect(process.outcomes()).toEqual(['pending-restart', 'good']);
    expect(process.status.current()).toMatchObject({ pendingRestart: ['fixed'], lastKnownGood });
    // Back to what is in force: nothing is pending, and the text is the last known good one.
    await process.write({ live: '2', fixed: '1' });
    expect(process.actions).toEqual(['apply 2']);
    expect(process.outcomes()).toEqual(['good', 'pending-restart', 'good']);
    expect(process.status.current().pendingRestart).toEqual([]);
  });

  test('with Apply, nothing is applied if what needs no restart is invalid without the rest', async () => {
    const process = await proven('Apply');
    process.isPartlyApplicable = false;
    await process.write({ live: '2', fixed: '2' });
    expect(process.actions).toEqual([]);
    expect(process.status.current().pendingRestart).toEqual(['live', 'fixed']);
  });

  test('with other text and the same settings is the last known good one at once', async () => {
    const process = await proven();
    await process.write('{ "fixed": "1", "live": "1" }');
    expect(process.actions).toEqual([]);
    expect(process.outcomes()).toEqual(['good', 'good']);
    expect(process.state('last-known-good')).toContain('{ \\"fixed\\"');
  });

  test('with other text during a trial does not begin the period again', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    await process.clock.advance(periodMs / 2);
    await process.write('{ "fixed": "1", "live": "2" }');
    await process.clock.advance(periodMs / 2);
    expect(process.outcomes()).toEqual(['good', 'superseded', 'good']);
  });

  test('that is replaced again during a trial is tried in place of it', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    await process.write({ live: '3', fixed: '1' });
    expect(process.outcomes()).toEqual(['on-trial', 'superseded', 'good']);
    await process.write(one);
    expect(process.outcomes()).toEqual(['good', 'superseded', 'superseded', 'good']);
    expect(process.actions).toEqual(['apply 2', 'apply 3', 'apply 1']);
    expect(process.state('trial')).toBeUndefined();
  });

  test('during the first trial waits for its end, so that there is something to fall back to', async () => {
    const process = new FakeProcess('Restart');
    process.put(one);
    await process.start();
    await process.write({ fixed: '2', does: 'dies' });
    expect(process.actions).toEqual(['run 1/1/']);
    await process.passTrial();
    expect(process.outcomes()).toEqual(['fell-back', 'good']);
    expect(process.actions.at(-1)).toBe('run 1/1/');
  });

  test('during an unhealthy first trial does not wait', async () => {
    const process = new FakeProcess('Restart');
    process.put({ does: 'sick' });
    await process.start();
    await process.clock.advance(5_000);
    await process.write(one);
    expect(process.actions).toEqual(['run //sick', 'stop //sick', 'run 1/1/']);
  });

  test('while the kubelet is starting begins the start again, with Apply too', async () => {
    const process = await proven('Apply');
    const hung = await process.restart('Apply');
    hung.put({ fixed: '2', does: 'hangs' });
    const next = await hung.restart('Apply');
    await next.write({ fixed: '3' });
    expect(next.actions).toEqual(['run /2/hangs', 'run /3/']);
  });
});

describe('an invalid file', () => {
  test('changes nothing, and is reported once', async () => {
    const process = await proven();
    await process.write('half');
    await process.clock.advance(120_000);
    expect(process.actions).toEqual([]);
    expect(process.outcomes()).toEqual(['rejected', 'good']);
    expect(process.errors).toEqual(['Rejected the configuration files, the configuration in force stays']);
    expect(process.status.current().error).toBe('the configuration files have a problem');
    await process.write(one);
    expect(process.status.current().error).toBeUndefined();
    expect(process.outcomes()).toEqual(['rejected', 'good']);
  });

  test('that is complete a moment later is not reported', async () => {
    const process = await proven();
    process.put('half');
    await process.clock.advance(600);
    await process.write({ live: '2', fixed: '1' });
    expect(process.errors).toEqual([]);
    expect(process.actions).toEqual(['apply 2']);
  });
});

test('a file that is replaced a hundred times a second is read once a second at most, and the last content wins', async () => {
  const process = await proven();
  const before = process.loads;
  for (let count = 0; count < 1_000; count++) {
    process.put({ live: `v${count}`, fixed: '1' });
    await process.clock.advance(10);
  }
  await process.clock.advance(2_000);
  expect(process.loads - before).toBeLessThanOrEqual(12);
  expect(process.actions.at(-1)).toBe('apply v999');
});

describe('a trial ends badly', () => {
  test('at once if the kubelet fails', async () => {
    const process = await proven();
    await process.write({ fixed: '2', does: 'dies' });
    expect(process.actions).toEqual(['stop 1/1/', 'run /2/dies', 'run 1/1/']);
    expect(process.status.entries()[0]).toMatchObject({ outcome: 'fell-back', reasons: ['it died'] });
    expect(process.status.current().error).toBe('it died');
    expect(process.state('trial')).toContain('failed');
    expect(process.status.takeNotices().map(({ reason }) => reason)).toEqual([
      'KubeletConfigChanged',
      'KubeletConfigFellBack',
    ]);
    // It is not tried again, until the operator wants it or the file changes.
    await process.clock.advance(300_000);
    expect(process.actions).toHaveLength(3);
    await process.hangUp();
    expect(process.actions.slice(3)).toEqual(['stop 1/1/', 'run /2/dies', 'run 1/1/']);
  });

  test.each([
    ['a start that hangs', { fixed: '2', does: 'hangs' }, periodMs / 2],
    ['a health check that fails', { fixed: '2', does: 'sick' }, periodMs / 3],
  ] as const)('%s', async (_, config, withinMs) => {
    const process = await proven();
    await process.write(config);
    await process.clock.advance(withinMs - 6_000);
    expect(process.outcomes()).toEqual(['on-trial', 'good']);
    await process.clock.advance(10_000);
    expect(process.outcomes()).toEqual(['fell-back', 'good']);
    expect(process.actions.at(-1)).toBe('run 1/1/');
  });

  test('without a restart if the change was applied without one', async () => {
    const process = await proven();
    await process.write({ live: 'sick', fixed: '1' });
    await process.clock.advance(periodMs / 3 + 5_000);
    expect(process.actions).toEqual(['apply sick', 'apply 1']);
    expect(process.status.current().active).toBe(process.status.current().lastKnownGood);
  });

  test('if the node is no longer ready', async () => {
    const process = await proven();
    process.nodeReady = true;
    await process.write({ live: '2', fixed: '1' });
    process.nodeReady = false;
    await process.passTrial();
    expect(process.status.entries()[0]?.reasons).toEqual(['the node is no longer ready']);
  });

  test('not if the state of the node is unknown, or it never was ready', async () => {
    const process = await proven();
    process.nodeReady = false;
    await process.write({ live: '2', fixed: '1' });
    await process.passTrial();
    process.nodeReady = undefined;
    await process.write({ live: '3', fixed: '1' });
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'good', 'good']);
  });

  test('not by a symptom that passes', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    process.symptom = 'a hiccup';
    await process.clock.advance(periodMs / 3 - 6_000);
    process.symptom = undefined;
    await process.passTrial();
    expect(process.outcomes()).toEqual(['good', 'good']);
  });

  test('a kubelet that fails outside a trial ends the process, as without the feature', async () => {
    const process = new FakeProcess('Restart');
    process.put({ does: 'dies' });
    await process.start();
    expect(process.exit).toBe('Error: it died');
  });
});

describe('the next process', () => {
  test('runs the last known good configuration without a trial', async () => {
    const process = await proven();
    await process.stop();
    expect(process.exit).toBe(0);
    const next = await process.restart();
    expect(next.actions).toEqual(['run 1/1/']);
    expect(next.outcomes()).toEqual(['good']);
    expect(next.state('trial')).toBeUndefined();
  });

  test('tries a file that changed while no kubelet ran', async () => {
    const process = await proven();
    await process.stop();
    process.disk.set(path, JSON.stringify({ fixed: '2', does: 'dies' }));
    const next = await process.restart();
    expect(next.actions).toEqual(['run /2/dies', 'run 1/1/']);
    expect(next.status.entries()[0]).toMatchObject({
      outcome: 'fell-back',
      changes: [
        { path: 'live', applies: 'now' },
        { path: 'fixed', applies: 'restart' },
        { path: 'does', applies: 'restart' },
      ],
    });
    const another = await next.restart();
    expect(another.actions).toEqual(['run 1/1/']);
  });

  test('does not try a configuration that crashed the process, until the file changes', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    const next = await process.restart();
    expect(next.actions).toEqual(['run 1/1/']);
    expect(next.status.entries()[0]?.reasons).toEqual(['the kubelet crashed in the trial']);
    expect(next.errors).toContain(
      'Using the last known good configuration instead of the configuration files',
    );
    await next.write({ live: '3', fixed: '1' });
    expect(next.actions).toEqual(['run 1/1/', 'apply 3']);
  });

  test('tries again what was interrupted by a stop', async () => {
    const process = await proven();
    await process.write({ live: '2', fixed: '1' });
    await process.stop();
    expect(process.outcomes()).toEqual(['interrupted', 'good']);
    const next = await process.restart();
    expect(next.actions).toEqual(['run 2/1/']);
    expect(next.outcomes()).toEqual(['on-trial', 'interrupted', 'good']);
  });

  test.each([
    ['half-written', 'ha'],
    ['deleted', undefined],
  ] as const)('uses the last known good configuration if the file is %s', async (_, text) => {
    const process = await proven();
    await process.stop();
    if (text === undefined) process.disk.delete(path);
    else process.disk.set(path, text);
    const next = await process.restart();
    expect(next.actions).toEqual(['run 1/1/']);
    expect(next.outcomes()).toEqual(['rejected', 'good']);
    expect(next.status.takeNotices().map(({ reason }) => reason)).toEqual(['KubeletConfigRejected']);
    await next.write(one);
    expect(next.status.current().error).toBeUndefined();
  });

  test('has nothing to run with an invalid file and a damaged last known good configuration', async () => {
    const process = await proven();
    await process.stop();
    process.disk.set(path, 'half');
    const name = '/root/live-config/last-known-good.json';
    process.disk.set(name, (process.disk.get(name) ?? '').replace('live', 'evil'));
    const next = await process.restart();
    expect(next.exit).toBe('nothing to run');
    expect(next.errors).toEqual(['Ignoring a damaged file of the live configuration']);
  });
});

test('nothing is written before the first kubelet runs, which creates the root directory', async () => {
  const process = new FakeProcess('Restart');
  process.put({ does: 'hangs' });
  await process.start();
  await process.clock.advance(10_000);
  expect([...process.disk.keys()]).toEqual([path]);
});

test('a stopped process leaves no timer and no watch', async () => {
  const process = await proven();
  await process.write({ live: '2', fixed: '1' });
  await process.stop();
  expect(process.actions.at(-1)).toBe('unwatch');
  expect(process.clock.pendingTimers()).toBe(0);
});

test('the history keeps the last fifty configurations', async () => {
  const process = await proven();
  for (let count = 0; count < 60; count++) await process.write({ live: `v${count}`, fixed: '1' });
  expect(process.outcomes()).toHaveLength(50);
});
