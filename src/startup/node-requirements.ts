// What a node must be before pods may run on it: no swap unless that is allowed, the controllers of cgroup v1, and settings
// of the kernel that keep one pod's trouble from being everybody's. Upstream: NewContainerManager, validateSystemRequirements
// and setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go, pkg/kubelet/util/swap.
import { describeError, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { StartupStep, StepResult } from './startup-step.ts';

export interface RequirementSettings {
  /** c failSwapOn */
  readonly failSwapOn: boolean;
  /** c protectKernelDefaults */
  readonly protectKernelDefaults: boolean;
}

export interface RequirementHost {
  /** The table of swaps; undefined where the kernel has none. */
  swaps(): Promise<string | undefined>;
  /** Controllers of version 1 that are mounted; undefined on version 2, and where there are no cgroups at all. */
  controllers(): Promise<readonly string[] | undefined>;
  /** By path below /proc/sys. */
  readSysctl(name: string): Promise<string>;
  writeSysctl(name: string, value: string): Promise<void>;
}

export const kernelSettings: Readonly<Record<string, number>> = {
  // Memory is promised as it is asked for: what is really used is limited by cgroups.
  'vm/overcommit_memory': 1,
  // Out of memory a process is killed, not the machine.
  'vm/panic_on_oom': 0,
  // A kernel that is broken boots again instead of standing still.
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  // Every container has a key of its own.
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

const neededControllers = ['cpu', 'cpuacct', 'cpuset', 'memory'];

export function requirementSteps(
  settings: RequirementSettings,
  host: RequirementHost,
  log: Logger,
): readonly StartupStep[] {
  const isProtected = settings.protectKernelDefaults;
  return [
    {
      name: 'swap',
      setting: 'failSwapOn (--fail-swap-on)',
      onFailure: 'fail',
      run: () => checkSwap(settings, host, log),
    },
    { name: 'cgroup controllers', onFailure: 'fail', run: () => checkControllers(host) },
    {
      name: 'kernel settings',
      setting: 'protectKernelDefaults (--protect-kernel-defaults)',
      // differs from upstream: what cannot be set, since the host does not permit it, is a warning.
      onFailure: isProtected ? 'fail' : 'warn',
      run: () => keepKernelSettings(isProtected, host, log),
    },
  ];
}

async function checkSwap(
  { failSwapOn }: RequirementSettings,
  host: RequirementHost,
  log: Logger,
): Promise<StepResult> {
  const table = ((await host.swaps()) ?? '').trim();
  // The first line is the head of the table.
  if (table.split('\n').length < 2) return {};
  log.info('Swap is on', { swaps: table });
  if (!failSwapOn) return {};
  throw new KubeletError(
    'invalid',
    'SwapOn',
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
  );
}

async function checkControllers(host: RequirementHost): Promise<StepResult> {
  const mounted = await host.controllers();
  const missing = mounted === undefined ? [] : neededControllers.filter((each) => !mounted.includes(each));
  if (missing.length === 0) return {};
  throw new KubeletError(
    'unavailable',
    'NoController',
    `system validation failed - Following Cgroup subsystem not mounted: [${missing.join(' ')}]`,
  );
}

async function keepKernelSettings(
  isProtected: boolean,
  host: RequirementHost,
  log: Logger,
): Promise<StepResult> {
  const faults: string[] = [];
  for (const [name, expected] of Object.entries(kernelSettings)) {
    try {
      const actual = Number((await host.readSysctl(name)).trim());
      if (actual === expected) continue;
      if (isProtected)
        throw new KubeletError(
          'invalid',
          'KernelSetting',
          `invalid kernel flag: ${name}, expected value: ${expected}, actual value: ${actual}`,
        );
      log.v(2).info('Updating kernel flag', { flag: name, expectedValue: expected, actualValue: actual });
      await host.writeSysctl(name, `${expected}`);
    } catch (err) {
      faults.push(describeError(err));
    }
  }
  if (faults.length === 0) return {};
  const message = faults.length === 1 ? faults.join('') : `[${faults.join(', ')}]`;
  throw new KubeletError('invalid', 'KernelSetting', message);
}
