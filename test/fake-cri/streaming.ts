// Exec, Attach and PortForward of the fake runtime: each returns a URL, which is served only if a test starts the
// streaming server (stream-server.ts). Invariant: a URL is valid for one connection.
import {
  type AttachRequest,
  ContainerState,
  type ExecRequest,
  type PortForwardRequest,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { rpcError, unknownError } from './rpc-error.ts';
import type { FakeState } from './state.ts';

/** The request behind a URL that was handed out. */
export type GrantedStream =
  | { readonly what: 'exec'; readonly request: ExecRequest }
  | { readonly what: 'attach'; readonly request: AttachRequest }
  | { readonly what: 'portforward'; readonly request: PortForwardRequest };

export class FakeStreaming {
  /** The base of the URLs. */
  base = 'http://127.0.0.1:1';
  readonly #state: FakeState;
  readonly #granted = new Map<string, GrantedStream>();
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

  /** Undefined for an unknown URL, and for one that was used before. */
  take(path: string): GrantedStream | undefined {
    const granted = this.#granted.get(path);
    this.#granted.delete(path);
    return granted;
  }

  #url(granted: GrantedStream, isRunning: boolean, why: string): { url: string } {
    if (!isRunning) throw unknownError(why);
    const path = `/${granted.what}/fake${this.#answered++}`;
    this.#granted.set(path, granted);
    return { url: `${this.base}${path}` };
  }
}
