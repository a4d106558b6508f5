// The CRI contract of StopContainer: exit codes and durations.
import { expect } from 'vitest';
import { ContainerState } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { Aborted } from '../../../src/base/errors.ts';
import { failureOf } from '../failure-of.ts';
import { type DefineCase } from './contract-kit.ts';

const stubborn = ['sh', '-c', 'trap "" TERM; while true; do sleep 0.1; done'];

export function stopCases(define: DefineCase): void {
  const endings = [
    // As init of its PID namespace, a process without a handler ignores SIGTERM.
    [
      'an init without a handler is killed after the timeout',
      { command: ['sleep', '1000'] },
      137,
      'Error',
      1000,
    ],
    [
      'a trap that exits with 0',
      { command: ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'] },
      0,
      'Completed',
      0,
    ],
    [
      'a trap that exits with a code after 300 ms',
      { command: ['sh', '-c', 'trap "sleep 0.3; exit 7" TERM; while true; do sleep 0.1; done'] },
      7,
      'Error',
      300,
    ],
    [
      'a trap that interrupts wait',
      { command: ['sh', '-c', 'trap "exit 4" TERM; sleep 1000 & wait'] },
      4,
      'Error',
      0,
    ],
    [
      "in the pod's PID namespace SIGTERM is enough",
      { command: ['sleep', '1000'], podPid: true },
      143,
      'Error',
      0,
    ],
    [
      'a process that ignores SIGTERM is killed after the timeout',
      { command: stubborn, podPid: true },
      137,
      'Error',
      1000,
    ],
  ] as const;
  for (const [name, options, exitCode, reason, atLeastMs] of endings) {
    define(`StopContainer with a timeout of 1 s: ${name}`, async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const containerId = await pod.start('c', options);
      const { tookMs } = await kit.timeCall(runtime.stopContainer({ containerId, timeout: 1 }));
      expect(await pod.exited(kit, containerId)).toMatchObject({ exitCode, reason, message: '' });
      expect(tookMs).toBeGreaterThanOrEqual(atLeastMs - 100);
      if (atLeastMs < 1000) expect(tookMs).toBeLessThan(1000);
    });
  }

  define('StopContainer with a timeout of 0 kills at once', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c', {
      command: ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.1; done'],
    });
    await kit.timeCall(runtime.stopContainer({ containerId, timeout: 0 }));
    expect(await pod.exited(kit, containerId)).toMatchObject({ exitCode: 137, reason: 'Error' });
  });

  define(
    'of two concurrent stops the shorter timeout wins, and both calls return',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const containerId = await pod.start('c', { command: stubborn });
      const long = runtime.stopContainer({ containerId, timeout: 20 });
      const short = runtime.stopContainer({ containerId, timeout: 1 });
      const { tookMs } = await kit.timeCall(Promise.all([long, short]));
      expect(tookMs).toBeLessThan(10_000);
      expect(await pod.exited(kit, containerId)).toMatchObject({ exitCode: 137 });
    },
  );

  define('an aborted stop leaves the container running', async (subject, kit) => {
    const { runtime } = subject;
    const pod = await kit.runPod();
    const containerId = await pod.start('c', { command: stubborn });
    const abort = new AbortController();
    const reason = new Aborted('caller aborted');
    const stop = runtime.stopContainer({ containerId, timeout: 1 }, { signal: abort.signal });
    const outcome = stop.then(
      () => 'answered',
      (err: unknown) => err,
    );
    await subject.advance(300);
    abort.abort(reason);
    expect(await outcome).toBe(reason);
    await subject.advance(1500);
    expect((await pod.status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
  });

  define('a stop that exceeds its deadline fails with a timeout', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const containerId = await pod.start('c', { command: stubborn });
    const late = failureOf(runtime.stopContainer({ containerId, timeout: 60 }, { timeoutMs: 300 }));
    const { value } = await kit.timeCall(late);
    expect([value.kind, value.reason, value.details['method']]).toEqual([
      'timeout',
      'DEADLINE_EXCEEDED',
      'StopContainer',
    ]);
    expect((await pod.status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
  });

  define('StopContainer leaves a container that is not running unchanged', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const created = await pod.create('created');
    await runtime.stopContainer({ containerId: created, timeout: 1 });
    expect((await pod.status(created)).state).toBe(ContainerState.CONTAINER_CREATED);
    const exited = await pod.start('exited', { command: ['sh', '-c', 'exit 3'] });
    const before = await pod.exited(kit, exited);
    await runtime.stopContainer({ containerId: exited, timeout: 1 });
    expect(await pod.status(exited)).toEqual(before);
  });
}
