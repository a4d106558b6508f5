// The client of the node service of CSI drivers: implements CsiDialer and CsiDriverClient of api/ports/csi.ts.
// Invariants: capabilities are read once per connection; after close() no call, connection or timer is left.
// Upstream: pkg/volume/csi/csi_client.go.
import {
  NodeDefinition,
  type NodeExpandVolumeRequest,
  type NodeGetInfoResponse,
  type NodeGetStorageHealthRequest,
  type NodeGetStorageHealthResponse,
  type NodeGetVolumeHealthRequest,
  type NodeGetVolumeHealthResponse,
  type NodeGetVolumeStatsRequest,
  type NodeGetVolumeStatsResponse,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
} from '../../api/csi/generated/csi/v1/csi.ts';
import type { CsiCallOptions, CsiCapabilities, CsiDialer, CsiDriverClient } from '../../api/ports/csi.ts';
import type { Clock } from '../../base/clock.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import type { CsiConnection } from './csi-connection.ts';
import { CsiEndpoint } from './csi-endpoint.ts';
import { type CsiCaller, type CsiObservation, NodeCalls } from './node-calls.ts';
import {
  healthBytes,
  infoBytes,
  readCapabilities,
  readCapacity,
  readInfo,
  readNothing,
  readStats,
  readStorageHealth,
  readVolumeHealth,
} from './read-responses.ts';
import { SharedWork } from './shared-work.ts';

interface CsiDialerOptions {
  readonly clock: Clock;
  readonly observe: (observation: CsiObservation) => void;
  /** Lists the calls in flight. */
  readonly calls?: CallRecorder | undefined;
  /** Of each call, including the connection. Default: 2 min, upstream's. */
  readonly timeoutMs?: number;
  /** How long a connection stays open without a call. Default: 5 min. */
  readonly idleMs?: number;
  /** How long a connection is used before the socket is inspected again. Default: 1 s. */
  readonly recheckMs?: number;
}

const defaultTimeoutMs = 120_000;
const defaultIdleMs = 300_000;
const defaultRecheckMs = 1_000;

const { methods } = NodeDefinition;

export function csiDialer(options: CsiDialerOptions): CsiDialer {
  return { client: (driver, path) => new DriverClient(driver, path, options) };
}

class DriverClient implements CsiDriverClient {
  readonly driver: string;
  readonly endpoint: string;
  readonly #connections: CsiEndpoint;
  readonly #calls: NodeCalls;
  #capabilities:
    | { readonly connection: CsiConnection; readonly fetched: SharedWork<CsiCapabilities> }
    | undefined;

  constructor(driver: string, path: string, options: CsiDialerOptions) {
    const { calls, clock, observe, timeoutMs = defaultTimeoutMs } = options;
    const { idleMs = defaultIdleMs, recheckMs = defaultRecheckMs } = options;
    this.driver = driver;
    this.endpoint = path;
    this.#connections = new CsiEndpoint({ path, clock, recheckMs, idleMs });
    this.#calls = new NodeCalls({ driver, endpoint: this.#connections, clock, timeoutMs, observe, calls });
  }

  /** differs from upstream: that fetches them before each use. */
  async capabilities(signal: AbortSignal, options?: CsiCallOptions): Promise<CsiCapabilities> {
    const method = methods.nodeGetCapabilities;
    const { migrated } = caller(signal, options);
    const connection = await this.#calls.connection(method, { signal, migrated });
    if (this.#capabilities?.connection !== connection) {
      const call = { method, request: {}, read: readCapabilities };
      const fetched = new SharedWork((stop) => this.#calls.unary(call, { signal: stop, migrated }));
      this.#capabilities = { connection, fetched };
    }
    return await this.#capabilities.fetched.join(signal);
  }

  info(signal: AbortSignal): Promise<NodeGetInfoResponse> {
    const call = { method: methods.nodeGetInfo, request: {}, read: readInfo, limitBytes: infoBytes };
    return this.#calls.unary(call, caller(signal));
  }

  stage(request: NodeStageVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void> {
    const method = methods.nodeStageVolume;
    const read = readNothing(method.responseType);
    return this.#calls.unary({ method, request, read }, caller(signal, options));
  }

  unstage(request: NodeUnstageVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void> {
    const method = methods.nodeUnstageVolume;
    const read = readNothing(method.responseType);
    return this.#calls.unary({ method, request, read }, caller(signal, options));
  }

  publish(request: NodePublishVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void> {
    const method = methods.nodePublishVolume;
    const read = readNothing(method.responseType);
    return this.#calls.unary({ method, request, read }, caller(signal, options));
  }

  unpublish(
    request: NodeUnpublishVolumeRequest,
    signal: AbortSignal,
    options?: CsiCallOptions,
  ): Promise<void> {
    const method = methods.nodeUnpublishVolume;
    const read = readNothing(method.responseType);
    return this.#calls.unary({ method, request, read }, caller(signal, options));
  }

  expand(request: NodeExpandVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<bigint> {
    const call = { method: methods.nodeExpandVolume, request, read: readCapacity };
    return this.#calls.unary(call, caller(signal, options));
  }

  stats(
    request: NodeGetVolumeStatsRequest,
    signal: AbortSignal,
    options?: CsiCallOptions,
  ): Promise<NodeGetVolumeStatsResponse> {
    const call = { method: methods.nodeGetVolumeStats, request, read: readStats };
    return this.#calls.unary(call, caller(signal, options));
  }

  volumeHealth(
    request: NodeGetVolumeHealthRequest,
    signal: AbortSignal,
  ): Promise<NodeGetVolumeHealthResponse> {
    const limits = { read: readVolumeHealth, limitBytes: healthBytes };
    return this.#calls.unary({ method: methods.nodeGetVolumeHealth, request, ...limits }, caller(signal));
  }

  storageHealth(
    request: NodeGetStorageHealthRequest,
    signal: AbortSignal,
  ): Promise<NodeGetStorageHealthResponse> {
    const limits = { read: readStorageHealth, limitBytes: healthBytes };
    return this.#calls.unary({ method: methods.nodeGetStorageHealth, request, ...limits }, caller(signal));
  }

  close(): void {
    this.#connections.close();
  }
}

function caller(signal: AbortSignal, options: CsiCallOptions = {}): CsiCaller {
  return { signal, migrated: options.migrated ?? false };
}
