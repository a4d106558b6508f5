import { describe, expect, test } from 'vitest';
import type { KernelFacts } from './facts.ts';
import { judgeBridge, judgeForwarding, judgeKernelSettings, judgeOverlay } from './kernel.ts';

const facts: KernelFacts = { sysctls: {}, canWrite: true, fileSystems: [], loadable: [] };
const wanted = { 'vm/overcommit_memory': 1, 'kernel/panic': 10 };
const right = { 'vm/overcommit_memory': '1', 'kernel/panic': '10' };
const wrong = { 'vm/overcommit_memory': '0', 'kernel/panic': '10' };

describe('judgeKernelSettings', () => {
  const cases = [
    ['right', right, true, true, 'ok', 'as the kubelet wants them'],
    ['wrong: the kubelet sets it', wrong, true, false, 'ok', 'sets them when it starts'],
    ['wrong and protected', wrong, true, true, 'fail', 'vm.overcommit_memory is 0, wanted 1'],
    ['wrong and not writable', wrong, false, false, 'warn', 'cannot set them'],
    ['missing', {}, true, false, 'warn', 'kernel.panic is missing'],
    ['missing and protected', {}, true, true, 'fail', 'kernel.panic is missing, wanted 10'],
  ] as const;
  for (const [name, sysctls, canWrite, protectKernelDefaults, status, words] of cases)
    test(`${name} → ${status}`, () => {
      const finding = judgeKernelSettings({ ...facts, sysctls, canWrite }, wanted, { protectKernelDefaults });
      expect(finding.status).toBe(status);
      expect(finding.finding).toContain(words);
    });
  test('the fix sets only what is wrong', () =>
    expect(
      judgeKernelSettings({ ...facts, sysctls: wrong, canWrite: false }, wanted, {
        protectKernelDefaults: false,
      }).fix,
    ).toBe('sysctl -w vm.overcommit_memory=1, and the same in /etc/sysctl.d'));
});

test('judgeForwarding', () => {
  expect(judgeForwarding({ ...facts, sysctls: { 'net/ipv4/ip_forward': '1' } }).status).toBe('ok');
  expect(judgeForwarding({ ...facts, sysctls: { 'net/ipv4/ip_forward': '0' } }).status).toBe('warn');
  expect(judgeForwarding(facts).status).toBe('warn');
});

test('judgeBridge', () => {
  const name = 'net/bridge/bridge-nf-call-iptables';
  expect(judgeBridge({ ...facts, sysctls: { [name]: '1' } }).status).toBe('ok');
  expect(judgeBridge({ ...facts, sysctls: { [name]: '0' } }).finding).toContain('is not 1');
  expect(judgeBridge(facts).finding).toContain('br_netfilter is not loaded');
});

test('judgeOverlay', () => {
  expect(judgeOverlay({ ...facts, fileSystems: ['ext4', 'overlay'] }).status).toBe('ok');
  expect(judgeOverlay({ ...facts, loadable: ['overlay'] }).status).toBe('ok');
  expect(judgeOverlay(facts)).toMatchObject({
    status: 'warn',
    fix: expect.stringContaining('modprobe overlay') as string,
  });
});
