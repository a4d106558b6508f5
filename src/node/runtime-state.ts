// Tracks the container runtime's own status for the node's Ready condition. Owns RuntimeState.
// Invariants: an unresponsive runtime is reported down only after downAfterMs; every transition between ready and not ready
// is announced. Upstream: updateRuntimeUp in kubelet.go, pkg/kubelet/runtime.go.

import type { StatusResponse } from '../api/cri/generated/runtime/v1/api.ts';
import { formatDurationMs } from '../api/k8s/duration.ts';
import type { NodeFeatures, NodeRuntimeHandler } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';

interface RuntimeStateDeps {
  readonly runtime: {
    status(request: object, options: { signal: AbortSignal; timeoutMs: number }): Promise<StatusResponse>;
    /** The connection was opened or lost. */
    readonly connectionChanged: Subscribable<boolean>;
  };
  /** `lastRelistAtMs`: when a relist last succeeded, by the monotonic clock. */
  readonly pleg: { health(): { readonly lastRelistAtMs: number | undefined } };
  readonly clock: Clock;
  readonly log: Logger;
}

const checkMs = 5_000;
/** Interval while the runtime is not ready, so that readiness is noticed quickly. */
const checkNotReadyMs = 500;
const callTimeoutMs = 10_000;
const downAfterMs = 30_000;
const plegThresholdMs = 180_000;

export class RuntimeState implements Component {
  readonly name = 'runtime-state';
  readonly changed = new Channel<void>();
  readonly #deps: RuntimeStateDeps;
  readonly #queue: KeyedQueue<'check'>;
  #answeredAtMs: number | undefined;
  #runtimeProblem: string | undefined;
  #networkProblem: string | undefined = 'network state unknown';
  #handlers: readonly NodeRuntimeHandler[] = [];
  #features: NodeFeatures | undefined;
  #wasReady: boolean | undefined;

  constructor(deps: RuntimeStateDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'check'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#check(signal),
      backoff: { initialMs: checkNotReadyMs, maxMs: checkMs },
      onError: (_key, err) => deps.log.v(2).info('Container runtime sanity check failed', { err }),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.add('check');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  get wakes() {
    return [on(this.#deps.runtime.connectionChanged, () => this.#queue.add('check'))];
  }

  get handlers(): readonly NodeRuntimeHandler[] {
    return this.#handlers;
  }

  get features(): NodeFeatures | undefined {
    return this.#features;
  }

  /** The runtime's reasons for NotReady, in upstream's order. */
  problems(): readonly string[] {
    const nowMs = this.#deps.clock.monotonic();
    return [
      this.#unresponsive(nowMs),
      this.#plegProblem(nowMs),
      this.#runtimeProblem,
      this.#networkProblem,
    ].filter((each) => each !== undefined);
  }

  #unresponsive(nowMs: number): string | undefined {
    if (this.#answeredAtMs === undefined) return 'container runtime status check may not have completed yet';
    return nowMs - this.#answeredAtMs >= downAfterMs ? 'container runtime is down' : undefined;
  }

  #plegProblem(nowMs: number): string | undefined {
    const lastMs = this.#deps.pleg.health().lastRelistAtMs;
    if (lastMs === undefined) return 'PLEG is not healthy: pleg has yet to be successful';
    const agoMs = nowMs - lastMs;
    if (agoMs <= plegThresholdMs) return undefined;
    return `PLEG is not healthy: pleg was last seen active ${formatDurationMs(Math.round(agoMs))} ago; threshold is ${formatDurationMs(plegThresholdMs)}`;
  }

  async #check(signal: AbortSignal): Promise<void> {
    try {
      this.#record(await this.#deps.runtime.status({}, { signal, timeoutMs: callTimeoutMs }));
      this.#queue.addAfter('check', this.problems().length === 0 ? checkMs : checkNotReadyMs);
    } finally {
      this.#announce();
    }
  }

  #record(response: StatusResponse): void {
    const condition = (type: string): string | undefined => {
      const found = response.status?.conditions.find((each) => each.type === type);
      if (found?.status === true) return undefined;
      if (found === undefined) return '<nil>';
      return `${type}=${found.status} reason:${found.reason} message:${found.message}`;
    };
    const network = condition('NetworkReady');
    const runtime = condition('RuntimeReady');
    this.#networkProblem =
      network === undefined ? undefined : `container runtime network not ready: ${network}`;
    this.#runtimeProblem = runtime === undefined ? undefined : `container runtime not ready: ${runtime}`;
    if (runtime !== undefined) return;
    this.#handlers = response.runtimeHandlers
      .map(({ name, features }) => ({
        name,
        features: {
          recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
          userNamespaces: features?.userNamespaces ?? false,
        },
      }))
      // A runtime may report them in another order each time.
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    this.#features =
      response.features === undefined
        ? undefined
        : { supplementalGroupsPolicy: response.features.supplementalGroupsPolicy };
    this.#answeredAtMs = this.#deps.clock.monotonic();
  }

  #announce(): void {
    const problems = this.problems();
    const isReady = problems.length === 0;
    if (isReady === this.#wasReady) return;
    const { log } = this.#deps;
    if (isReady) log.info('Container runtime is ready');
    else log.info('Container runtime is not ready', { problems });
    this.#wasReady = isReady;
    this.changed.push();
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}
