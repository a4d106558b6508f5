// Exec, Attach and PortForward of the fake runtime: they answer with an address, as the runtime does, and nobody
// listens there.
import {
  type AttachRequest,
  ContainerState,
  type ExecRequest,
  type PortForwardRequest,
} from '../../api/generated/runtime/v1/api.ts';
import { rpcError, unknownError } from './rpc-error.ts';
import type { FakeState } from './state.ts';

export class FakeStreaming {
  readonly #state: FakeState;
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
      'exec',
      container.state === ContainerState.CONTAINER_RUNNING,
      'container is not running',
    );
  }

  attach(request: AttachRequest): { url: string } {
    const container = this.#state.container(request.containerId, () => 'failed to find container in store');
    this.#checkStreams(request, 'and');
    return this.#url(
      'attach',
      container.state === ContainerState.CONTAINER_RUNNING,
      'container is not running',
    );
  }

  portForward(request: PortForwardRequest): { url: string } {
    const sandbox = this.#state.sandbox(request.podSandboxId, (text) => `failed to find sandbox "${text}"`);
    return this.#url('portforward', sandbox.ready, 'sandbox container is not running');
  }

  #checkStreams(request: ExecRequest | AttachRequest, word: 'and' | 'or'): void {
    if (!request.stdin && !request.stdout && !request.stderr) {
      throw rpcError('INVALID_ARGUMENT', `one of stdin, stdout, ${word} stderr must be set`);
    }
    if (request.tty && request.stderr) {
      throw rpcError('INVALID_ARGUMENT', 'tty and stderr cannot both be true');
    }
  }

  #url(what: string, isRunning: boolean, why: string): { url: string } {
    if (!isRunning) throw unknownError(why);
    return { url: `http://127.0.0.1:1/${what}/fake${this.#answered++}` };
  }
}
