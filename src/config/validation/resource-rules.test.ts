import { describe, expect, test } from 'vitest';
import { type Case, disagreement, type Situation, titleOf } from './cases.ts';

const runCases = (cases: readonly Case[]): void => {
  for (const [name, situation, ...expected] of cases) {
    test(titleOf(name, expected), async () => expect(await disagreement(situation, expected)).toBe(''));
  }
};

const enforce = (words: readonly string[], more: Readonly<Record<string, unknown>> = {}): Situation => ({
  set: { enforceNodeAllocatable: words, ...more },
});

describe('enforceNodeAllocatable', () => {
  runCases([
    ['pods', enforce(['pods'])],
    ['nothing', enforce([])],
    ['none', enforce(['none'])],
    ['none without QoS cgroups', enforce(['none'], { cgroupsPerQOS: false })],
    [
      'pods without QoS cgroups',
      enforce(['pods'], { cgroupsPerQOS: false }),
      'cgroupsPerQOS (--cgroups-per-qos): must be true',
    ],
    ['none and pods', enforce(['none', 'pods']), '"none" must be the only entry'],
    ['pods twice', enforce(['pods', 'pods']), 'names an enforcement twice'],
    ['an unknown word', enforce(['pod']), '"pod" is not allowed'],
    ['system-reserved with its cgroup', enforce(['system-reserved'], { systemReservedCgroup: '/s' })],
    ['kube-reserved with its cgroup', enforce(['pods', 'kube-reserved'], { kubeReservedCgroup: '/k' })],
    [
      'system-reserved alone',
      enforce(['system-reserved']),
      'systemReservedCgroup (--system-reserved-cgroup): must be set',
    ],
    ['system-reserved-compressible alone', enforce(['system-reserved-compressible']), 'systemReservedCgroup'],
    [
      'kube-reserved alone',
      enforce(['kube-reserved']),
      'kubeReservedCgroup (--kube-reserved-cgroup): must be set',
    ],
    ['kube-reserved-compressible alone', enforce(['kube-reserved-compressible']), 'kubeReservedCgroup'],
    [
      'both forms of system-reserved',
      enforce(['system-reserved', 'system-reserved-compressible'], { systemReservedCgroup: '/s' }),
      'are mutually exclusive',
    ],
    [
      'both forms of kube-reserved',
      enforce(['kube-reserved', 'kube-reserved-compressible'], { kubeReservedCgroup: '/k' }),
      'are mutually exclusive',
    ],
  ]);
});

describe('reservations', () => {
  const cpus = (list: string, more: Readonly<Record<string, unknown>> = {}): Situation => ({
    set: { reservedSystemCPUs: list, ...more },
  });
  const memory = (...entries: readonly unknown[]): Situation => ({ set: { reservedMemory: entries } });
  runCases([
    ['CPUs 0', cpus('0')],
    ['CPUs 0-3,8', cpus('0-3,8')],
    [
      'CPUs with a cgroup of the system',
      cpus('0', { systemReservedCgroup: '/s' }),
      'cannot be used together',
    ],
    ['CPUs with a cgroup of Kubernetes', cpus('0', { kubeReservedCgroup: '/k' }), 'cannot be used together'],
    ['CPUs in words', cpus('first'), 'reservedSystemCPUs (--reserved-cpus): "first" is not a list'],
    ['CPUs backwards', cpus('3-0'), 'is not a list of CPUs'],
    ['CPUs with a gap', cpus('0,,1'), 'is not a list of CPUs'],
    [
      'resources',
      {
        set: {
          systemReserved: { cpu: '100m', memory: '1Gi', 'ephemeral-storage': '1Gi', pid: '100' },
          kubeReserved: {},
        },
      },
    ],
    [
      'a device',
      { set: { systemReserved: { gpu: '1' } } },
      'systemReserved (--system-reserved): "gpu" cannot be reserved',
    ],
    [
      'no quantity',
      { set: { kubeReserved: { cpu: 'much' } } },
      'kubeReserved (--kube-reserved): the cpu "much"',
    ],
    ['a negative quantity', { set: { kubeReserved: { cpu: '-1' } } }, 'is negative'],
    ['memory for QoS', { set: { qosReserved: { memory: '50%' } } }],
    [
      'CPU for QoS',
      { set: { qosReserved: { cpu: '50%' } } },
      'qosReserved (--qos-reserved): "cpu" cannot be reserved',
    ],
    ['101% for QoS', { set: { qosReserved: { memory: '101%' } } }, 'is not a percentage'],
    ['50 for QoS', { set: { qosReserved: { memory: '50' } } }, 'is not a percentage'],
    [
      'memory of two nodes',
      memory({ numaNode: 0, limits: { memory: '1Gi' } }, { numaNode: 1, limits: { memory: '1Gi' } }),
    ],
    ['memory and huge pages', memory({ numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '4Mi' } })],
    [
      'CPU of a node',
      memory({ numaNode: 0, limits: { cpu: '1' } }),
      'reservedMemory[0] (--reserved-memory): "cpu" of NUMA node 0',
    ],
    [
      'no memory of a node',
      memory({ numaNode: 0, limits: { memory: '0' } }),
      'the memory of NUMA node 0 is zero',
    ],
    [
      'memory of a node twice',
      memory({ numaNode: 0, limits: { memory: '1Gi' } }, { numaNode: 0, limits: { memory: '2Gi' } }),
      'reservedMemory[1] (--reserved-memory): the memory of NUMA node 0 is specified twice',
    ],
  ]);
});

describe('managers', () => {
  const cpu = (options: Readonly<Record<string, string>>, on: readonly string[] = []): Situation => ({
    set: { cpuManagerPolicy: 'static', kubeReserved: { cpu: '1' }, cpuManagerPolicyOptions: options },
    on,
  });
  const topology = (options: Readonly<Record<string, string>>, off: readonly string[] = []): Situation => ({
    set: { topologyManagerPolicyOptions: options },
    off,
  });
  const alpha = ['CPUManagerPolicyAlphaOptions'];
  runCases([
    ['the static policy', cpu({})],
    [
      'the static policy with reserved CPUs',
      { set: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' } },
    ],
    [
      'the static policy without reserved CPU',
      { set: { cpuManagerPolicy: 'static' } },
      'cpuManagerPolicy (--cpu-manager-policy): the static policy needs',
    ],
    ['a stable option', cpu({ 'full-pcpus-only': 'true' })],
    ['a beta option', cpu({ 'distribute-cpus-across-numa': 'true' })],
    ['an alpha option with its gate', cpu({ 'align-by-socket': 'true' }, alpha)],
    [
      'an alpha option without its gate',
      cpu({ 'align-by-socket': 'true' }),
      'needs the feature gate CPUManagerPolicyAlphaOptions',
    ],
    ['an unknown option', cpu({ fast: 'true' }), '"fast" is not an option of the CPU manager'],
    ['an option that is no boolean', cpu({ 'full-pcpus-only': 'yes' }), 'must be true or false'],
    [
      'options that are mutually exclusive',
      cpu({ 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' }, alpha),
      'are mutually exclusive',
    ],
    [
      'one of them switched off',
      cpu({ 'full-pcpus-only': 'false', 'distribute-cpus-across-cores': 'true' }, alpha),
    ],
    [
      'uncore cache and NUMA distribution',
      cpu({ 'prefer-align-cpus-by-uncorecache': 'true', 'distribute-cpus-across-numa': 'true' }),
      'are mutually exclusive',
    ],
    [
      'options of the none policy',
      { set: { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } } },
      'may only be set if cpuManagerPolicy',
    ],
    ['closest NUMA nodes', topology({ 'prefer-closest-numa-nodes': 'true' })],
    ['more NUMA nodes', topology({ 'max-allowable-numa-nodes': '9' })],
    ['too few NUMA nodes', topology({ 'max-allowable-numa-nodes': '7' }), 'at least 8'],
    ['NUMA nodes in words', topology({ 'max-allowable-numa-nodes': 'many' }), 'at least 8'],
    ['an unknown topology option', topology({ x: 'y' }), 'not an option of the topology manager'],
    [
      'a topology option without the gate of beta options',
      topology({ 'max-allowable-numa-nodes': '8' }, ['TopologyManagerPolicyBetaOptions']),
    ],
  ]);
});

describe('eviction', () => {
  const soft = (threshold: string, grace?: string): Situation => ({
    set: {
      evictionSoft: { 'memory.available': threshold },
      evictionSoftGracePeriod: grace === undefined ? {} : { 'memory.available': grace },
    },
  });
  const hard = (signal: string, threshold: string): Situation => ({
    set: { evictionHard: { [signal]: threshold } },
  });
  const reclaim = (amount: string): Situation => ({
    set: { evictionMinimumReclaim: { 'imagefs.available': amount } },
  });
  runCases([
    ['a quantity', hard('memory.available', '100Mi')],
    ['a percentage', hard('nodefs.inodesFree', '5%')],
    ['a fraction of a percentage', hard('pid.available', '2.5%')],
    [
      '0% and 100%, which are off',
      { set: { evictionHard: { 'memory.available': '0%', 'nodefs.available': '100%' } } },
    ],
    [
      'an unknown signal',
      hard('memory.free', '1Gi'),
      'evictionHard (--eviction-hard): "memory.free" is not a signal',
    ],
    ['no quantity', hard('memory.available', 'lots'), 'neither a quantity nor a percentage'],
    ['a quantity of zero', hard('memory.available', '0'), 'is not positive'],
    ['a negative quantity', hard('memory.available', '-1Gi'), 'is not positive'],
    ['a negative percentage', hard('memory.available', '-1%'), 'is not from 0% to 100%'],
    ['101%', hard('memory.available', '101%'), 'is not from 0% to 100%'],
    ['a percentage in words', hard('memory.available', 'x%'), 'is not a percentage'],
    ['a soft threshold with grace', soft('200Mi', '1m30s')],
    [
      'a soft threshold without grace',
      soft('200Mi'),
      'evictionSoftGracePeriod (--eviction-soft-grace-period): the soft threshold',
    ],
    ['a soft threshold that is off', soft('0%')],
    ['a negative grace', soft('200Mi', '-1s'), 'is negative'],
    ['a grace that is no duration', soft('200Mi', 'soon'), 'is not a duration'],
    ['a reclaim', reclaim('2Gi')],
    ['a reclaim of 10%', reclaim('10%')],
    ['a reclaim of 0%', reclaim('0%'), 'is not positive'],
    ['a negative reclaim', reclaim('-1'), 'evictionMinimumReclaim (--eviction-minimum-reclaim): "-1" of'],
    ['thresholds by flag', { argv: ['--eviction-hard=memory.available<1Gi,nodefs.available<5%'] }],
    [
      'an invalid threshold by flag',
      { argv: ['--eviction-hard=memory.available<x'] },
      'evictionHard (--eviction-hard)',
    ],
  ]);
});
