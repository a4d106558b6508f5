// GetContainerEvents of the fake runtime.
// Invariant: a subscriber receives every event since it subscribed, in order, unless a test drops them; events are not
// kept for later subscribers.

import { ContainerEventResponse } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CallOptions } from '../../src/api/cri/runtime.ts';
import type { Gate } from './gate.ts';
import { unavailable } from './rpc-error.ts';

export class FakeEvents {
  readonly #gate: Gate;
  readonly #listeners = new Set<(event: ContainerEventResponse) => void>();
  lost = false;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  push(event: ContainerEventResponse): void {
    if (this.lost) return;
    for (const listener of this.#listeners) listener(ContainerEventResponse.fromPartial(event));
  }

  async *stream(options: CallOptions): AsyncGenerator<ContainerEventResponse> {
    const { signal } = options;
    signal?.throwIfAborted();
    if (this.#gate.isDown) throw unavailable();
    const queue: ContainerEventResponse[] = [];
    let broken: { readonly by: unknown } | undefined;
    let wake = (): void => undefined;
    const give = (event: ContainerEventResponse): void => {
      queue.push(event);
      wake();
    };
    const end = (by: unknown): void => {
      broken ??= { by };
      wake();
    };
    const onAbort = (): void => end(signal?.reason);
    this.#listeners.add(give);
    signal?.addEventListener('abort', onAbort, { once: true });
    const release = this.#gate.whenDown(end);
    try {
      for (;;) {
        if (broken !== undefined) throw broken.by;
        const event = queue.shift();
        if (event !== undefined) yield event;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      this.#listeners.delete(give);
      signal?.removeEventListener('abort', onAbort);
      release();
    }
  }
}
