import { expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import type { PodObjects } from '../../api/ports/pod-objects.ts';
import { KubeletError } from '../../base/errors.ts';
import { prepareSandbox } from './prepare-sandbox.ts';
import type { PodConfigSettings } from './sandbox-config.ts';

const { signal } = new AbortController();
const settings: PodConfigSettings = {
  podLogsDir: '/logs',
  rootDir: '/r',
  containerLogsDir: '/links',
  dns: { clusterDns: [], clusterDomain: '' },
  resources: {
    cpuCfsQuota: true,
    cpuCfsQuotaPeriodUs: 1,
    memoryCapacityBytes: 1n,
    hugePageSizes: [],
    cgroupVersion: 1,
    swap: { behavior: 'NoSwap', controller: true, capacityBytes: 0n },
    allocatableBytes: () => 0n,
  },
  seccomp: { profileRoot: '/s', defaultToRuntime: false },
  hostIps: () => [],
  allocatable: () => ({}),
  selinux: false,
  gates: { ContainerStopSignals: false, EnvFiles: false, HostnameOverride: false },
  cgroupParent: () => '/p',
};
const depsWith = (runtimeClass: PodObjects['runtimeClass']) => ({
  node: { settings },
  inputs: {
    volumes: { extraGroups: () => [] },
    objects: { runtimeClass } as PodObjects,
    userNamespaces: {
      of: async (_pod: unknown, handler: string) => ({ mode: handler === 'kata-fc' ? 0 : 2 }) as const,
      release: () => undefined,
    },
  },
});
const never = (): never => {
  throw new Error('must not be called');
};

test('uses the default handler without a RuntimeClass, and looks up nothing', async () => {
  const plan = await prepareSandbox(depsWith(never), aPod({ runtimeClassName: '' }), 3, undefined, signal);
  expect([plan.runtimeHandler, plan.config.metadata?.attempt]).toEqual(['', 3]);
});

test("uses the RuntimeClass's handler for the sandbox and the user namespace", async () => {
  const deps = depsWith(async () => ({ handler: 'kata-fc' }));
  const plan = await prepareSandbox(deps, aPod({ runtimeClassName: 'kata' }), 0, undefined, signal);
  expect(plan.runtimeHandler).toBe('kata-fc');
  expect(plan.config.linux?.securityContext?.namespaceOptions?.usernsOptions).toEqual({ mode: 0 });
});

test('names the RuntimeClass that is missing or cannot be read', async () => {
  const failing = async (kind: 'not-found' | 'unavailable', message: string): Promise<unknown> => {
    const deps = depsWith(async () => {
      throw new KubeletError(kind, 'X', message);
    });
    return await prepareSandbox(deps, aPod({ runtimeClassName: 'kata' }), 0, undefined, signal);
  };
  await expect(failing('not-found', 'runtimeclass "kata" not found')).rejects.toThrow(
    /^runtimeclass "kata" not found$/,
  );
  await expect(failing('unavailable', 'no API server')).rejects.toThrow(
    'failed to lookup RuntimeClass kata: no API server',
  );
});
