import { describe, expect, test } from 'vitest';
import type { RuntimeStatusFacts, SocketFacts } from './facts.ts';
import type { Fact } from './finding.ts';
import {
  judgeAnswering,
  judgeNetwork,
  judgeReady,
  judgeSandboxImage,
  judgeSocket,
  judgeVersion,
} from './runtime.ts';

const known = <T>(value: T): Fact<T> => ({ isKnown: true, value });
const late = { isKnown: false, why: 'the check did not finish within 5000 ms' } as const;
const settings = { runtimeEndpoint: 'unix:///run/r.sock' };

describe('judgeSocket', () => {
  const cases: readonly (readonly [SocketFacts['state'], string, string])[] = [
    ['open', 'ok', 'unix:///run/r.sock'],
    ['missing', 'fail', 'does not exist'],
    ['refused', 'fail', 'refuses connections'],
    ['no-socket', 'fail', 'is not a socket'],
    ['forbidden', 'warn', 'may not be opened'],
  ];
  for (const [state, status, words] of cases)
    test(`${state} → ${status}`, () => {
      const finding = judgeSocket(known({ state }), settings);
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('an endpoint that is no socket path → fail', () =>
    expect(judgeSocket({ isKnown: false, why: 'only unix sockets' }, settings)).toMatchObject({
      status: 'fail',
      finding: 'unix:///run/r.sock: only unix sockets',
    }));
});

test('judgeVersion', () => {
  const open = known({ state: 'open' } as const);
  expect(judgeVersion(known({ name: 'containerd', version: '2.1.4' }), open)).toEqual({
    status: 'ok',
    finding: 'containerd 2.1.4',
  });
  expect(judgeVersion(late, known({ state: 'forbidden' }))).toMatchObject({
    status: 'warn',
    fix: 'run as root',
  });
  expect(judgeVersion(late, open)).toMatchObject({
    status: 'fail',
    finding: 'the runtime does not answer: the check did not finish within 5000 ms',
  });
});

test('a runtime that does not answer is one failure', () => {
  expect(judgeAnswering(late, () => judgeReady(late)).status).toBe('warn');
  expect(judgeAnswering(known({ name: 'r', version: '1' }), () => judgeReady(late)).status).toBe('fail');
});

function status(
  ready: boolean,
  network: boolean,
  over: Partial<RuntimeStatusFacts> = {},
): Fact<RuntimeStatusFacts> {
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue,
    reason: isTrue ? '' : 'NotYet',
    message: isTrue ? '' : 'cni plugin not initialized',
  });
  return known({
    conditions: [condition('RuntimeReady', ready), condition('NetworkReady', network)],
    sandboxImage: undefined,
    cgroupDriver: undefined,
    cniConfDir: undefined,
    cniBinDir: undefined,
    ...over,
  });
}

describe('conditions', () => {
  test('both true', () => {
    expect(judgeReady(status(true, true)).status).toBe('ok');
    expect(judgeNetwork(status(true, true), true).status).toBe('ok');
  });
  test('RuntimeReady false, or not reported', () => {
    expect(judgeReady(status(false, true))).toMatchObject({
      status: 'fail',
      finding: 'RuntimeReady is false: NotYet cni plugin not initialized',
    });
    expect(judgeReady(status(true, true, { conditions: [] })).finding).toContain('NotReported');
    expect(judgeReady(late).status).toBe('fail');
  });
  test('NetworkReady false: a failure without a cluster that could install the plugin', () => {
    expect(judgeNetwork(status(true, false), true).status).toBe('fail');
    expect(judgeNetwork(status(true, false), false).status).toBe('warn');
    expect(judgeNetwork(late, true).status).toBe('warn');
  });
  test('names the directories that the runtime uses', () => {
    const dirs = { cniConfDir: '/etc/conf', cniBinDir: '/usr/lib/cni' };
    expect(judgeNetwork(status(true, false, dirs), true).fix).toBe(
      'install a network plugin: its configuration in /etc/conf, its programs in /usr/lib/cni',
    );
  });
});

describe('judgeSandboxImage', () => {
  const image = { sandboxImage: 'registry.k8s.io/pause:3.10' };
  const cases = [
    ['not named by the runtime', status(true, true), known(undefined), 'ok'],
    ['empty', status(true, true, { sandboxImage: '' }), known(undefined), 'fail'],
    ['there', status(true, true, image), known(true), 'ok'],
    ['not there', status(true, true, image), known(false), 'warn'],
    ['the image service does not answer', status(true, true, image), late, 'warn'],
    ['the runtime does not answer', late, late, 'warn'],
  ] as const;
  for (const [name, facts, hasImage, expected] of cases)
    test(`${name} → ${expected}`, () => expect(judgeSandboxImage(facts, hasImage).status).toBe(expected));
  test('the fix pulls it', () =>
    expect(judgeSandboxImage(status(true, true, image), known(false)).fix).toBe(
      'crictl pull registry.k8s.io/pause:3.10',
    ));
});
