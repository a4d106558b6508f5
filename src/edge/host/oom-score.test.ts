import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.ts';
import { applyOomScore } from './oom-score.ts';

describe('applyOomScore', () => {
  let child: ChildProcess;
  const signal = new AbortController().signal;

  beforeEach(() => {
    child = spawn('sleep', ['60'], { stdio: 'ignore' });
  });
  afterEach(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });

  const scoreOf = async (pid: number): Promise<number> =>
    Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));

  test('writes the score of a process', async () => {
    const pid = child.pid ?? 0;
    await applyOomScore(500, { clock: new FakeClock(), signal, pid });
    expect(await scoreOf(pid)).toBe(500);
  });

  test('below the start value: done with CAP_SYS_RESOURCE, refused after two tries without', async () => {
    const pid = child.pid ?? 0;
    const clock = new FakeClock();
    const before = await scoreOf(pid);
    const applying = applyOomScore(-999, { clock, signal, pid }).then(
      () => 'done',
      (err: unknown) => err,
    );
    if (await hasCapability(24n)) {
      expect([await applying, await scoreOf(pid)]).toEqual(['done', -999]);
      return;
    }
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    await clock.advance(100);
    const outcome = await applying;
    expect(outcome).toMatchObject({ kind: 'forbidden', reason: 'EACCES', details: { score: -999 } });
    expect(clock.monotonic()).toBe(100);
    expect(await scoreOf(pid)).toBe(before);
  });

  test('a score out of range is refused', async () => {
    const clock = new FakeClock();
    const applying = applyOomScore(1001, { clock, signal, pid: child.pid ?? 0 });
    const refused = expect(applying).rejects.toMatchObject({ kind: 'invalid', reason: 'EINVAL' });
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    await clock.advance(100);
    await refused;
  });

  test('a process that is gone is not tried again', async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    const clock = new FakeClock();
    await expect(applyOomScore(1, { clock, signal, pid: child.pid ?? 0 })).rejects.toMatchObject({
      kind: 'not-found',
    });
    expect(clock.pendingTimers()).toBe(0);
  });

  test('an abort ends the wait between two tries', async () => {
    const stop = new AbortController();
    const clock = new FakeClock();
    const applying = applyOomScore(1001, { clock, signal: stop.signal, pid: child.pid ?? 0 });
    await expect.poll(() => clock.pendingTimers()).toBe(1);
    stop.abort(new Error('told to stop'));
    await expect(applying).rejects.toThrow('told to stop');
    expect(clock.pendingTimers()).toBe(0);
  });
});

async function hasCapability(bit: bigint): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  return ((BigInt(`0x${/^CapEff:\s*(\S+)/m.exec(status)?.[1]}`) >> bit) & 1n) === 1n;
}
