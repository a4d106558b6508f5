// This node's Node object as the watch last delivered it. Upstream: the node lister of pkg/kubelet/kubelet.go.
// Owns OwnNode (sole writer: the watch). Invariant: the store is updated before the change is announced.

import type { Node } from '../api/k8s/types.ts';
import type { WatchSink } from '../api/ports/api-client.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

export class OwnNode implements WatchSink<Node>, Store {
  readonly storeName = 'OwnNode';
  readonly writer = 'node-watch';
  readonly changed = new Channel<void>();
  #node: Node | undefined;
  #synced = false;

  /** Undefined: the node does not exist, or has not been listed yet. */
  get(): Node | undefined {
    return this.#node;
  }

  /** Whether the node has been seen once, even if it was deleted since. */
  hasSynced(): boolean {
    return this.#synced;
  }

  replace(nodes: readonly Node[]): void {
    this.#set(nodes[0]);
  }

  upsert(node: Node): void {
    this.#set(node);
  }

  remove(): void {
    this.#set(undefined);
  }

  #set(node: Node | undefined): void {
    this.#node = node;
    if (node !== undefined) this.#synced = true;
    this.changed.push();
  }
}
