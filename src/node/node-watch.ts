// Keeps OwnNode in sync with the Node object in the API server. Upstream: the node informer in pkg/kubelet/kubelet.go.
import type { Node } from '../api/k8s/types.ts';
import type { Follow } from '../api/ports/api-client.ts';
import type { Component } from '../base/component.ts';
import type { OwnNode } from './own-node.ts';

export class NodeWatch implements Component {
  readonly name = 'node-watch';
  readonly #deps: { readonly follow: Follow; readonly nodeName: string; readonly own: OwnNode };

  constructor(deps: { readonly follow: Follow; readonly nodeName: string; readonly own: OwnNode }) {
    this.#deps = deps;
  }

  /** Does not wait for the API server. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { follow, nodeName, own } = this.#deps;
    const target = { path: '/api/v1/nodes', fieldSelector: `metadata.name=${nodeName}` };
    return { stopped: follow<Node>(target, own, signal) };
  }
}
