import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyOomScore } from './oom-score.ts';

describe('applyOomScore', () => {
  let child: ChildProcess;
  let pid = 0;

  beforeEach(() => {
    child = spawn('sleep', ['60'], { stdio: 'ignore' });
    pid = child.pid ?? 0;
  });
  afterEach(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });

  const score = async (): Promise<number> => Number(await readFile(`/proc/${pid}/oom_score_adj`, 'utf8'));

  test('writes the score of a process', async () => {
    await applyOomScore(500, { pid });
    expect(await score()).toBe(500);
  });

  test('lowers the score with CAP_SYS_RESOURCE, and fails without it and keeps the score', async () => {
    const before = await score();
    const outcome = await applyOomScore(-999, { pid }).catch((err: unknown) => err);
    if (await hasCapability(24n)) {
      expect([outcome, await score()]).toEqual([undefined, -999]);
      return;
    }
    expect(outcome).toMatchObject({
      kind: 'forbidden',
      reason: 'EACCES',
      message: `cannot set /proc/${pid}/oom_score_adj to -999`,
      details: { score: -999 },
    });
    expect(await score()).toBe(before);
  });

  test('rejects a score out of range', async () => {
    await expect(applyOomScore(1001, { pid })).rejects.toMatchObject({ kind: 'invalid', reason: 'EINVAL' });
  });

  test('reports not-found for a process that has ended', async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    await expect(applyOomScore(1, { pid })).rejects.toMatchObject({ kind: 'not-found', reason: 'ENOENT' });
  });
});

async function hasCapability(bit: bigint): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  return ((BigInt(`0x${/^CapEff:\s*(\S+)/m.exec(status)?.[1]}`) >> bit) & 1n) === 1n;
}
