// The requirements on a node before it runs pods: no swap unless allowed, the controllers of cgroup v1, and kernel settings
// that contain the failure of a pod. Upstream: NewContainerManager, validateSystemRequirements and setupKernelTunables in
// pkg/kubelet/cm/container_manager_linux.go, pkg/kubelet/util/swap.
import { describeError, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { StartupStep, StepResult } from './startup-step.ts';

export interface RequirementSettings {
  /** c failSwapOn */
  readonly failSwapOn: boolean;
  /** c protectKernelDefaults */
  readonly protectKernelDefaults: boolean;
  /** g KubeletInUserNamespace, in a user namespace: kernel settings that cannot be changed are ignored. */
  readonly ignoreKernelSettings: boolean;
}

export interface RequirementHost {
  /** The content of /proc/swaps; undefined when the kernel has no swap support. */
  swaps(): Promise<string | undefined>;
  /** The mounted controllers of cgroup v1; undefined on cgroup v2 and without cgroups. */
  controllers(): Promise<readonly string[] | undefined>;
  /** By path below /proc/sys. */
  readSysctl(name: string): Promise<string>;
  writeSysctl(name: string, value: string): Promise<void>;
}

export const kernelSettings: Readonly<Record<string, number>> = {
  // Always overcommit: cgroups limit what is really used.
  'vm/overcommit_memory': 1,
  // Out of memory, kill a process instead of panicking.
  'vm/panic_on_oom': 0,
  // Reboot 10 s after a panic, and panic on an oops.
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  // Every container has its own session key.
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

export const requiredControllers = ['cpu', 'cpuacct', 'cpuset', 'memory'];

export function requirementSteps(
  settings: RequirementSettings,
  host: RequirementHost,
  log: Logger,
): readonly StartupStep<never>[] {
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
      // differs from upstream: a setting that the host does not permit to change is a warning.
      onFailure: isProtected ? 'fail' : 'warn',
      run: () => enforceKernelSettings(settings, host, log),
    },
  ];
}

async function checkSwap(
  { failSwapOn }: RequirementSettings,
  host: RequirementHost,
  log: Logger,
): Promise<StepResult<never>> {
  const table = ((await host.swaps()) ?? '').trim();
  // The first line is the table header.
  if (table.split('\n').length < 2) return {};
  log.info('Swap is on', { swaps: table });
  if (!failSwapOn) return {};
  throw new KubeletError(
    'invalid',
    'SwapOn',
    'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
  );
}

async function checkControllers(host: RequirementHost): Promise<StepResult<never>> {
  const mounted = await host.controllers();
  const missing = mounted === undefined ? [] : requiredControllers.filter((each) => !mounted.includes(each));
  if (missing.length === 0) return {};
  throw new KubeletError(
    'unavailable',
    'NoController',
    `system validation failed - Following Cgroup subsystem not mounted: [${missing.join(' ')}]`,
  );
}

async function enforceKernelSettings(
  { ignoreKernelSettings, protectKernelDefaults: isProtected }: RequirementSettings,
  host: RequirementHost,
  log: Logger,
): Promise<StepResult<never>> {
  const failures: string[] = [];
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
      await host.writeSysctl(name, `${expected}`).catch((err: unknown) => {
        if (!ignoreKernelSettings) throw err;
        log.v(2).info('Updating kernel flag failed (running in UserNS, ignoring)', { flag: name, err });
      });
    } catch (err) {
      failures.push(describeError(err));
    }
  }
  if (failures.length === 0) return {};
  const message = failures.length === 1 ? failures.join('') : `[${failures.join(', ')}]`;
  throw new KubeletError('invalid', 'KernelSetting', message);
}
