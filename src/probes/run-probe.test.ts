import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { asContainerId } from '../api/pod/pod-ref.ts';
import type { ProbeAnswer } from '../api/ports/probe-requests.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import type { ProbeTarget } from './probe-target.ts';
import { type ProbeVerdict, probeRunner } from './run-probe.ts';

const id = asContainerId('c-1');
const exec: ProbeTarget = { by: 'exec', command: ['cat', '/ok'], timeoutSeconds: 2 };
const tcp: ProbeTarget = { by: 'tcp', request: { host: 'h', port: 1, timeoutMs: 1 } };
const rpc = (reason: string, message: string, kind: KubeletError['kind'] = 'internal'): KubeletError =>
  new KubeletError(kind, reason, message);

/** The delay of the event loop, and when it occurred. */
const loop = { lateMs: 0, lateAtMs: 0 };
const clock = new FakeClock();
beforeEach(() => {
  loop.lateMs = 0;
});

interface Asked {
  readonly commands: unknown[];
  attempts: number;
  kept?: number | undefined;
}

async function run(
  target: ProbeTarget | (() => ProbeTarget),
  answer: () => Promise<unknown>,
  signal = new AbortController().signal,
  timeoutFails = true,
): Promise<ProbeVerdict & Partial<Asked>> {
  const asked: Asked = { commands: [], attempts: 0 };
  const ask = async (): Promise<ProbeAnswer> => {
    asked.attempts += 1;
    return (await answer()) as ProbeAnswer;
  };
  const run = probeRunner({
    edges: { http: ask, tcp: ask, grpc: ask },
    timeoutFails,
    clock,
    loopDelay: {
      watch: () => undefined,
      maxSinceMs: (sinceMs) => (sinceMs <= loop.lateAtMs ? loop.lateMs : 0),
    },
    cri: {
      execSync: async (request, options) => {
        asked.commands.push(request);
        asked.kept = options?.keepBytes;
        asked.attempts += 1;
        return (await answer()) as never;
      },
    },
  });
  const verdict = await run(id, typeof target === 'function' ? target : () => target, signal);
  return { ...verdict, ...asked };
}

const output =
  (exitCode: number, stdout: string, stderr = '') =>
  async (): Promise<unknown> => ({
    exitCode,
    stdout: Buffer.from(stdout),
    stderr: Buffer.from(stderr),
  });
const failing = (err: unknown) => async (): Promise<never> => {
  throw err;
};

describe('exec probes', () => {
  test('pass the timeout and the output limit to the runtime, and succeed on exit code 0', async () => {
    expect(await run(exec, output(0, 'fine'))).toEqual({
      result: 'success',
      output: 'fine',
      attempts: 1,
      kept: 10_240,
      commands: [{ containerId: id, cmd: ['cat', '/ok'], timeout: 2 }],
    });
  });
  for (const code of [1, 2, 126, 137, 255]) {
    test(`fail on exit code ${code}, with both outputs`, async () => {
      const verdict = await run(exec, output(code, 'out\n', 'err\n'));
      expect(verdict).toMatchObject({ result: 'failure', output: 'out\nerr\n', attempts: 1 });
    });
  }
  test('keep at most 10 KiB of output', async () => {
    const verdict = await run(exec, output(1, 'x'.repeat(9_000), 'y'.repeat(9_000)));
    expect('output' in verdict ? verdict.output : '').toHaveLength(10_240);
  });
  test('fail on a timeout', async () => {
    const late = new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'x', {
      details: { commandTimedOut: true },
    });
    expect(await run(exec, failing(late))).toMatchObject({
      result: 'failure',
      output: 'command timed out: "cat /ok" timed out after 2s',
      attempts: 1,
    });
  });
  test('error on a timeout if the gate ExecProbeTimeout is off', async () => {
    const late = new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'x', {
      details: { commandTimedOut: true },
    });
    const { signal } = new AbortController();
    expect(await run(exec, failing(late), signal, false)).toMatchObject({
      result: 'errored',
      state: 'unknown',
    });
  });
  test('error if the runtime does not respond', async () => {
    const late = new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'no answer');
    expect(await run(exec, failing(late))).toMatchObject({
      result: 'errored',
      state: 'unknown',
      output: 'rpc error: code = DeadlineExceeded desc = no answer',
      attempts: 3,
    });
  });
  const gone: readonly KubeletError[] = [
    rpc('NOT_FOUND', 'an error occurred when try to find container "c-1": not found', 'not-found'),
    rpc('UNKNOWN', 'failed to exec in container: container is in CONTAINER_EXITED state'),
    rpc('UNKNOWN', 'failed to exec in container: failed to load task: task c-1 not found'),
    rpc('UNKNOWN', 'OCI runtime exec failed: exec failed: cannot exec in a stopped container'),
    rpc('UNKNOWN', 'container not running'),
  ];
  for (const err of gone) {
    test(`have no result if the container has exited: ${err.message}`, async () => {
      expect(await run(exec, failing(err))).toMatchObject({ result: 'gone', attempts: 1 });
    });
  }
  test('error if the command does not exist', async () => {
    const missing = rpc('UNKNOWN', 'exec: "cat": executable file not found in $PATH: unknown');
    expect(await run(exec, failing(missing))).toMatchObject({
      result: 'errored',
      output: `rpc error: code = Unknown desc = ${missing.message}`,
      attempts: 3,
    });
  });
});

describe('network probes', () => {
  test('return the answer', async () => {
    const answer = { result: 'warning', output: 'w' };
    expect(await run(tcp, async () => answer)).toMatchObject({ ...answer, attempts: 1 });
  });
  test('are attempted three times on errors, and the last attempt counts', async () => {
    let count = 0;
    const verdict = await run(tcp, async () => {
      count += 1;
      if (count < 3) throw new Error('broken');
      return { result: 'success', output: '' };
    });
    expect(verdict).toMatchObject({ result: 'success', attempts: 3 });
  });
  test('report a truncated body as a failure, as upstream does', async () => {
    const broken = new KubeletError('unavailable', 'ProbeBodyFailed', 'unexpected EOF');
    expect(await run(tcp, failing(broken))).toMatchObject({ state: 'failure', output: 'unexpected EOF' });
  });
  test('report an invalid probe as errored instead of throwing', async () => {
    const verdict = await run(
      () => {
        throw new KubeletError('invalid', 'InvalidProbe', 'no port');
      },
      output(0, ''),
    );
    expect(verdict).toMatchObject({ result: 'errored', state: 'unknown', output: 'no port' });
  });
  test('have no result when aborted', async () => {
    const stop = new AbortController();
    stop.abort(new Aborted('enough'));
    expect(await run(tcp, failing(stop.signal.reason), stop.signal)).toMatchObject({ result: 'gone' });
  });
});

describe("timeouts while the kubelet's event loop was delayed", () => {
  const failure = { result: 'failure', output: 'i/o timeout', timedOut: true };
  const success = { result: 'success', output: '' };
  const targetWithin = (timeoutMs: number): ProbeTarget => ({
    by: 'tcp',
    request: { host: 'h', port: 1, timeoutMs },
  });
  /** Each attempt takes a second; the event loop is late during the first `lateAttempts`. */
  const attempt =
    (answers: readonly object[], lateAttempts: number, delayMs: number): (() => Promise<object>) =>
    async () => {
      count += 1;
      if (count <= lateAttempts) Object.assign(loop, { lateMs: delayMs, lateAtMs: clock.monotonic() });
      await clock.advance(1_000);
      return answers[count - 1] ?? failure;
    };
  let count = 0;
  beforeEach(() => {
    count = 0;
  });
  test('repeat the attempt at once, and the repeated one counts', async () => {
    expect(await run(targetWithin(1_000), attempt([failure, success], 1, 300))).toMatchObject({
      ...success,
      attempts: 2,
    });
  });
  test('count the failure of the repeated attempt if the loop was not delayed', async () => {
    expect(await run(targetWithin(1_000), attempt([failure, failure], 1, 300))).toMatchObject({
      ...failure,
      attempts: 2,
    });
  });
  test('are repeated at most twice', async () => {
    expect(await run(targetWithin(1_000), attempt([], 9, 900))).toMatchObject({ ...failure, attempts: 3 });
  });
  test('count if the delay is small compared to the timeout', async () => {
    expect(await run(targetWithin(1_000), attempt([], 9, 99))).toMatchObject({ attempts: 1 });
    count = 0;
    expect(await run(targetWithin(10_000), attempt([], 9, 999))).toMatchObject({ attempts: 1 });
  });
  test('are the only results that are repeated', async () => {
    for (const answer of [{ result: 'failure', output: 'connection refused' }, success]) {
      count = 0;
      expect(await run(targetWithin(1_000), attempt([answer], 9, 900))).toMatchObject({ attempts: 1 });
    }
  });
  test('of commands are not repeated, since the runtime measures them', async () => {
    const late = new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'x', {
      details: { commandTimedOut: true },
    });
    Object.assign(loop, { lateMs: 5_000, lateAtMs: clock.monotonic() });
    expect(await run(exec, failing(late))).toMatchObject({ result: 'failure', attempts: 1 });
  });
});
