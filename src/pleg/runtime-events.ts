// Follows the runtime's container events as hints to inspect one pod. Upstream: pkg/kubelet/pleg/evented.go.
// Owns nothing. Invariant: an event only triggers an inspection; if all events are lost, changes are found by the next relist.

import type { ContainerEventResponse } from '../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../api/cri/labels.ts';
import { type CriRuntime, isUnimplemented } from '../api/cri/runtime.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { isKind } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

export interface RuntimeEventsDeps {
  readonly runtime: Pick<CriRuntime, 'getContainerEvents'>;
  /** Gets the pod of each event. */
  readonly pleg: { poke(uid: PodUid): void };
  readonly metrics?: {
    streamOpened(): void;
    streamBroke(): void;
    eventReceived(createdAtMs: number): void;
  };
  readonly clock: Clock;
  readonly log: Logger;
}

const firstRetryMs = 1_000;
const lastRetryMs = 30_000;

export class RuntimeEvents implements Component {
  readonly name = 'runtime-events';
  readonly #deps: RuntimeEventsDeps;

  constructor(deps: RuntimeEventsDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      let isStreaming = false;
      try {
        for await (const event of this.#deps.runtime.getContainerEvents({}, { signal })) {
          retryMs = firstRetryMs;
          if (!isStreaming) this.#deps.metrics?.streamOpened();
          isStreaming = true;
          this.#deps.metrics?.eventReceived(Number(event.createdAt / 1_000_000n));
          const uid = podOfEvent(event);
          if (uid !== undefined) this.#deps.pleg.poke(uid);
        }
      } catch (err) {
        if (signal.aborted) return;
        if (isUnimplemented(err)) {
          log.v(2).info('Container runtime has no event stream; changes are found by the relist alone');
          return await untilAborted(signal);
        }
        this.#deps.metrics?.streamBroke();
        if (!isKind(err, 'unavailable'))
          log.warn('Container event stream broke, will reconnect', { retryMs, err });
      }
      await clock.sleep(retryMs, signal).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
  }
}

function podOfEvent(event: ContainerEventResponse): PodUid | undefined {
  const uid =
    event.podSandboxStatus?.metadata?.uid ?? event.containersStatuses[0]?.labels[criLabels.podUid] ?? '';
  return uid === '' ? undefined : asPodUid(uid);
}
