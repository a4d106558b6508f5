// Judges swap: whether the kubelet starts with it, and whether secrets can reach it. Pure.
import type { DoctorSettings, StartupRules, SwapFacts } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export function judgeSwap(
  { devices, kernelRelease }: SwapFacts,
  { failSwapOn, swapBehavior }: Pick<DoctorSettings, 'failSwapOn' | 'swapBehavior'>,
  { canKeepOutOfSwap }: Pick<StartupRules, 'canKeepOutOfSwap'>,
): Finding {
  if (devices.length === 0) {
    return swapBehavior === 'LimitedSwap'
      ? warn(
          'memorySwap.swapBehavior is LimitedSwap, but no swap is on',
          'turn swap on: swapon DEVICE, or remove memorySwap.swapBehavior',
        )
      : ok('off');
  }
  const on = `on: ${devices.join(', ')}`;
  if (failSwapOn)
    return fail(
      `${on}; the kubelet does not start with swap`,
      'turn it off: swapoff -a, and remove it from /etc/fstab; or set failSwapOn: false',
    );
  if (canKeepOutOfSwap(kernelRelease)) return ok(`${on}; pods use it as ${swapBehavior || 'NoSwap'} permits`);
  return warn(
    `${on}; secrets in memory can be written to it, since the tmpfs of kernel ${kernelRelease} lacks the option noswap`,
    'use kernel 6.4 or newer, encrypt the swap, or turn it off',
  );
}
