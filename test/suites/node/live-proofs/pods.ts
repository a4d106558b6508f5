// Proofs of the fields that apply to pods that start later: the pod that runs keeps what it has.
import { expect } from 'vitest';
import type { Container } from '../../../../src/api/k8s/types.ts';
import { Duration } from '../../../../src/config/duration.ts';
import type { KubeletConfiguration } from '../../../../src/config/table/kubelet-configuration.ts';
import { aContainer } from '../../../builders/builders.ts';
import type { FakeContainer } from '../../../fake-cri/state.ts';
import type { FakeNode } from '../../../simulate/fake-node.ts';
import { type Proofs, runPod, startLive } from './rig.ts';

interface NewPodProof {
  readonly before: Partial<KubeletConfiguration>;
  readonly after: Partial<KubeletConfiguration>;
  /** What the runtime was given for a pod. */
  readonly read: (container: FakeContainer, node: FakeNode) => unknown;
  readonly want: readonly [before: unknown, after: unknown];
  readonly resources?: Container['resources'];
  readonly options?: Parameters<typeof startLive>[1];
}

/** The first pod is started before the change, the second after it; then both are read. */
function newPods({ after, before, options, read, resources, want }: NewPodProof): () => Promise<void> {
  return async () => {
    const node = await startLive(before, options);
    const run = async (name: string): Promise<void> => {
      const image = `example.com/${name}:1`;
      const container = aContainer({ name, image, ...(resources && { resources }) });
      await runPod(node, name, { containers: [container] });
    };
    await run('first');
    node.reconfigure(after);
    await run('second');
    await node.clock.advance(120_000);
    expect(['first', 'second'].map((name) => read(node.cri.container(name), node))).toEqual(want);
  };
}

const dns = ({ sandbox }: FakeContainer) => sandbox.config.dnsConfig;
const unified = ({ config }: FakeContainer) => config.linux?.resources?.unified;
const cpu = { limits: { cpu: '500m' } };
const memory = { requests: { memory: '32Mi' }, limits: { memory: '128Mi' } };
const version2 = { machine: { cgroupVersion: 2 as const }, gates: { MemoryQoS: true } };

function pidsLimit({ sandbox }: FakeContainer, { cgroups }: FakeNode): unknown {
  return cgroups.settings(sandbox.config.linux?.cgroupParent ?? '')?.pidsLimit;
}

export const podProofs: Proofs = {
  clusterDNS: newPods({
    before: { clusterDNS: ['10.0.0.1'] },
    after: { clusterDNS: ['10.0.0.2'] },
    read: (container) => dns(container)?.servers,
    want: [['10.0.0.1'], ['10.0.0.2']],
  }),
  clusterDomain: newPods({
    before: { clusterDNS: ['10.0.0.1'], clusterDomain: 'old.example' },
    after: { clusterDomain: 'new.example' },
    read: (container) => dns(container)?.searches.at(-1),
    want: ['old.example', 'new.example'],
  }),
  resolvConf: newPods({
    before: {},
    after: { resolvConf: '' },
    read: (container) => dns(container)?.servers,
    want: [['10.255.255.53'], ['127.0.0.1']],
  }),
  cpuCFSQuota: newPods({
    before: {},
    after: { cpuCFSQuota: false },
    resources: cpu,
    read: ({ config }) => config.linux?.resources?.cpuQuota,
    want: [50_000n, 0n],
  }),
  cpuCFSQuotaPeriod: newPods({
    before: {},
    after: { cpuCFSQuotaPeriod: Duration.ofMs(10) },
    resources: cpu,
    read: ({ config }) => [config.linux?.resources?.cpuQuota, config.linux?.resources?.cpuPeriod],
    want: [
      [50_000n, 100_000n],
      [5_000n, 10_000n],
    ],
  }),
  podPidsLimit: newPods({
    before: { podPidsLimit: 100 },
    after: { podPidsLimit: 200 },
    read: pidsLimit,
    want: [100n, 200n],
  }),
  seccompDefault: newPods({
    before: {},
    after: { seccompDefault: true },
    read: ({ config }) => config.linux?.securityContext?.seccomp?.profileType,
    want: [1, 0],
  }),
  memoryThrottlingFactor: newPods({
    before: { memoryThrottlingFactor: undefined },
    after: { memoryThrottlingFactor: 0.5 },
    resources: memory,
    options: version2,
    read: (container) => unified(container)?.['memory.high'],
    want: [undefined, `${80 * 1024 ** 2}`],
  }),
  singleProcessOOMKill: newPods({
    before: { singleProcessOOMKill: false },
    after: { singleProcessOOMKill: true },
    options: version2,
    read: (container) => unified(container)?.['memory.oom.group'],
    want: ['1', undefined],
  }),
  allowedUnsafeSysctls: async () => {
    const node = await startLive();
    const securityContext = { sysctls: [{ name: 'kernel.msgmax', value: '1' }] };
    await runPod(node, 'first', { securityContext });
    node.reconfigure({ allowedUnsafeSysctls: ['kernel.msg*'] });
    await runPod(node, 'second', { securityContext });
    const phases = ['first', 'second'].map((name) => node.status(`uid-${name}`)?.phase);
    expect(phases).toEqual(['Failed', 'Running']);
  },
};
