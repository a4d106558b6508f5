// Checks that the runtime's image service answers: without it the kubelet seems healthy, and can pull nothing. Only for
// configurations on trial. Upstream: validateServiceConnection of cri-client's image service, which fails the start.
// Invariant: calls only when it is checked, one at a time, so that nothing runs outside a trial.
import { describeError } from '../base/errors.ts';

interface ImageServiceCheckDeps {
  readonly imageFsInfo: (request: object, options: { readonly timeoutMs: number }) => Promise<unknown>;
  /** runtimeRequestTimeout, read for each call: one that is too short is a fault of the configuration. */
  readonly requestTimeoutMs: () => number;
}

const longestMs = 10_000;

export class ImageServiceCheck {
  readonly #deps: ImageServiceCheckDeps;
  #failure: string | undefined;
  #isRunning = false;

  constructor(deps: ImageServiceCheckDeps) {
    this.#deps = deps;
  }

  /** The result of the last call; undefined while it is good. Begins the next call. */
  check(): string | undefined {
    if (!this.#isRunning) void this.#call();
    return this.#failure;
  }

  async #call(): Promise<void> {
    this.#isRunning = true;
    try {
      const { imageFsInfo, requestTimeoutMs } = this.#deps;
      await imageFsInfo({}, { timeoutMs: Math.min(longestMs, requestTimeoutMs()) });
      this.#failure = undefined;
    } catch (err) {
      this.#failure = `the image service is unavailable: ${describeError(err)}`;
    } finally {
      this.#isRunning = false;
    }
  }
}
