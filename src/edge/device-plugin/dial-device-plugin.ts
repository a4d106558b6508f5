// Connects to a device plugin and makes the calls of the device plugin API, v1beta1.
// Invariants: every call has a deadline, every message a limit; errors are KubeletErrors with Go's text of the failed call; only
// sockets of root or the kubelet's own user are dialled, and links are not followed.
// Upstream: client.go in pkg/kubelet/cm/devicemanager/plugin/v1beta1, endpoint.go in pkg/kubelet/cm/devicemanager.
import { rpcErrorText } from '../../api/cri/runtime.ts';
import {
  type ContainerAllocateResponse,
  DevicePluginDefinition,
} from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type {
  DevicePluginConnection,
  DevicePluginDialer,
  PluginDevice,
  PluginOptions,
} from '../../api/ports/device-plugins.ts';
import type { Clock } from '../../base/clock.ts';
import { Aborted, describeError, KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import { connectUnix, type UnixClient } from '../grpc-client/unix-client.ts';
import { inspectSocket } from '../plugins/inspect-socket.ts';
import { decodeDevices } from './decode-devices.ts';
import { newestMessages } from './newest-message.ts';

const dialMs = 10_000;
const firstRetryMs = 100;
const maxRetryMs = 1_000;
/** differs from upstream, where these two calls have no deadline of their own and a hung plugin blocks its caller. */
const optionsMs = 10_000;
const allocateMs = 120_000;
/** differs from upstream, which holds its lock without a deadline: the plugin only expresses a preference. */
const preferredMs = 10_000;
const preStartMs = 30_000;
/** Of all responses but lists of devices; upstream: 4 MiB. The checkpoint holds the response to Allocate. */
const responseBytes = 1024 * 1024;

const { methods } = DevicePluginDefinition;

export function devicePluginDialer(clock: Clock, calls?: CallRecorder): DevicePluginDialer {
  return {
    dial: async (socket, signal) => {
      const client = await dial(socket, clock, calls, signal);
      try {
        const limits = { timeoutMs: optionsMs, signal, responseBytes };
        const answer = await client.unary(DevicePluginDefinition, methods.getDevicePluginOptions, {}, limits);
        const options = {
          preStartRequired: answer.preStartRequired,
          preferredAllocation: answer.getPreferredAllocationAvailable,
        };
        return new Connection(socket, options, client, clock);
      } catch (err) {
        client.close();
        signal.throwIfAborted();
        throw failure(err, 'failed to get device plugin options: ');
      }
    },
  };
}

/** As grpc-go, repeats the attempt until the deadline: a plugin may register just before it serves. */
async function dial(
  socket: string,
  clock: Clock,
  calls: CallRecorder | undefined,
  signal: AbortSignal,
): Promise<UnixClient> {
  const endMs = clock.monotonic() + dialMs;
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, maxRetryMs)) {
    const leftMs = endMs - clock.monotonic();
    let cause: unknown;
    try {
      await checkSocket(socket);
      return await connectUnix({ path: socket, server: 'plugin', clock, calls, timeoutMs: leftMs, signal });
    } catch (err) {
      signal.throwIfAborted();
      if (!(err instanceof KubeletError && err.kind === 'unavailable')) throw dialFailure(err);
      cause = err;
    }
    if (clock.monotonic() + retryMs >= endMs) {
      const text = 'failed to dial device plugin: context deadline exceeded';
      throw new KubeletError('timeout', 'DevicePluginError', text, { cause });
    }
    await clock.sleep(retryMs, signal);
  }
}

function dialFailure(err: unknown): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  const text = `failed to dial device plugin: ${err instanceof KubeletError ? err.message : describeError(err)}`;
  return new KubeletError(kind, 'DevicePluginError', text, { cause: err });
}

async function checkSocket(socket: string): Promise<void> {
  const inspected = await inspectSocket(socket);
  if (inspected.is === 'missing')
    throw new KubeletError('unavailable', 'NoSocket', 'no such file or directory');
  if (inspected.is === 'refused')
    throw new KubeletError('forbidden', 'RefusedSocket', `socket ${socket} is refused: ${inspected.why}`);
  if (inspected.is === 'other') throw new KubeletError('invalid', 'NoSocket', `${socket} is not a socket`);
}

class Connection implements DevicePluginConnection {
  readonly socket: string;
  readonly options: PluginOptions;
  readonly #client: UnixClient;
  readonly #clock: Clock;

  constructor(socket: string, options: PluginOptions, client: UnixClient, clock: Clock) {
    this.socket = socket;
    this.options = options;
    this.#client = client;
    this.#clock = clock;
  }

  async *devices(signal: AbortSignal): AsyncGenerator<readonly PluginDevice[]> {
    signal.throwIfAborted();
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const limits = { timeoutMs: Number.POSITIVE_INFINITY, signal: stop.signal };
    try {
      const lists = this.#client.stream(DevicePluginDefinition, methods.listAndWatch, {}, limits);
      for await (const bytes of newestMessages(lists, this.#clock, stop.signal))
        yield await decodeDevices(bytes, this.#clock);
    } catch (err) {
      signal.throwIfAborted();
      throw failure(err);
    } finally {
      signal.removeEventListener('abort', onAbort);
      stop.abort(new Aborted('the devices are no longer read'));
    }
  }

  async preferredAllocation(
    request: {
      readonly available: readonly string[];
      readonly mustInclude: readonly string[];
      readonly size: number;
    },
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { containerResponses } = await this.#call(signal, preferredMs, (limits) =>
      this.#client.unary(
        DevicePluginDefinition,
        methods.getPreferredAllocation,
        {
          containerRequests: [
            {
              availableDeviceIDs: [...request.available],
              mustIncludeDeviceIDs: [...request.mustInclude],
              allocationSize: request.size,
            },
          ],
        },
        limits,
      ),
    );
    return containerResponses[0]?.deviceIDs ?? [];
  }

  async allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse> {
    const request = { containerRequests: [{ devicesIds: [...ids] }] };
    const answer = await this.#call(signal, allocateMs, (limits) =>
      this.#client.unary(DevicePluginDefinition, methods.allocate, request, limits),
    );
    const [response] = answer.containerResponses;
    if (response !== undefined) return response;
    // Go prints an empty message as an empty text.
    throw new KubeletError('invalid', 'DevicePluginError', 'no containers return in allocation response ');
  }

  async preStart(ids: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#call(signal, preStartMs, (limits) =>
      this.#client.unary(DevicePluginDefinition, methods.preStartContainer, { devicesIds: [...ids] }, limits),
    );
  }

  close(): void {
    this.#client.close();
  }

  async #call<T>(
    signal: AbortSignal,
    timeoutMs: number,
    call: (limits: {
      readonly signal: AbortSignal;
      readonly timeoutMs: number;
      readonly responseBytes: number;
    }) => Promise<T>,
  ): Promise<T> {
    try {
      return await call({ signal, timeoutMs, responseBytes });
    } catch (err) {
      signal.throwIfAborted();
      throw failure(err);
    }
  }
}

/** With Go's text of a failed call, as users know it from the status of a pod. */
function failure(err: unknown, prefix = ''): KubeletError {
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  const text = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
  return new KubeletError(kind, 'DevicePluginError', `${prefix}${text}`, { cause: err });
}
