// A connected device plugin with deadlines: a plugin that hangs or disconnects delays only the call that needs it.
// Upstream: endpoint.go of pkg/kubelet/cm/devicemanager. Invariant: every call settles by its deadline and when the connection ends.
import type { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type { DevicePluginConnection, PluginOptions } from '../../api/ports/device-plugins.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbortOf, KubeletError } from '../../base/errors.ts';
import type { PreferenceQuestion } from './device-allocation.ts';

const preferredMs = 30_000;
/** differs from upstream, which waits without end. */
const allocateMs = 2 * 60_000;
const preStartMs = 30_000;

export class ConnectedPlugin {
  readonly connection: DevicePluginConnection;
  readonly #clock: Clock;
  readonly #closed = new AbortController();

  constructor(connection: DevicePluginConnection, clock: Clock) {
    this.connection = connection;
    this.#clock = clock;
  }

  get socket(): string {
    return this.connection.socket;
  }

  get options(): PluginOptions {
    return this.connection.options;
  }

  /** Aborted when the connection is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    if (this.closed.aborted) return;
    this.#closed.abort(endpointStopped(this.socket));
    this.connection.close();
  }

  async preferredAllocation(question: PreferenceQuestion, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await this.#call('GetPreferredAllocation', preferredMs, signal, (until) =>
        this.connection.preferredAllocation(question, until),
      );
    } catch (err) {
      throw rpcFailed('GetPreferredAllocation', err, signal);
    }
  }

  allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse> {
    return this.#call('Allocate', allocateMs, signal, (until) => this.connection.allocate(ids, until));
  }

  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    try {
      await this.#call('PreStartContainer', preStartMs, signal, (until) =>
        this.connection.preStart(ids, until),
      );
    } catch (err) {
      throw rpcFailed('PreStartContainer', err, signal);
    }
  }

  #call<T>(
    what: string,
    ms: number,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const options = { clock: this.#clock, ms, signal, what: `${what} of device plugin ${this.socket}` };
    return withDeadline(options, async (until) => raceAbort(call(until), this.closed));
  }
}

export function endpointStopped(endpoint: string): KubeletError {
  return new KubeletError('unavailable', 'UnexpectedAdmissionError', `endpoint ${endpoint} has been stopped`);
}

export function rpcFailed(rpc: string, err: unknown, signal: AbortSignal): unknown {
  if (isAbortOf(err, signal)) return err;
  return new KubeletError(
    'unavailable',
    'UnexpectedAdmissionError',
    `device plugin ${rpc} rpc failed with err: ${describeError(err)}`,
  );
}
