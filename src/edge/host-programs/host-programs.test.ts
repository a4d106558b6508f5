import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeError, isKind } from '../../base/errors.ts';
import { NodePrograms } from './host-programs.ts';

describe('NodePrograms', () => {
  const programs = new NodePrograms();
  const { signal } = new AbortController();
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'host-programs-'));
  });
  afterEach(async () => {
    await rm(directory, { recursive: true });
  });

  const sh = (script: string, over: object = {}) => ({
    program: 'sh',
    args: ['-c', script],
    timeoutMs: 20_000,
    ...over,
  });
  const failure = async (work: Promise<unknown>): Promise<unknown> =>
    await work.then(
      () => undefined,
      (err: unknown) => err,
    );
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise((resolve) => setImmediate(resolve));
  };

  test('returns exit code and output, whatever the code', async () => {
    expect(await programs.run(sh('echo out; echo err >&2; exit 21'), signal)).toEqual({
      code: 21,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  test('returns no code for a program that a signal ended', async () => {
    expect(await programs.run(sh('kill -KILL $$'), signal)).toMatchObject({ code: undefined });
  });

  test('finds programs in PATH and in the directories of administrators', async () => {
    await writeFile(join(directory, 'own'), '#!/bin/sh\n', { mode: 0o755 });
    await writeFile(join(directory, 'text'), '', { mode: 0o644 });
    const found = new NodePrograms(directory);
    expect(await found.find('own')).toBe(join(directory, 'own'));
    expect(await found.find('text')).toBeUndefined();
    expect(await found.find('sh')).toMatch(/\/sh$/);
  });

  test.each([
    ['a missing program', 'no-such-program', 'not-found', 'no-such-program not found on the node'],
    ['a missing path', '/no/such/driver', 'not-found', 'driver not found on the node'],
    ['a file that is not executable', '/etc/passwd', 'forbidden', 'cannot run passwd: EACCES'],
  ])('rejects %s', async (_name, program, kind, message) => {
    const err = await failure(programs.run({ program, args: ['hunter2'], timeoutMs: 1000 }, signal));
    expect([isKind(err, kind as 'not-found'), describeError(err)]).toEqual([true, message]);
  });

  test('discards output beyond the limit without blocking the program', async () => {
    const { stdout, code } = await programs.run(
      sh('head -c 3000000 /dev/zero | tr "\\0" x; exit 3', { outputBytes: 1000 }),
      signal,
    );
    expect([stdout.length, code]).toEqual([1000, 3]);
  });

  test('kills the whole process group at the deadline', async () => {
    const pidFile = join(directory, 'pid');
    const script = `sleep 1000 & echo $! > ${pidFile}; wait`;
    const run = programs.run(sh(script, { timeoutMs: 1500, sensitive: ['hunter2'] }), signal);
    const err = await failure(run);
    expect([isKind(err, 'timeout'), describeError(err)]).toEqual([true, 'sh did not exit within 1500 ms']);
    const { readFile } = await import('node:fs/promises');
    const pid = Number(await readFile(pidFile, 'utf8'));
    await until(() => !isAlive(pid));
  });

  test('kills it on abort, and rejects with the reason', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const run = failure(programs.run(sh('trap "" TERM; sleep 1000'), abort.signal));
    abort.abort(reason);
    expect(await run).toBe(reason);
    expect(await failure(programs.run(sh('true'), abort.signal))).toBe(reason);
  });

  test('does not wait for a daemon that keeps the output open, nor kill it', async () => {
    const { stdout, code } = await programs.run(sh('setsid sleep 30 & echo $!'), signal);
    const pid = Number(stdout);
    expect([code, isAlive(pid)]).toEqual([0, true]);
    process.kill(pid, 'SIGKILL');
  });

  test('masks sensitive arguments in standard error', async () => {
    const { stderr } = await programs.run(
      {
        program: 'sh',
        args: ['-c', 'echo "bad $1" >&2', 'sh', 'hunter2'],
        timeoutMs: 9000,
        sensitive: ['hunter2'],
      },
      signal,
    );
    expect(stderr).toBe('bad --- masked ---\n');
    const cut = await programs.run(
      sh('printf 12345hunter2 >&2', { sensitive: ['hunter2'], outputBytes: 9 }),
      signal,
    );
    expect(cut.stderr).not.toContain('hun');
  });
});
