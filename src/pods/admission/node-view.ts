// The Node that admission checks against: the API object with this process's allocatable, or a substitute without an API
// server.
// Upstream: getNodeAnyWay and initialNode in pkg/kubelet.
import type { Node } from '../../api/k8s/types.ts';
import { formatAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

interface NodeViewDeps {
  readonly ownNode: { get(): Node | undefined };
  /** Gets the Node from the API server; undefined on a standalone node. */
  readonly fetch: ((signal: AbortSignal) => Promise<Node>) | undefined;
  readonly budget: { allocatable(): ResourceAmounts; maxPods(): number };
  readonly nodeName: string;
  /** Go's name of the architecture: amd64. */
  readonly architecture: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value: string; readonly effect: string }[];
}

export class NodeView {
  readonly #deps: NodeViewDeps;

  constructor(deps: NodeViewDeps) {
    this.#deps = deps;
  }

  /** The API object's allocatable may come from an earlier process, so this process's value takes precedence. */
  current(): Node {
    return this.#view(this.#deps.ownNode.get());
  }

  /** As the API server has it now; undefined on a standalone node. */
  async live(signal: AbortSignal): Promise<Node | undefined> {
    const node = await this.#deps.fetch?.(signal);
    return node && this.#view(node);
  }

  #view(apiNode: Node | undefined): Node {
    const { budget, nodeName, taints } = this.#deps;
    const allocatable = {
      ...apiNode?.status?.allocatable,
      ...formatAmounts(budget.allocatable()),
      pods: String(budget.maxPods()),
    };
    if (apiNode !== undefined) return { ...apiNode, status: { ...apiNode.status, allocatable } };
    return {
      metadata: { name: nodeName, labels: this.#labels() },
      spec: { taints: taints.map(({ key, value, effect }) => ({ key, value, effect })) },
      status: { allocatable },
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
