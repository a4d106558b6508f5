import { describe, expect, onTestFinished, test } from 'vitest';
import { ShutdownRig } from '../../test/builders/shutdown-rig.ts';

const critical = { priority: 2_000_001_000 };
/** Pods that ignore SIGTERM. */
const stubborn = { endsAfter: 1_000 };

/** A rig whose logind grants the default periods. It is stopped when the test ends. */
function newRig(): ShutdownRig {
  const rig = new ShutdownRig();
  rig.logind.limitMs = 30_000;
  onTestFinished(() => rig.stop());
  return rig;
}

async function shutDown(rig: ShutdownRig): Promise<void> {
  rig.logind.prepare(true);
  await rig.clock.advance(0);
  rig.state.problemsReported(rig.state.problems());
}

describe('a shutdown', () => {
  test('terminates ordinary pods first, then critical ones, then proceeds', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 2 });
    rig.add('proxy', { endsAfter: 3 }, critical);
    await rig.start();
    expect(rig.logind.locks).toBe(1);
    await shutDown(rig);
    expect(rig.state.isShuttingDown).toBe(true);
    await rig.clock.advance(30_000);
    expect(rig.history).toEqual([
      '0 kill web 20',
      '2 ended web',
      '2 reported web',
      '2 kill proxy 8',
      '5 ended proxy',
      '5 reported proxy',
      '5 proceed',
    ]);
    expect(rig.events).toEqual(['Normal Shutdown: Shutdown manager detected shutdown event']);
    expect(rig.logind.locks).toBe(0);
    // Until the machine is off.
    expect(rig.state.isShuttingDown).toBe(true);
  });

  test('has the status, condition and evidence of a pod that the node shutdown terminated', async () => {
    const rig = newRig();
    rig.add('web', {}, { priority: 7, terminationGracePeriodSeconds: 4 });
    await rig.start();
    await shutDown(rig);
    const message = 'Pod was terminated in response to imminent node shutdown.';
    expect(rig.kills.get('web')).toEqual({
      reason: 'Terminated',
      message,
      graceSeconds: 4,
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message },
      evidence: {
        rule: 'node shutdown, pods of priority 0 and above',
        figures: { priority: 7, groupSeconds: 20, ownGraceSeconds: 4 },
      },
    });
  });

  test('goes by priority, and spends no time on a group without pods', async () => {
    const rig = newRig();
    rig.periods = {
      byPriority: [
        { priority: 1_000, seconds: 5 },
        { priority: 0, seconds: 10 },
        { priority: 500, seconds: 9 },
      ],
      totalMs: 0,
      criticalMs: 0,
    };
    rig.add('low', stubborn, { priority: -4 });
    rig.add('high', { endsAfter: 1 }, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(30_000);
    expect(rig.history.filter((line) => !line.includes('reported'))).toEqual([
      '0 kill low 10',
      '10 ended low',
      '10 kill high 5',
      '11 ended high',
      '11 proceed',
    ]);
  });

  test('pods that ignore SIGTERM are killed in time for their statuses', async () => {
    const rig = newRig();
    rig.add('web', stubborn);
    rig.add('proxy', { ...stubborn, reports: 0.5 }, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(60_000);
    expect(rig.history).toEqual([
      '0 kill web 20',
      '20 ended web',
      '20 kill proxy 8',
      '20 reported web',
      '28 ended proxy',
      '28.5 reported proxy',
      '28.5 proceed',
    ]);
  });

  test('waits for volumes, but not longer than the period of the group', async () => {
    const rig = newRig();
    rig.add('quick', { unmounts: 3 });
    rig.add('proxy', {}, critical);
    rig.add('stuck', { unmounts: 1_000 }, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(60_000);
    expect(rig.history.filter((line) => !line.includes('reported'))).toEqual([
      '0 kill quick 20',
      '0 ended quick',
      '3 kill proxy 8',
      '3 kill stuck 8',
      '3 ended proxy',
      '3 ended stuck',
      '13 proceed',
    ]);
    expect(rig.logged('were not terminated in time')).toHaveLength(1);
  });

  test('kills a pod that appears late with the group in progress', async () => {
    const rig = newRig();
    rig.add('proxy', { endsAfter: 4 }, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(1_000);
    rig.add('late', { endsAfter: 1 });
    await rig.clock.advance(30_000);
    expect(rig.history).toContain('1 kill late 8');
    expect(rig.history.at(-1)).toBe('4 proceed');
  });

  test('kills pods in time for their statuses also without a period for critical pods', async () => {
    const rig = newRig();
    rig.periods = { byPriority: [], totalMs: 30_000, criticalMs: 0 };
    rig.add('web', { ...stubborn, reports: 0.5 });
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(60_000);
    expect(rig.history).toEqual(['0 kill web 28', '28 ended web', '28.5 reported web', '28.5 proceed']);
  });

  test('waits for the end of a pod of an earlier group while there is time', async () => {
    const rig = newRig();
    rig.add('slow', { ...stubborn, dies: 0.5 });
    rig.add('proxy', {}, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(60_000);
    expect(rig.history.slice(-2)).toEqual(['20.5 reported slow', '20.55 proceed']);
  });

  test('an unreachable API server delays the release by five seconds at most', async () => {
    const rig = newRig();
    rig.apiIsDown = true;
    rig.add('web', { endsAfter: 1 });
    await rig.start();
    rig.logind.prepare(true);
    await rig.clock.advance(60_000);
    expect(rig.history.at(-1)).toBe('6 proceed');
    expect(rig.logged('did not receive all statuses')).toHaveLength(1);
  });

  test('an unreachable API server delays the release no longer than logind waits', async () => {
    const rig = newRig();
    rig.apiIsDown = true;
    rig.add('web', stubborn);
    rig.add('proxy', stubborn, critical);
    await rig.start();
    rig.logind.prepare(true);
    await rig.clock.advance(60_000);
    expect(rig.history.at(-1)).toBe('30 proceed');
  });

  test('waits until the API server has the node as not ready', async () => {
    const rig = newRig();
    await rig.start();
    rig.logind.prepare(true);
    await rig.clock.advance(1_000);
    expect(rig.history).toEqual([]);
    rig.state.problemsReported(rig.state.problems());
    await rig.clock.advance(100);
    expect(rig.history).toEqual(['1.05 proceed']);
  });

  test('records its start and end on disk and as metrics', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 2 });
    await rig.start();
    expect(rig.metrics).toEqual({ startedAtMs: 0, endedAtMs: 0 });
    const startedAtMs = rig.clock.now();
    await shutDown(rig);
    const startTime = new Date(startedAtMs).toISOString();
    expect(rig.stateFile()).toEqual({ startTime, endTime: '0001-01-01T00:00:00Z' });
    expect(rig.metrics).toEqual({ startedAtMs, endedAtMs: 0 });
    await rig.clock.advance(10_000);
    const endedAtMs = startedAtMs + 2_000;
    expect(rig.stateFile()).toEqual({ startTime, endTime: new Date(endedAtMs).toISOString() });
    expect(rig.metrics).toEqual({ startedAtMs, endedAtMs });
    await rig.stop();
    rig.metrics.startedAtMs = 0;
    await rig.start();
    expect(rig.metrics).toEqual({ startedAtMs, endedAtMs });
  });
});

describe('a cancelled shutdown', () => {
  test('kills no further group, keeps the lock, and ends the refusal of pods', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 5 });
    rig.add('proxy', {}, critical);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(2_000);
    rig.logind.prepare(false);
    expect(rig.state.isShuttingDown).toBe(false);
    await rig.clock.advance(60_000);
    expect(rig.history).toEqual(['0 kill web 20', '5 ended web', '5 reported web']);
    expect(rig.events.at(-1)).toBe('Normal Shutdown: Shutdown manager detected shutdown cancellation');
    expect(rig.logind.locks).toBe(1);
    expect(rig.metrics.endedAtMs).toBeGreaterThan(0);
  });

  test('takes the lock again after it was released, and handles the next shutdown', async () => {
    const rig = newRig();
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(1_000);
    expect(rig.logind.locks).toBe(0);
    rig.logind.prepare(false);
    await rig.clock.advance(0);
    expect(rig.logind.locks).toBe(1);
    rig.add('web', { endsAfter: 1 });
    await shutDown(rig);
    await rig.clock.advance(2_000);
    expect(rig.history.map((line) => line.replace(/^\S+ /, ''))).toEqual([
      'proceed',
      'kill web 20',
      'ended web',
      'reported web',
      'proceed',
    ]);
  });

  test('begins again at once', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 5 });
    rig.add('proxy', { endsAfter: 1 }, critical);
    await rig.start();
    await shutDown(rig);
    rig.logind.prepare(false);
    await shutDown(rig);
    await rig.clock.advance(30_000);
    expect(rig.history.at(-1)).toMatch(/proceed$/);
    expect(rig.stateFile()).not.toMatchObject({ endTime: '0001-01-01T00:00:00Z' });
    expect(rig.kills.size).toBe(2);
  });

  test('that was not signalled is found when logind is back', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 5 });
    rig.add('proxy', {}, critical);
    await rig.start();
    await shutDown(rig);
    rig.logind.isPreparing = false;
    rig.logind.restart();
    await rig.clock.advance(2_000);
    expect(rig.state.isShuttingDown).toBe(false);
    expect(rig.logind.locks).toBe(1);
    expect(rig.kills.has('proxy')).toBe(false);
  });
});

describe('the limit of logind', () => {
  test('is raised to the sum of the periods', async () => {
    const rig = newRig();
    rig.logind.limitMs = 5_000;
    await rig.start();
    expect(rig.logind.raised).toEqual([30]);
    await rig.clock.advance(100);
    expect(rig.logind.locks).toBe(1);
    expect(rig.events).toEqual([]);
  });

  test.each([
    ['systemd-logind did not apply its configuration', undefined],
    ['read-only file system', 'read-only file system'],
  ])(
    'that stays too low reduces the periods, with one line and one event: %s',
    async (cause, writeFailure) => {
      const rig = newRig();
      rig.logind.limitMs = 6_000;
      rig.logind.appliesLimit = false;
      rig.logind.writeFailure = writeFailure;
      rig.add('web', stubborn);
      rig.add('proxy', stubborn, critical);
      await rig.start();
      await rig.clock.advance(5_000);
      rig.logind.restart();
      await rig.clock.advance(10_000);
      expect(rig.logind.locks).toBe(1);
      expect(rig.logged('The shutdown grace periods were reduced')).toHaveLength(1);
      expect(rig.events).toEqual([
        'Warning ShutdownGracePeriodReduced: systemd-logind delays a shutdown by 6 s at most, less than the configured 30 s: ' +
          `pods get 4 s from priority 0, 2 s from priority 2000000000 (${cause})`,
      ]);
      await shutDown(rig);
      await rig.clock.advance(60_000);
      expect(rig.kills.get('web')?.graceSeconds).toBe(4);
      expect(rig.kills.get('proxy')?.graceSeconds).toBe(2);
    },
  );

  test('and the periods are read again for every lock and every shutdown', async () => {
    const rig = newRig();
    await rig.start();
    rig.periods = { ...rig.periods, totalMs: 60_000 };
    rig.manager?.poke();
    await rig.clock.advance(1_000);
    expect(rig.logind.raised).toEqual([60]);
    rig.periods = { ...rig.periods, totalMs: 12_000 };
    rig.add('web', stubborn);
    await shutDown(rig);
    expect(rig.kills.get('web')?.graceSeconds).toBe(2);
  });
});

describe('logind', () => {
  test('is left alone without periods, until there are some', async () => {
    const rig = newRig();
    rig.periods = { byPriority: [], totalMs: 0, criticalMs: 0 };
    await rig.start();
    await rig.clock.advance(60_000);
    expect(rig.logind.connects).toBe(0);
    rig.periods = { ...rig.periods, totalMs: 5_000 };
    rig.manager?.poke();
    await rig.clock.advance(0);
    expect(rig.logind.locks).toBe(1);
    rig.periods = { ...rig.periods, totalMs: 0 };
    rig.manager?.poke();
    await rig.clock.advance(0);
    expect([rig.logind.locks, rig.logind.sessions]).toEqual([0, 0]);
  });

  test('that is absent at the start is retried, with one line in the log', async () => {
    const rig = newRig();
    rig.logind.isAbsent = true;
    await rig.start();
    await rig.clock.advance(20_000);
    expect(rig.logind.connects).toBe(5);
    rig.logind.isAbsent = false;
    await rig.clock.advance(30_000);
    expect(rig.logind.locks).toBe(1);
    expect(rig.logLines.filter((line) => line.startsWith('E'))).toHaveLength(1);
  });

  test('that refuses the lock is polled, and a shutdown meanwhile is handled', async () => {
    const rig = newRig();
    rig.logind.refusal = 'Access denied';
    rig.add('web');
    await rig.start();
    await rig.clock.advance(2_000);
    await shutDown(rig);
    expect(rig.kills.has('web')).toBe(true);
    rig.logind.refusal = undefined;
    rig.logind.prepare(false);
    await rig.clock.advance(0);
    expect(rig.logind.locks).toBe(1);
  });

  test('that signals a shutdown while its state is read is believed', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 3 });
    await rig.start();
    rig.logind.afterRead = () => {
      rig.logind.afterRead = () => undefined;
      rig.logind.prepare(true);
    };
    rig.manager?.poke();
    await rig.clock.advance(1_000);
    expect([rig.state.isShuttingDown, rig.kills.has('web')]).toEqual([true, true]);
    expect(rig.events).toEqual(['Normal Shutdown: Shutdown manager detected shutdown event']);
  });

  test('is followed to the end of a shutdown whose periods are removed meanwhile', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 3 });
    await rig.start();
    await shutDown(rig);
    rig.periods = { ...rig.periods, totalMs: 0 };
    rig.manager?.poke();
    await rig.clock.advance(1_000);
    expect(rig.logind.locks).toBe(1);
    rig.logind.prepare(false);
    await rig.clock.advance(1_000);
    expect([rig.state.isShuttingDown, rig.logind.locks, rig.logind.sessions]).toEqual([false, 0, 0]);
  });

  test('that restarts has its lock taken again', async () => {
    const rig = newRig();
    await rig.start();
    rig.logind.restart();
    expect(rig.logind.locks).toBe(0);
    await rig.clock.advance(1_000);
    expect([rig.logind.locks, rig.logind.sessions]).toEqual([1, 1]);
  });

  test('that is gone for a while is connected to again', async () => {
    const rig = newRig();
    await rig.start();
    rig.logind.stop();
    await rig.clock.advance(120_000);
    rig.logind.isAbsent = false;
    await rig.clock.advance(30_000);
    expect([rig.logind.locks, rig.logind.sessions]).toEqual([1, 1]);
    rig.add('web');
    await shutDown(rig);
    expect(rig.kills.has('web')).toBe(true);
  });

  test('that loses the lock gives a new one, with one line in the log', async () => {
    const rig = newRig();
    await rig.start();
    rig.logind.loseLocks();
    await rig.clock.advance(1_000);
    expect([rig.logind.locks, rig.logind.taken]).toEqual([1, 2]);
    expect(rig.logged('Lost the inhibitor lock')).toHaveLength(1);
    // systemd ends all processes of a service at the same time.
    rig.logind.loseLocks();
    await rig.stop();
    expect(rig.logged('Lost the inhibitor lock')).toHaveLength(1);
  });

  test('that is lost during a shutdown interrupts nothing', async () => {
    const rig = newRig();
    rig.add('web', { endsAfter: 3 });
    rig.add('proxy', { endsAfter: 1 }, critical);
    await rig.start();
    await shutDown(rig);
    rig.logind.restart();
    await rig.clock.advance(30_000);
    expect(rig.kills.size).toBe(2);
    expect(rig.logged('Lost the inhibitor lock during the shutdown')).toHaveLength(1);
    // No lock is granted while a shutdown is in progress.
    expect([rig.logind.taken, rig.state.isShuttingDown]).toEqual([1, true]);
  });
});

describe('a restart of the kubelet', () => {
  test('continues the shutdown in progress, with the time that is left', async () => {
    const rig = newRig();
    rig.writeState(rig.clock.now() - 14_000);
    rig.logind.isPreparing = true;
    rig.add('web', stubborn);
    await rig.start();
    expect(rig.state.isShuttingDown).toBe(true);
    expect(rig.history).toEqual(['0 kill web 6']);
    expect(rig.metrics.startedAtMs).toBe(rig.clock.now() - 14_000);
  });

  test.each(['before', 'after'])('waits for pods of sources that report %s the signal', async (when) => {
    const rig = newRig();
    rig.logind.isPreparing = when === 'before';
    rig.sourcesReady = false;
    rig.add('static', { endsAfter: 1 });
    await rig.start();
    if (when === 'after') await shutDown(rig);
    rig.state.problemsReported(rig.state.problems());
    await rig.clock.advance(2_000);
    rig.add('web', { endsAfter: 1 });
    rig.add('proxy', { endsAfter: 1 }, critical);
    rig.sourcesReady = true;
    rig.sourcesReadyChanged.push();
    await rig.clock.advance(10_000);
    expect(rig.history.filter((line) => !line.includes('reported'))).toEqual(
      [
        '0 kill static 20',
        '1 ended static',
        '2 kill web 20',
        '3 ended web',
        '3 kill proxy 8',
        '4 ended proxy',
        '4 proceed',
      ].filter((line) => when === 'after' || !line.includes('proceed')),
    );
  });

  test('waits for its sources five seconds at most, out of the first periods', async () => {
    const rig = newRig();
    rig.periods = {
      byPriority: [0, 1_000, 2_000].map((priority) => ({ priority, seconds: 3 })),
      totalMs: 0,
      criticalMs: 0,
    };
    rig.sourcesReady = false;
    rig.add('web', { endsAfter: 1 }, { priority: 2_000 });
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(10_000);
    expect(rig.history).toEqual(['5 kill web 3', '6 ended web', '6 reported web', '6 proceed']);
  });

  test('takes nothing from a shutdown that ended long ago', async () => {
    const rig = newRig();
    rig.writeState(rig.clock.now() - 3_600_000);
    rig.add('web', stubborn);
    await rig.start();
    expect([rig.state.isShuttingDown, rig.logind.locks]).toEqual([false, 1]);
    await shutDown(rig);
    expect(rig.kills.get('web')?.graceSeconds).toBe(20);
    expect(rig.metrics.startedAtMs).toBe(rig.clock.now());
  });

  test('in the middle of a shutdown leaves it unfinished on disk, and releases the lock', async () => {
    const rig = newRig();
    rig.add('web', stubborn);
    await rig.start();
    await shutDown(rig);
    await rig.clock.advance(1_000);
    await rig.stop();
    expect(rig.stateFile()).toMatchObject({ endTime: '0001-01-01T00:00:00Z' });
    expect([rig.logind.locks, rig.logind.sessions]).toEqual([0, 0]);
  });
});
