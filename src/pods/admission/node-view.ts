// The Node that admission checks a pod against: the API object with this process's allocatable, or a substitute without an
// API server. The features are those that the runtime reports now.
// Upstream: getNodeAnyWay and initialNode in pkg/kubelet, NodeFeatures in pkg/kubelet/nodestatus.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Node, NodeFeatures, Pod } from '../../api/k8s/types.ts';
import { formatAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

interface NodeViewDeps {
  readonly ownNode: { get(): Node | undefined };
  /** Gets the Node from the API server; undefined on a standalone node. */
  readonly fetch: ((signal: AbortSignal) => Promise<Node>) | undefined;
  readonly runtime: Pick<CriRuntime, 'status'>;
  readonly budget: { allocatable(): ResourceAmounts; maxPods(): number };
  readonly nodeName: string;
  /** Go's name of the architecture: amd64. */
  readonly architecture: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value: string; readonly effect: string }[];
}

/** The runtime is queried for these pods alone: all others are admitted while it is unreachable. */
function needsFeatures(pod: Pod): boolean {
  return pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict';
}

export class NodeView {
  readonly #deps: NodeViewDeps;

  constructor(deps: NodeViewDeps) {
    this.#deps = deps;
  }

  /** What the runtime reports now, if the pod needs it. Rejects if the runtime does not answer. */
  // differs from upstream, which checks the features that the node last reported: a replaced runtime counts at once.
  async features(pod: Pod, signal: AbortSignal): Promise<NodeFeatures | undefined> {
    if (!needsFeatures(pod)) return undefined;
    const { features } = await this.#deps.runtime.status({ verbose: false }, { signal });
    return { supplementalGroupsPolicy: features?.supplementalGroupsPolicy ?? false };
  }

  /** The API object's values may come from an earlier process or runtime, so the present ones take precedence. */
  current(features: NodeFeatures | undefined): Node {
    return this.#view(this.#deps.ownNode.get(), features);
  }

  /** As the API server has it now; undefined on a standalone node. */
  async live(features: NodeFeatures | undefined, signal: AbortSignal): Promise<Node | undefined> {
    const node = await this.#deps.fetch?.(signal);
    return node && this.#view(node, features);
  }

  #view(apiNode: Node | undefined, features: NodeFeatures | undefined): Node {
    const { budget, nodeName, taints } = this.#deps;
    const allocatable = {
      ...apiNode?.status?.allocatable,
      ...formatAmounts(budget.allocatable()),
      pods: String(budget.maxPods()),
    };
    const status = { allocatable, ...(features && { features }) };
    if (apiNode !== undefined) return { ...apiNode, status: { ...apiNode.status, ...status } };
    return {
      metadata: { name: nodeName, labels: this.#labels() },
      spec: { taints: taints.map(({ key, value, effect }) => ({ key, value, effect })) },
      status,
    };
  }

  #labels(): Record<string, string> {
    const { architecture, labels, nodeName } = this.#deps;
    return {
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': architecture,
      ...labels,
    };
  }
}
