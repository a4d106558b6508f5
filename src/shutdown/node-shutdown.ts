// Whether the node is shutting down. Owns NodeShutdown (sole writer: the shutdown manager; the node status only notes that it
// reported the problem). Upstream: ShutdownStatus and the flag of pkg/kubelet/nodeshutdown.
// Invariant: the store is updated before the change is announced.
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

const problem = 'node is shutting down';
const none: readonly string[] = [];
const shuttingDown: readonly string[] = [problem];

export class NodeShutdown implements Store {
  readonly storeName = 'NodeShutdown';
  readonly writer = 'node-shutdown';
  readonly changed = new Channel<void>();
  #isShuttingDown = false;
  #isReported = false;

  /** No pod is admitted while this is true. */
  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** Whether the API server has the Node as not ready because of this shutdown. */
  get isReported(): boolean {
    return this.#isReported;
  }

  /** Reasons why the node is not ready. */
  problems(): readonly string[] {
    return this.#isShuttingDown ? shuttingDown : none;
  }

  set(isShuttingDown: boolean): void {
    if (isShuttingDown === this.#isShuttingDown) return;
    this.#isShuttingDown = isShuttingDown;
    this.#isReported = false;
    this.changed.push();
  }

  /** The API server has a Node with these problems. */
  problemsReported(problems: readonly string[]): void {
    this.#isReported = this.#isShuttingDown && problems.includes(problem);
  }
}
