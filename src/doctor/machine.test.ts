// The judges of privileges, programs, identity and settings.
import { describe, expect, test } from 'vitest';
import { KubeletError } from '../base/errors.ts';
import type { ClusterFacts } from './facts.ts';
import { judgeMachineId, judgeNodeIp, judgeNodeName } from './identity.ts';
import { judgePrivileges, judgePrograms } from './privileges.ts';
import { judgeAuthentication, judgeEffects, judgeSettings } from './settings.ts';

const identity = {
  hostname: 'n1',
  addresses: ['10.0.0.1'],
  machineId: '3d1219c7c4c5404aaa1f6d2a48adfda4',
  productUuid: '4c4c4544-0042-3010-8052-b4c04f4d4b32',
};

describe('judgePrivileges', () => {
  const cases = [
    [0, [], 'ok'],
    [1000, ['CAP_SYS_ADMIN'], 'warn'],
    [0, ['CAP_SYS_ADMIN'], 'fail'],
    [0, ['CAP_SYS_RESOURCE'], 'warn'],
  ] as const;
  for (const [uid, missing, status] of cases)
    test(`user ${uid} without ${missing.join() || 'nothing'} → ${status}`, () =>
      expect(judgePrivileges({ uid, missing }).status).toBe(status));
});

test('judgePrograms names what is missing, why, and the package', () => {
  const needed = [
    { program: 'mount', why: 'volumes', package: 'mount' },
    { program: 'iptables', why: 'chains', package: 'iptables' },
  ];
  expect(judgePrograms(needed, ['mount', 'iptables']).status).toBe('ok');
  expect(judgePrograms(needed, ['mount'])).toEqual({
    status: 'warn',
    finding: 'iptables is missing, needed for chains',
    fix: 'install them, on Debian: apt-get install iptables',
  });
});

describe('judgeNodeName', () => {
  const cases = [
    ['node-1.example.com', 'ok', 'node-1.example.com'],
    ['node_1', 'fail', 'not a valid node name'],
    ['', 'fail', 'the host name is empty'],
  ] as const;
  const nodeName = (hostname: string): string => {
    if (hostname === '') throw new KubeletError('invalid', 'EmptyNodeName', 'the host name is empty');
    return hostname;
  };
  for (const [hostname, status, words] of cases)
    test(`"${hostname}" → ${status}`, () => {
      const finding = judgeNodeName({ ...identity, hostname }, { nodeName });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
});

test('judgeNodeIp', () => {
  const rules = { nodeIpProblems: (): readonly string[] => ['10.0.0.2 is not assigned'] };
  const malformed = {
    nodeIpProblems: (): readonly string[] => {
      throw new KubeletError('invalid', 'InvalidNodeIP', 'invalid --node-ip');
    },
  };
  expect(judgeNodeIp(identity, { nodeIp: '' }, rules).status).toBe('ok');
  expect(judgeNodeIp(identity, { nodeIp: '10.0.0.1' }, { nodeIpProblems: () => [] }).status).toBe('ok');
  expect(judgeNodeIp(identity, { nodeIp: '10.0.0.2' }, rules)).toMatchObject({
    status: 'fail',
    finding: '10.0.0.2 is not assigned',
  });
  expect(judgeNodeIp(identity, { nodeIp: 'x' }, malformed).status).toBe('fail');
});

describe('judgeMachineId', () => {
  const cases = [
    [{}, 'ok'],
    [{ machineId: '' }, 'warn'],
    [{ machineId: 'uninitialized' }, 'warn'],
    [{ machineId: '0'.repeat(32) }, 'warn'],
    [{ productUuid: '03000200-0400-0500-0006-000700080009' }, 'warn'],
    [{ productUuid: 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF' }, 'warn'],
    [{ productUuid: '' }, 'ok'],
  ] as const;
  for (const [over, status] of cases)
    test(`${JSON.stringify(over)} → ${status}`, () =>
      expect(judgeMachineId({ ...identity, ...over }).status).toBe(status));
});

describe('judgeAuthentication', () => {
  const fault = 'no client provided, cannot use webhook authentication';
  const rules = { admissionFault: (hasApi: boolean) => (hasApi ? undefined : fault) };
  const cluster = (source: ClusterFacts['source']) =>
    ({ isKnown: true, value: { source } as ClusterFacts }) as const;
  test('webhooks without an API server → fail', () =>
    expect(judgeAuthentication(cluster('standalone'), rules)).toMatchObject({
      status: 'fail',
      finding: `${fault}; the kubelet does not start`,
      fix: expect.stringContaining('authorization.mode: AlwaysAllow') as string,
    }));
  test('with one → ok', () => {
    expect(judgeAuthentication(cluster('kubeconfig'), rules).status).toBe('ok');
    expect(judgeAuthentication(cluster('bootstrap'), rules).status).toBe('ok');
  });
  test('an unusable kubeconfig → warn', () =>
    expect(judgeAuthentication({ isKnown: false, why: 'no' }, rules).status).toBe('warn'));
});

test('judgeSettings and judgeEffects', () => {
  expect(judgeSettings({ settingProblems: [] }).status).toBe('ok');
  expect(judgeSettings({ settingProblems: ['a', 'b'] })).toMatchObject({ status: 'fail', finding: 'a; b' });
  expect(judgeEffects({ settingWarnings: [] }).status).toBe('ok');
  const many = Array.from({ length: 10 }, (_, at) => `w${at}`);
  expect(judgeEffects({ settingWarnings: many })).toMatchObject({
    status: 'warn',
    finding: 'w0; w1; w2; w3; w4; w5; w6; w7; and 2 more',
  });
});
