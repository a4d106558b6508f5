import { describe, expect, test } from 'vitest';
import { ContainerState, ContainerStatus } from '../api/cri/generated/runtime/v1/api.ts';
import { KubeletError } from '../base/errors.ts';
import { fullMessage, logTail, type TailFiles } from './termination-message.ts';

const annotations = {
  'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
  'io.kubernetes.container.terminationMessagePolicy': 'File',
};
const fallback = {
  ...annotations,
  'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
};
const mounts = [{ hostPath: '/host/message', containerPath: '/dev/termination-log' }];
const log = '2026-11-16T10:00:00Z stdout F from the log\n';

function on(disk: Record<string, string>): TailFiles {
  const readTail: TailFiles['readTail'] = async (path, bytes) => {
    const text = disk[path];
    if (text === 'broken') throw new KubeletError('internal', 'FailedRead', 'I/O error');
    if (text === undefined) return undefined;
    const all = new TextEncoder().encode(text);
    return { bytes: all.subarray(Math.max(0, all.length - bytes)), whole: all.length <= bytes };
  };
  return { readTail, readLogTail: (path, _id, bytes) => readTail(path, bytes) };
}

const exited = (over: object): ContainerStatus =>
  ContainerStatus.fromPartial({
    state: ContainerState.CONTAINER_EXITED,
    exitCode: 1,
    annotations,
    mounts,
    logPath: '/log',
    ...over,
  });

describe('fullMessage', () => {
  const cases: readonly (readonly [string, object, Record<string, string>, string])[] = [
    ['the message file', {}, { '/host/message': 'bye' }, 'bye'],
    ["the runtime's message first", { message: 'runtime' }, { '/host/message': 'bye' }, 'runtime: bye'],
    ['an empty message file', { message: 'runtime' }, { '/host/message': '' }, 'runtime'],
    ['a missing message file', {}, {}, ''],
    [
      'the end of a long message file',
      {},
      { '/host/message': `${'a'.repeat(4096)}b` },
      `${'a'.repeat(4095)}b`,
    ],
    ['a message file that is not mounted', { mounts: [] }, { '/host/message': 'bye' }, ''],
    ['nothing is read while the container runs', { state: 1 }, { '/host/message': 'bye' }, ''],
    ['the log is not read without the policy', {}, { '/host/message': '', '/log': log }, ''],
    ['the log if the message file is missing', { annotations: fallback }, { '/log': log }, 'from the log\n'],
    [
      'the message file rather than the log',
      { annotations: fallback },
      { '/host/message': 'x', '/log': log },
      'x',
    ],
    ['no log after exit code 0', { annotations: fallback, exitCode: 0 }, { '/log': log }, ''],
    [
      'no log if the container could not start',
      { annotations: fallback, reason: 'ContainerCannotRun' },
      { '/log': log },
      '',
    ],
    [
      'an unreadable message file',
      {},
      { '/host/message': 'broken' },
      'Error on reading termination log /host/message: I/O error',
    ],
    [
      'an unreadable log',
      { annotations: fallback },
      { '/log': 'broken' },
      'Error on reading termination message from logs: I/O error',
    ],
  ];
  for (const [name, over, disk, want] of cases) {
    test(name, async () => expect(await fullMessage(exited(over), on(disk))).toBe(want));
  }
});

describe('logTail', () => {
  const line = (text: string, tag = 'F'): string => `2026-11-16T10:00:00.1Z stderr ${tag} ${text}\n`;
  const many = Array.from({ length: 100 }, (_, at) => line(String(at))).join('');
  const last80 = Array.from({ length: 80 }, (_, at) => `${at + 20}\n`).join('');
  const cases: readonly (readonly [string, string, boolean, string])[] = [
    ['lines of both streams', `${line('a')}2026Z stdout F b\n`, true, 'a\nb\n'],
    ['partial lines', line('a', 'P') + line('b', 'F'), true, 'ab\n'],
    ['at most 80 lines', many, true, last80],
    ['at most 2048 bytes', line('x'.repeat(3000)), true, `${'x'.repeat(2047)}\n`],
    ['omits a first line that is incomplete', `cut off\n${line('a')}`, false, 'a\n'],
    ['omits a last line that is incomplete', `${line('a')}2026Z stdout F b`, true, 'a\n'],
    ['an empty line', '2026Z stdout F \n', true, '\n'],
    ['JSON lines', '{"log":"a\\n","stream":"stdout"}\n', true, 'a\n'],
    ['an empty log', '', true, ''],
  ];
  for (const [name, raw, whole, want] of cases) test(name, () => expect(logTail(raw, whole)).toBe(want));
});
