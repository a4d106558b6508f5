import { expect, test } from 'vitest';
import { judgeSwap } from './swap.ts';

const rules = { canKeepOutOfSwap: (release: string): boolean => release.startsWith('6.8') };

const cases = [
  ['no swap', [], '6.1.0', true, '', 'ok'],
  ['no swap, but wanted for pods', [], '6.8.0', false, 'LimitedSwap', 'warn'],
  ['swap, not permitted', ['/dev/sda2'], '6.8.0', true, '', 'fail'],
  ['swap, permitted, noswap available', ['/dev/sda2'], '6.8.1', false, '', 'ok'],
  ['swap, permitted for pods', ['/dev/sda2'], '6.8.0', false, 'LimitedSwap', 'ok'],
  ['swap, permitted, no noswap', ['/swap'], '6.1.0-31-amd64', false, '', 'warn'],
] as const;
for (const [name, devices, kernelRelease, failSwapOn, swapBehavior, status] of cases)
  test(`${name} → ${status}`, () =>
    expect(judgeSwap({ devices, kernelRelease }, { failSwapOn, swapBehavior }, rules).status).toBe(status));

test('names the devices and the way out', () => {
  const facts = { devices: ['/dev/sda2', '/swap'], kernelRelease: '6.8.0' };
  expect(judgeSwap(facts, { failSwapOn: true, swapBehavior: '' }, rules)).toEqual({
    status: 'fail',
    finding: 'on: /dev/sda2, /swap; the kubelet does not start with swap',
    fix: 'turn it off: swapoff -a, and remove it from /etc/fstab; or set failSwapOn: false',
  });
});
