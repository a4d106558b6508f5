// Exec, Attach and PortForward of the fake runtime: they answer with an address, as the runtime does. Nobody listens there
// unless a test has the fake's streaming server (stream-server.ts). Invariant: an address is good for one connection.
import {
  type AttachRequest,
  ContainerState,
  type ExecRequest,
  type PortForwardRequest,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { rpcError, unknownError } from './rpc-error.ts';
import type { FakeState } from './state.ts';

/** What a client that comes to an address has been promised. */
export type PromisedStream =
  | { readonly what: 'exec'; readonly request: ExecRequest }
  | { readonly what: 'attach'; readonly request: AttachRequest }
  | { readonly what: 'portforward'; readonly request: PortForwardRequest };

export class FakeStreaming {
  /** Where clients are sent. */
  base = 'http://127.0.0.1:1';
  readonly #state: FakeState;
  readonly #promised = new Map<string, PromisedStream>();
  #answered = 0;

  constructor(state: FakeState) {
    this.#state = state;
  }

  exec(request: ExecRequest): { url: string } {
    const container = this.#state.container(
      request.containerId,
      (text) => `failed to find container "${text}" in store`,
    );
    this.#checkStreams(request, 'or');
    return this.#url(
      { what: 'exec', request },
      container.state === ContainerState.CONTAINER_RUNNING,
      'container is not running',
    );
  }

  attach(request: AttachRequest): { url: string } {
    const container = this.#state.container(request.containerId, () => 'failed to find container in store');
    this.#checkStreams(request, 'and');
    return this.#url(
      { what: 'attach', request },
      container.state === ContainerState.CONTAINER_RUNNING,
      'container is not running',
    );
  }

  portForward(request: PortForwardRequest): { url: string } {
    const sandbox = this.#state.sandbox(request.podSandboxId, (text) => `failed to find sandbox "${text}"`);
    return this.#url({ what: 'portforward', request }, sandbox.ready, 'sandbox container is not running');
  }

  #checkStreams(request: ExecRequest | AttachRequest, word: 'and' | 'or'): void {
    if (!request.stdin && !request.stdout && !request.stderr) {
      throw rpcError('INVALID_ARGUMENT', `one of stdin, stdout, ${word} stderr must be set`);
    }
    if (request.tty && request.stderr) {
      throw rpcError('INVALID_ARGUMENT', 'tty and stderr cannot both be true');
    }
  }

  /** Undefined for what was never promised, and the second time. */
  take(path: string): PromisedStream | undefined {
    const promised = this.#promised.get(path);
    this.#promised.delete(path);
    return promised;
  }

  #url(promised: PromisedStream, isRunning: boolean, why: string): { url: string } {
    if (!isRunning) throw unknownError(why);
    const path = `/${promised.what}/fake${this.#answered++}`;
    this.#promised.set(path, promised);
    return { url: `${this.base}${path}` };
  }
}
