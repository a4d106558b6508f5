import { expect, test } from 'vitest';
import type { PodKill } from '../api/ports/pod-kill.ts';
import {
  type ContainerEnd,
  describeContainerEnd,
  describeKill,
  describeRejection,
  killKind,
} from './describe-end.ts';

const evicted: PodKill = {
  reason: 'Evicted',
  message: 'The node was low on resource: memory. ',
  evicted: true,
};
const preempted: PodKill = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };
const deadline: PodKill = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
};
const deleted = { why: 'the pod was deleted', sinceMs: 10_000, graceSeconds: 30 };
const end = (over: Partial<ContainerEnd>): ContainerEnd => ({
  name: 'app',
  exitCode: 1,
  reason: 'Error',
  message: '',
  startedAtMs: 5_000,
  finishedAtMs: 20_000,
  ...over,
});

const containerCases: readonly (readonly [string, Partial<ContainerEnd>, string])[] = [
  ['exit 0', { exitCode: 0, reason: 'Completed' }, 'Container app completed (exit code 0).'],
  ['an error', { exitCode: 3 }, 'Container app exited with an error (exit code 3).'],
  [
    'no such command, from a shell',
    { exitCode: 127 },
    'Container app exited with an error (exit code 127, usually a command that was not found).',
  ],
  [
    'not executable, from a shell',
    { exitCode: 126 },
    'Container app exited with an error (exit code 126, usually a command that cannot be executed).',
  ],
  ['a signal', { exitCode: 139 }, 'Container app was terminated by SIGSEGV (exit code 139).'],
  ['a code beyond all signals', { exitCode: 255 }, 'Container app exited with an error (exit code 255).'],
  [
    'out of memory with a limit',
    { exitCode: 137, reason: 'OOMKilled', memoryLimit: '64Mi' },
    'Container app was killed by the kernel because it exceeded its memory limit of 64Mi (exit code 137, SIGKILL).',
  ],
  [
    'out of memory without a limit',
    { exitCode: 137, reason: 'OOMKilled' },
    'Container app was killed by the kernel because its pod or the node ran out of memory (exit code 137, SIGKILL).',
  ],
  [
    'out of memory of a child process',
    { exitCode: 3, reason: 'OOMKilled', memoryLimit: '64Mi' },
    'Container app ended after the kernel killed one of its processes because it exceeded its memory limit of 64Mi (exit code 3).',
  ],
  [
    'out of memory while the pod terminates: memory wins',
    { exitCode: 137, reason: 'OOMKilled', memoryLimit: '1Gi', termination: deleted },
    'Container app was killed by the kernel because it exceeded its memory limit of 1Gi (exit code 137, SIGKILL).',
  ],
  [
    'start error',
    { exitCode: 128, reason: 'StartError', startedAtMs: 0, message: 'exec: "nope": not found' },
    'Container app could not be started: exec: "nope": not found (exit code 128).',
  ],
  [
    'liveness probe',
    { exitCode: 137, killing: 'Container app failed liveness probe, will be restarted' },
    'Container app was stopped by the kubelet because it failed its liveness probe (exit code 137, SIGKILL).',
  ],
  [
    'startup probe',
    { exitCode: 143, killing: 'Container app failed startup probe, will be restarted' },
    'Container app was stopped by the kubelet because it failed its startup probe (exit code 143, SIGTERM).',
  ],
  [
    'changed definition',
    { exitCode: 143, killing: 'Container app definition changed, will be restarted' },
    'Container app was stopped by the kubelet because Container app definition changed, will be restarted (exit code 143, SIGTERM).',
  ],
  [
    'deleted pod',
    { exitCode: 143, termination: deleted },
    'Container app was stopped because the pod was deleted (exit code 143, SIGTERM).',
  ],
  [
    'deleted pod that ignores SIGTERM',
    { exitCode: 137, termination: deleted, finishedAtMs: 40_100 },
    'Container app was stopped because the pod was deleted, and killed after its grace period of 30 s (exit code 137, SIGKILL).',
  ],
  [
    'deleted pod, SIGKILL by someone else within the grace period',
    { exitCode: 137, termination: deleted, finishedAtMs: 20_000 },
    'Container app was stopped because the pod was deleted (exit code 137, SIGKILL).',
  ],
  [
    'evicted pod',
    { exitCode: 143, termination: { ...deleted, kill: evicted } },
    'Container app was stopped because its pod was evicted: The node was low on resource: memory (exit code 143, SIGTERM).',
  ],
  [
    'preempted pod',
    { exitCode: 0, termination: { ...deleted, kill: preempted } },
    'Container app was stopped because its pod was preempted by a critical pod: Preempted in order to admit critical pod (exit code 0).',
  ],
  [
    'sandbox died',
    { exitCode: 137, sandboxDied: true },
    'Container app ended with the sandbox of its pod (exit code 137, SIGKILL).',
  ],
  [
    'completed in a sandbox that was stopped later',
    { exitCode: 0, reason: 'Completed', sandboxDied: true },
    'Container app completed (exit code 0).',
  ],
  [
    'lost in a reboot',
    { exitCode: 255, reason: 'Unknown' },
    'Container app ended while the container runtime was not running, as in a reboot of the node (exit code 255).',
  ],
];

test.each(containerCases)('describes the end of a container: %s', (_name, over, cause) => {
  expect(describeContainerEnd(end(over)).cause).toBe(cause);
});

test('a container killed for lack of memory is of the kind oom, any other of the kind exit', () => {
  expect(describeContainerEnd(end({ reason: 'OOMKilled', exitCode: 137 }))).toMatchObject({
    kind: 'oom',
    signal: 'SIGKILL',
  });
  expect(describeContainerEnd(end({}))).not.toHaveProperty('signal');
});

test.each([
  [evicted, 'evicted', 'The pod was evicted: The node was low on resource: memory.'],
  [
    preempted,
    'preempted',
    'The pod was preempted by a critical pod: Preempted in order to admit critical pod.',
  ],
  [
    deadline,
    'deadline',
    'The pod exceeded its active deadline: Pod was active on the node longer than the specified deadline.',
  ],
  [
    { reason: 'Terminated', message: 'Pod was terminated in response to imminent node shutdown.' },
    'shutdown',
    'The pod was terminated by the shutdown of the node: Pod was terminated in response to imminent node shutdown.',
  ],
  [{ reason: 'Other', message: 'm' }, 'killed', 'The pod was terminated by the kubelet (Other): m.'],
] as const)('describes a kill: %o', (kill, kind, cause) => {
  expect(killKind(kill)).toBe(kind);
  expect(describeKill(kill)).toEqual({ kind, cause });
});

test('describes a rejection', () => {
  expect(describeRejection('OutOfcpu', 'Node didn’t have enough resource: cpu')).toEqual({
    kind: 'rejected',
    cause: 'The kubelet rejected the pod (OutOfcpu): Node didn’t have enough resource: cpu.',
  });
});

test('a cause has at most 1 KiB, whatever a runtime reports', () => {
  const message = '\u{1f4a5}'.repeat(1_000_000);
  const { cause } = describeContainerEnd(end({ startedAtMs: 0, message }));
  expect(Buffer.byteLength(cause)).toBeLessThanOrEqual(1024);
  expect(cause).not.toContain('�');
});
