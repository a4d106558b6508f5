// Creates this node's CSINode object, and keeps the node from being reported Ready until it exists.
// Invariant: it is retried until it succeeds; a Node that was created again gets its CSINode and its drivers again.
// Upstream: initializeCSINode in pkg/volume/csi/csi_plugin.go.
import type { CSINode, Node } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { describeError, isAbortOf, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

interface CsiNodeStartupDeps {
  readonly api: { csiNodeFromCache(signal: AbortSignal): Promise<CSINode> };
  readonly nodeInfo: { initialize(signal: AbortSignal): Promise<string> };
  readonly drivers: { publishAgain(): Promise<void> };
  readonly own: { get(): Node | undefined; readonly changed: Subscribable<void> };
  readonly clock: Clock;
  readonly log: Logger;
}

const pollMs = 1_000;
const backoff = { initialMs: 240, maxMs: 30_000 };

export class CsiNodeStartup implements Component {
  readonly name = 'csi-node';
  /** Announces that problems() has changed. */
  readonly changed = new Channel<void>();
  readonly #deps: CsiNodeStartupDeps;
  readonly #queue: KeyedQueue<'csinode'>;
  #problem: string | undefined = 'CSINode is not yet initialized';
  #isReached = false;
  /** Of the Node that CSINode belongs to. */
  #nodeUid: string | undefined;

  constructor(deps: CsiNodeStartupDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'csinode'>({
      clock: deps.clock,
      parallel: 1,
      backoff,
      run: (_key, signal) => this.#run(signal),
      // differs from upstream, where the process ends after six failures.
      onError: (_key, err, retryInMs) =>
        deps.log.error('Failed to initialize CSINode', { err, retryInMs: Math.round(retryInMs) }),
    });
  }

  get wakes() {
    return [on(this.#deps.own.changed, () => this.#onNode())];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  /** Does not wait for the API server. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.add('csinode');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Why the node is not ready. */
  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  #onNode(): void {
    const uid = this.#deps.own.get()?.metadata?.uid;
    // The object also changes with every heartbeat, which must not cut a backoff short.
    if (uid !== undefined && uid !== this.#nodeUid) this.#queue.addUnlessBackingOff('csinode');
  }

  async #run(signal: AbortSignal): Promise<void> {
    if (!this.#isReached) await this.#reach(signal);
    // Until the Node exists its UID is not known; the watch wakes the queue.
    const watched = this.#deps.own.get()?.metadata?.uid;
    if (watched === undefined || watched === this.#nodeUid) return;
    const isFirst = this.#nodeUid === undefined;
    try {
      this.#nodeUid = await this.#deps.nodeInfo.initialize(signal);
    } catch (err) {
      if (!isAbortOf(err, signal) && isFirst)
        this.#set(`failed to initialize CSINode: ${describeError(err)}`);
      throw err;
    }
    this.#set(undefined);
    // differs from upstream, where the drivers are missing until they register again.
    if (!isFirst) await this.#deps.drivers.publishAgain();
  }

  /** Polls until the API server responds. */
  async #reach(signal: AbortSignal): Promise<void> {
    const { api, clock, log } = this.#deps;
    while (!this.#isReached) {
      try {
        await api.csiNodeFromCache(signal);
        this.#isReached = true;
      } catch (err) {
        if (isAbortOf(err, signal)) throw err;
        this.#isReached = isKind(err, 'not-found');
        if (this.#isReached) return;
        log.v(2).info('Failed to contact API server when waiting for CSINode publishing', { err });
        await clock.sleep(pollMs, signal);
      }
    }
  }

  #set(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === undefined) this.#deps.log.info('CSINode is initialized');
    this.changed.push();
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}
