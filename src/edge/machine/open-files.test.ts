import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { parseOpenFiles, readOpenFiles, setOpenFiles } from './open-files.ts';

describe('setOpenFiles', () => {
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

  test('sets the soft and the hard limit, also to a lower value', async () => {
    await setOpenFiles(512, { pid });
    expect(await readOpenFiles(pid)).toEqual({ soft: 512, hard: 512 });
    await setOpenFiles(512, { pid });
    expect(await readOpenFiles(pid)).toEqual({ soft: 512, hard: 512 });
  });

  test('raises the hard limit with CAP_SYS_RESOURCE, and fails without it and keeps the limit', async () => {
    await setOpenFiles(512, { pid });
    const outcome = await setOpenFiles(1024, { pid }).catch((err: unknown) => err);
    if (await hasCapability(24n)) {
      expect([outcome, await readOpenFiles(pid)]).toEqual([undefined, { soft: 1024, hard: 1024 }]);
      return;
    }
    expect(outcome).toMatchObject({
      kind: 'forbidden',
      reason: 'EPERM',
      message: 'cannot set the limit of open files from 512 to 1024',
      details: { soft: 512, hard: 512, limit: 1024 },
    });
    expect(await readOpenFiles(pid)).toEqual({ soft: 512, hard: 512 });
  });

  test('reports the errno of a failed system call', async () => {
    const syscalls = await loadSyscalls();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(() => syscalls.setOpenFileLimit(pid, 512)).toThrow(
      expect.objectContaining({ kind: 'not-found', reason: 'ESRCH' }),
    );
  });

  const tables = [
    [
      'numbers',
      'Max open files            1024                 4096                 files',
      { soft: 1024, hard: 4096 },
    ],
    [
      'unlimited',
      'Max open files            1024                 unlimited            files',
      { soft: 1024, hard: Number.POSITIVE_INFINITY },
    ],
    [
      'another limit',
      'Max processes             1024                 4096                 processes',
      undefined,
    ],
  ] as const;
  for (const [name, line, want] of tables) {
    test(`parseOpenFiles: ${name}`, () => {
      expect(parseOpenFiles(`Limit  Soft Limit  Hard Limit  Units\n${line}\n`)).toEqual(want);
    });
  }
});

async function hasCapability(bit: bigint): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8');
  return ((BigInt(`0x${/^CapEff:\s*(\S+)/m.exec(status)?.[1]}`) >> bit) & 1n) === 1n;
}
