// The node as admission sees it: the API object with what this kubelet knows better, or a stand-in without an API server.
// Upstream: getNodeAnyWay and initialNode in pkg/kubelet.
import type { Node } from '../../api/k8s/types.ts';
import { formatAmounts, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';

interface NodeViewDeps {
  readonly ownNode: { get(): Node | undefined };
  readonly budget: { allocatable(): ResourceAmounts; maxPods(): number };
  readonly nodeName: string;
  /** As Go names it: amd64. */
  readonly architecture: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value: string; readonly effect: string }[];
}

export class NodeView {
  readonly #deps: NodeViewDeps;

  constructor(deps: NodeViewDeps) {
    this.#deps = deps;
  }

  /** The API object's allocatable may be of an earlier process, so this process's own wins. */
  current(): Node {
    const { budget, nodeName, ownNode, taints } = this.#deps;
    const known = ownNode.get();
    const allocatable = {
      ...known?.status?.allocatable,
      ...formatAmounts(budget.allocatable()),
      pods: String(budget.maxPods()),
    };
    if (known !== undefined) return { ...known, status: { ...known.status, allocatable } };
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
