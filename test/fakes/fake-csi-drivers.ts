// CSI drivers in memory, and the two ways to reach them: as a dialer (FakeCsiDrivers.client) and as the registered drivers
// (get, names, changed). A driver remembers what is staged and published, is idempotent, and rejects what the CSI specification
// forbids: publishing a volume that is not staged, unstaging one that is still published.
// Faults are on order: the next `times` calls of a method fail, before or after the driver did the work, or hang.

import { goCodeName, type RpcFailureCode } from '../../src/api/cri/runtime.ts';
import type {
  NodeExpandVolumeRequest,
  NodeGetInfoResponse,
  NodeGetStorageHealthResponse,
  NodeGetVolumeHealthRequest,
  NodeGetVolumeHealthResponse,
  NodeGetVolumeStatsRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import type {
  CsiCapabilities,
  CsiDialer,
  CsiDriverClient,
  CsiDrivers,
  CsiOutcome,
} from '../../src/api/ports/csi.ts';
import { Channel } from '../../src/base/channel.ts';
import { Aborted, KubeletError } from '../../src/base/errors.ts';
import { errorKindOf } from '../../src/edge/grpc-client/status-map.ts';

type CsiMethod = Exclude<keyof CsiDriverClient, 'driver' | 'endpoint' | 'close'>;

interface CsiFault {
  /** Default: Infinity. */
  readonly times?: number;
  /** Default: INTERNAL. `hang`: the call ends only with its signal. */
  readonly code?: RpcFailureCode | 'hang';
  readonly message?: string;
  /** The driver does the work first; only its answer is lost. */
  readonly afterwards?: boolean;
}

interface CsiCall {
  readonly method: CsiMethod;
  readonly endpoint: string;
  /** Empty for capabilities and info. */
  readonly request: object;
}

const noCapabilities: CsiCapabilities = {
  stage: false,
  stats: false,
  expand: false,
  singleNodeMultiWriter: false,
  volumeMountGroup: false,
  volumeHealth: false,
  storageHealth: false,
};

/** As the real client classifies the codes. */
const uncertainCodes: ReadonlySet<string> = new Set([
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'UNAVAILABLE',
  'RESOURCE_EXHAUSTED',
  'ABORTED',
]);

/** The error that the real client rejects with. */
export function csiError(code: RpcFailureCode, message: string): KubeletError {
  const csiOutcome: CsiOutcome = uncertainCodes.has(code) ? 'uncertain' : 'final';
  const text = `rpc error: code = ${goCodeName(code) ?? code} desc = ${message}`;
  return new KubeletError(errorKindOf(code), code, text, { details: { csiOutcome } });
}

interface StagedVolume {
  readonly path: string;
  readonly request: NodeStageVolumeRequest;
}

export class FakeCsiDriver {
  readonly name: string;
  readonly endpoint: string;
  capabilities: CsiCapabilities;
  info: NodeGetInfoResponse = { nodeId: 'node-1', maxVolumesPerNode: 0n, accessibleTopology: undefined };
  /** In order. Requests are kept as they came, secrets included. */
  readonly calls: CsiCall[] = [];
  /** By volume id. */
  readonly staged = new Map<string, StagedVolume>();
  /** By target path. */
  readonly published = new Map<string, NodePublishVolumeRequest>();
  /** Capacity in bytes by volume id, as expand() last set it. */
  readonly sizes = new Map<string, bigint>();
  usage: NodeGetVolumeStatsResponse = { usage: [] };
  /** By volume id; a volume without an entry is healthy. */
  readonly volumeHealth = new Map<string, NonNullable<NodeGetVolumeHealthResponse['volumeHealth']>>();
  storageHealth: NodeGetStorageHealthResponse = { backendHealth: [] };
  /** For tests that mirror the driver's work in a FakeVolumeHost: called after the work. */
  onWork: (method: 'stage' | 'unstage' | 'publish' | 'unpublish', path: string) => void | Promise<void> =
    () => undefined;
  /** Calls in flight. */
  active = 0;
  /** The most calls that were in flight at once. */
  mostActive = 0;
  /** False while the driver's process is not running. */
  isUp = true;
  readonly #faults = new Map<CsiMethod, { fault: CsiFault; left: number }>();

  constructor(name: string, endpoint: string, capabilities: Partial<CsiCapabilities> = {}) {
    this.name = name;
    this.endpoint = endpoint;
    this.capabilities = { ...noCapabilities, ...capabilities };
  }

  /** Replaces an earlier fault of the method; undefined removes it. */
  fail(method: CsiMethod, fault: CsiFault | undefined): void {
    if (fault === undefined) this.#faults.delete(method);
    else this.#faults.set(method, { fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  callsOf(method: CsiMethod): readonly CsiCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  /** One connection. */
  client(): CsiDriverClient {
    const closing = new AbortController();
    const call = <T>(
      method: CsiMethod,
      request: object,
      signal: AbortSignal,
      work: () => T | Promise<T>,
    ): Promise<T> =>
      this.#call(
        { method, endpoint: this.endpoint, request },
        AbortSignal.any([signal, closing.signal]),
        work,
      );
    return {
      driver: this.name,
      endpoint: this.endpoint,
      capabilities: (signal) => call('capabilities', {}, signal, () => this.capabilities),
      info: (signal) => call('info', {}, signal, () => this.info),
      stage: (request, signal) => call('stage', request, signal, () => this.#stage(request)),
      unstage: (request, signal) => call('unstage', request, signal, () => this.#unstage(request)),
      publish: (request, signal) => call('publish', request, signal, () => this.#publish(request)),
      unpublish: (request, signal) => call('unpublish', request, signal, () => this.#unpublish(request)),
      expand: (request, signal) => call('expand', request, signal, () => this.#expand(request)),
      stats: (request, signal) => call('stats', request, signal, () => this.#stats(request)),
      volumeHealth: (request, signal) =>
        call('volumeHealth', request, signal, () => this.#volumeHealth(request)),
      storageHealth: (request, signal) => call('storageHealth', request, signal, () => this.#storageHealth()),
      close: () => closing.abort(new Aborted('the connection to the driver was closed')),
    };
  }

  async #call<T>(call: CsiCall, signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    this.calls.push(call);
    this.active += 1;
    this.mostActive = Math.max(this.mostActive, this.active);
    try {
      await Promise.resolve();
      signal.throwIfAborted();
      if (!this.isUp)
        throw csiError('UNAVAILABLE', `connection error: dial unix ${this.endpoint}: connection refused`);
      const fault = this.#nextFault(call.method);
      if (fault !== undefined && fault.afterwards !== true) await failWith(fault, signal);
      const result = await work();
      if (fault !== undefined) await failWith(fault, signal);
      return result;
    } finally {
      this.active -= 1;
    }
  }

  #nextFault(method: CsiMethod): CsiFault | undefined {
    const entry = this.#faults.get(method);
    if (entry === undefined || entry.left <= 0) return undefined;
    entry.left -= 1;
    return entry.fault;
  }

  async #stage(request: NodeStageVolumeRequest): Promise<void> {
    const { stagingTargetPath: path, volumeCapability, volumeId } = request;
    if (!this.capabilities.stage) throw csiError('UNIMPLEMENTED', 'NodeStageVolume is not supported');
    if (volumeId === '' || path === '' || volumeCapability === undefined)
      throw csiError('INVALID_ARGUMENT', 'volume id, staging path and capability are required');
    const before = this.staged.get(volumeId);
    if (before !== undefined && before.path !== path)
      throw csiError('FAILED_PRECONDITION', `volume ${volumeId} is staged at ${before.path}`);
    this.staged.set(volumeId, { path, request });
    await this.onWork('stage', path);
  }

  async #unstage({ stagingTargetPath: path, volumeId }: NodeUnstageVolumeRequest): Promise<void> {
    if (!this.capabilities.stage) throw csiError('UNIMPLEMENTED', 'NodeUnstageVolume is not supported');
    if (volumeId === '' || path === '')
      throw csiError('INVALID_ARGUMENT', 'volume id and staging path are required');
    if ([...this.published.values()].some((each) => each.volumeId === volumeId))
      throw csiError('FAILED_PRECONDITION', `volume ${volumeId} is still published`);
    this.staged.delete(volumeId);
    await this.onWork('unstage', path);
  }

  async #publish(request: NodePublishVolumeRequest): Promise<void> {
    const { stagingTargetPath, targetPath, volumeCapability, volumeId } = request;
    if (volumeId === '' || targetPath === '' || volumeCapability === undefined)
      throw csiError('INVALID_ARGUMENT', 'volume id, target path and capability are required');
    if (this.capabilities.stage && this.staged.get(volumeId)?.path !== stagingTargetPath)
      throw csiError('FAILED_PRECONDITION', `volume ${volumeId} is not staged at ${stagingTargetPath}`);
    const before = this.published.get(targetPath);
    if (before !== undefined && before.volumeId !== volumeId)
      throw csiError('ALREADY_EXISTS', `${targetPath} has volume ${before.volumeId}`);
    this.published.set(targetPath, request);
    await this.onWork('publish', targetPath);
  }

  async #unpublish({ targetPath, volumeId }: NodeUnpublishVolumeRequest): Promise<void> {
    if (volumeId === '' || targetPath === '')
      throw csiError('INVALID_ARGUMENT', 'volume id and target path are required');
    this.published.delete(targetPath);
    await this.onWork('unpublish', targetPath);
  }

  #expand({ capacityRange, volumeId, volumePath }: NodeExpandVolumeRequest): bigint {
    if (!this.capabilities.expand) throw csiError('UNIMPLEMENTED', 'NodeExpandVolume is not supported');
    if (volumeId === '' || volumePath === '')
      throw csiError('INVALID_ARGUMENT', 'volume id and volume path are required');
    const bytes = capacityRange?.requiredBytes ?? 0n;
    const limit = capacityRange?.limitBytes ?? 0n;
    if (limit > 0n && bytes > limit) throw csiError('OUT_OF_RANGE', 'the limit is below the required size');
    this.sizes.set(volumeId, bytes);
    return bytes;
  }

  #stats({ volumeId, volumePath }: NodeGetVolumeStatsRequest): NodeGetVolumeStatsResponse {
    if (!this.capabilities.stats) throw csiError('UNIMPLEMENTED', 'NodeGetVolumeStats is not supported');
    if (!this.published.has(volumePath) && ![...this.staged.values()].some(({ path }) => path === volumePath))
      throw csiError('NOT_FOUND', `volume ${volumeId} is not at ${volumePath}`);
    return this.usage;
  }

  #volumeHealth({ volumeId }: NodeGetVolumeHealthRequest): NodeGetVolumeHealthResponse {
    if (!this.capabilities.volumeHealth)
      throw csiError('UNIMPLEMENTED', 'NodeGetVolumeHealth is not supported');
    if (volumeId === '') throw csiError('INVALID_ARGUMENT', 'volume id is required');
    return { volumeHealth: this.volumeHealth.get(volumeId) ?? { volumeId, healthStatuses: [] } };
  }

  #storageHealth(): NodeGetStorageHealthResponse {
    if (!this.capabilities.storageHealth)
      throw csiError('UNIMPLEMENTED', 'NodeGetStorageHealth is not supported');
    return this.storageHealth;
  }
}

function failWith(
  { code = 'INTERNAL', message = 'injected' }: CsiFault,
  signal: AbortSignal,
): Promise<never> {
  if (code !== 'hang') return Promise.reject(csiError(code, message));
  return new Promise((_, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

/** A node's drivers by endpoint; those that are registered also by name. */
export class FakeCsiDrivers implements CsiDialer, CsiDrivers {
  readonly changed = new Channel<string>();
  readonly byEndpoint = new Map<string, FakeCsiDriver>();
  readonly #registered = new Map<string, CsiDriverClient>();

  /** A process that listens; not registered yet. */
  add(
    name: string,
    capabilities: Partial<CsiCapabilities> = {},
    endpoint = `/plugins/${name}/csi.sock`,
  ): FakeCsiDriver {
    const driver = new FakeCsiDriver(name, endpoint, capabilities);
    this.byEndpoint.set(endpoint, driver);
    return driver;
  }

  /** As the registry does after a successful registration. Replaces a driver of the same name. */
  register(driver: FakeCsiDriver): void {
    this.byEndpoint.set(driver.endpoint, driver);
    this.#registered.get(driver.name)?.close();
    this.#registered.set(driver.name, driver.client());
    this.changed.push(driver.name);
  }

  deregister(name: string): void {
    this.#registered.get(name)?.close();
    if (this.#registered.delete(name)) this.changed.push(name);
  }

  /** The drivers whose limits were refreshed. */
  readonly refreshed: string[] = [];

  async refreshAllocatable(driver: string): Promise<void> {
    this.refreshed.push(driver);
  }

  get(driver: string): CsiDriverClient | undefined {
    return this.#registered.get(driver);
  }

  names(): readonly string[] {
    return [...this.#registered.keys()].sort();
  }

  client(driver: string, endpoint: string): CsiDriverClient {
    const found = this.byEndpoint.get(endpoint);
    if (found !== undefined) return found.client();
    const away = new FakeCsiDriver(driver, endpoint);
    away.isUp = false;
    return away.client();
  }
}
