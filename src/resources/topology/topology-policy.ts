// The topology policy with its options, and whether the machine suits it. Pure. The configuration's validation has already
// rejected unknown policies, scopes, options and values. Upstream: NewManager, policy_options.go and numa_info.go of
// pkg/kubelet/cm/topologymanager.
import { KubeletError } from '../../base/errors.ts';
import { mostNumaNodes, type NumaNodes } from './numa-nodes.ts';

export interface TopologyPolicy {
  readonly name: 'none' | 'best-effort' | 'restricted' | 'single-numa-node';
  /** Of sets with equally many NUMA nodes, the one with the shorter distances is used. */
  readonly preferClosest: boolean;
}

interface TopologySettings {
  readonly topologyManagerPolicy: TopologyPolicy['name'];
  readonly topologyManagerPolicyOptions: Readonly<Record<string, string>>;
}

const defaultMaxNodes = 8;
const trueWords: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Whether a manager needs to know the NUMA nodes, cores and caches of the machine. */
export function needsTopology(config: {
  readonly cpuManagerPolicy: string;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
}): boolean {
  const { cpuManagerPolicy, memoryManagerPolicy, topologyManagerPolicy } = config;
  return cpuManagerPolicy !== 'none' || memoryManagerPolicy !== 'None' || topologyManagerPolicy !== 'none';
}

/** Throws if the machine has too many NUMA nodes for the policy, or lacks the distances that it needs. */
export function computeTopologyPolicy(
  { topologyManagerPolicy: name, topologyManagerPolicyOptions: options }: TopologySettings,
  numa: Pick<NumaNodes, 'ids' | 'distances'>,
): TopologyPolicy {
  // The policy "none" ignores its options, as upstream.
  if (name === 'none') return { name, preferClosest: false };
  const preferClosest = trueWords.has(options['prefer-closest-numa-nodes'] ?? '');
  const unknown = numa.ids.find((_, at) => (numa.distances[at]?.length ?? 0) < numa.ids.length);
  // differs from upstream: the error names the node.
  if (preferClosest && unknown !== undefined)
    throw unsuited(`cannot discover NUMA topology: the distances of NUMA node ${unknown} are unknown`);
  const maxNodes = Number(options['max-allowable-numa-nodes'] ?? defaultMaxNodes);
  if (numa.ids.length > maxNodes)
    throw unsuited(`unsupported on machines with more than ${maxNodes} NUMA Nodes`);
  // differs from upstream: a larger max-allowable-numa-nodes does not lift this limit. Upstream would enumerate all sets of
  // nodes for minutes at the admission of each pod.
  if (numa.ids.length > mostNumaNodes)
    throw unsuited(
      `unsupported on machines with more than ${mostNumaNodes} NUMA Nodes, whatever max-allowable-numa-nodes is; this machine has ${numa.ids.length}: set topologyManagerPolicy to "none"`,
    );
  return { name, preferClosest };
}

function unsuited(message: string): KubeletError {
  return new KubeletError('invalid', 'TopologyPolicyNotSupported', message);
}
