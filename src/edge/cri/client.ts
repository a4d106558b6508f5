// The client of a container runtime: every RPC of CRI v1 on its unix socket. Upstream: staging/src/k8s.io/cri-client.
// Invariants: nothing is opened before the first call; one endpoint for both services means one connection; after
// close() no handle, timer or call is left.

import { ImageServiceDefinition, RuntimeServiceDefinition } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRuntime } from '../../api/cri/runtime.ts';
import type { Channel } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Tracer } from '../../base/tracer.ts';
import { Caller, type CriObservation } from './caller.ts';
import { CriConnection } from './connection.ts';
import { parseCriEndpoint } from './endpoint.ts';
import { imageOperations, runtimeOperations } from './operations.ts';
import { type Rpc, rpcsOf } from './rpc.ts';
import { withStreamedImageLists, withStreamedRuntimeLists } from './streamed-lists.ts';
import { type Calls, tracedCalls } from './traced-calls.ts';

/** Upstream's default of runtimeRequestTimeout. */
const defaultRequestTimeoutMs = 120_000;

export interface CriClientOptions {
  /** `unix:///run/containerd/containerd.sock`, or a path. */
  readonly runtimeEndpoint: string;
  /** Absent or empty: the runtime endpoint. */
  readonly imageEndpoint?: string | undefined;
  /** Deadline of calls without a rule of their own in operations.ts, read for each call. */
  readonly requestTimeoutMs?: (() => number) | undefined;
  /** Lists through streams where the runtime has them; logs if it has none. */
  readonly streamLists?: { readonly log: Pick<Logger, 'info'> } | undefined;
  readonly clock: Clock;
  /** Called at the end of every call, for kubelet_runtime_operations_*. */
  readonly observe?: ((observation: CriObservation) => void) | undefined;
  /** Lists the calls in flight. */
  readonly calls?: CallRecorder | undefined;
  /** Each call becomes a span, and the runtime receives its context. */
  readonly tracer?: Tracer | undefined;
}

export interface CriClient extends CriRuntime, CriImages {
  /** Whether there is a connection to the runtime service. False before the first call. */
  readonly connected: boolean;
  /** Announces when the connection to the runtime service is lost (false) and restored (true). */
  readonly connectionChanged: Channel<boolean>;
  close(): void;
}

export function criClient(options: CriClientOptions): CriClient {
  const { calls, clock, observe, requestTimeoutMs = () => defaultRequestTimeoutMs, tracer } = options;
  const runtimePath = parseCriEndpoint(options.runtimeEndpoint);
  const imagePath = options.imageEndpoint ? parseCriEndpoint(options.imageEndpoint) : runtimePath;
  const runtime = new CriConnection(runtimePath, clock);
  const images = imagePath === runtimePath ? runtime : new CriConnection(imagePath, clock);
  const shared = { clock, requestTimeoutMs, observe, headers: tracer && (() => tracer.headers()) };
  const runtimeCaller = new Caller({ connection: runtime, inFlight: { to: 'runtime', calls }, ...shared });
  const imageCaller = new Caller({ connection: images, inFlight: { to: 'images', calls }, ...shared });
  const runtimeService = bind(
    rpcsOf(RuntimeServiceDefinition, runtimeOperations),
    tracedCalls(runtimeCaller, runtimePath, tracer),
  ) as CriRuntime;
  const imageService = bind(
    rpcsOf(ImageServiceDefinition, imageOperations),
    tracedCalls(imageCaller, imagePath, tracer),
  ) as CriImages;
  const log = options.streamLists?.log;
  return {
    ...(log === undefined ? runtimeService : withStreamedRuntimeLists(runtimeService, log)),
    ...(log === undefined ? imageService : withStreamedImageLists(imageService, log)),
    get connected() {
      return runtime.connected;
    },
    connectionChanged: runtime.changed,
    close() {
      runtime.close();
      images.close();
      runtimeCaller.cancelAll();
      imageCaller.cancelAll();
    },
  };
}

type Call = (request: unknown, options?: { signal?: AbortSignal; timeoutMs?: number }) => unknown;

function bind(rpcs: ReadonlyMap<string, Rpc>, caller: Calls): unknown {
  const calls: Record<string, Call> = {};
  for (const [key, rpc] of rpcs) {
    calls[key] = rpc.streams
      ? (request, options) => caller.stream(rpc, request, options)
      : (request, options) => caller.unary(rpc, request, options);
  }
  return calls;
}
