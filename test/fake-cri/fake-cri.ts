// A container runtime in memory that behaves like containerd, on the injected clock. The CRI contract (cri-contract.ts)
// runs on it and on a real containerd.
// Invariants: responses are copies; every call passes the gate (faults, deadline, signal, record); state changes only
// by calls and by processes on the clock.

import {
  type ContainerEventResponse,
  type ContainerEventType,
  type GetEventsRequest,
  ImageServiceDefinition,
  type MessageFns,
  RuntimeServiceDefinition,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CallOptions, CriImages, CriRequest, CriRuntime } from '../../src/api/cri/runtime.ts';
import type { Clock } from '../../src/base/clock.ts';
import { imageOperations, type Operation, runtimeOperations } from '../../src/edge/cri/operations.ts';
import { toContainerStatus } from './container-view.ts';
import { FakeContainers, type HeldStart } from './containers.ts';
import { FakeEvents } from './events.ts';
import { type CriMethodName, Faults, type RequestOf, type ResponseOf } from './faults.ts';
import { type CallRecord, Gate } from './gate.ts';
import { type Condition, type Handlers, handlersOf, type UnaryMethod } from './handlers.ts';
import type { FakeImageSpec } from './image-spec.ts';
import { FakeImages } from './images.ts';
import type { Program } from './process.ts';
import { rpcError } from './rpc-error.ts';
import { FakeSandboxes, toSandboxStatus } from './sandboxes.ts';
import { type FakeContainer, type FakeSandbox, FakeState } from './state.ts';
import { FakeStats, type FakeUsage } from './stats.ts';
import { FakeStreaming } from './streaming.ts';

export interface FakeCriOptions {
  readonly clock: Clock;
  /** Images in the store; `fakeBusybox` by default. */
  readonly images?: readonly FakeImageSpec[];
  /** Whether GetContainerEvents is implemented; containerd before 1.7 has none. Default: true. */
  readonly events?: boolean;
  /** Implements the streaming lists, which no released containerd does. */
  readonly streamsLists?: boolean;
  /** Implements RuntimeConfig, as containerd does from 2.0 on. */
  readonly cgroupDriver?: 'systemd' | 'cgroupfs';
  /** RuntimeClass handlers beside the default one. Status reports that they support recursive read-only mounts. */
  readonly handlers?: readonly string[];
  /** Reported by Status, as containerd does from 2.0 on. */
  readonly supplementalGroupsPolicy?: boolean;
  /** Deadline of calls without a rule of their own, as in the client. */
  readonly requestTimeoutMs?: number;
  /** Another seed yields other IDs. */
  readonly seed?: string;
  /** Receives every log line, for tests that keep logs in files. */
  readonly writeLog?: (path: string, line: string) => void;
  /** Called with the path of every log file when its container starts, before anything is written to it. */
  readonly openLog?: (path: string) => void;
}

export const fakeBusybox: FakeImageSpec = {
  name: 'docker.io/library/busybox:1',
  cmd: ['sh'],
  sizeBytes: 2_131_572,
};

type StreamedList = Extract<CriMethodName, `stream${string}`>;

const definitions = { ...RuntimeServiceDefinition.methods, ...ImageServiceDefinition.methods };
const operations = { ...runtimeOperations, ...imageOperations };

/** Read-only calls are not recorded. */
const readOnly = /^(?:list|version$|status$|runtimeConfig$|imageFsInfo$)|(?:Status|Stats)$/;

export class FakeCri implements CriRuntime, CriImages {
  readonly faults: Faults;
  readonly #options: FakeCriOptions;
  readonly #state: FakeState;
  readonly #gate: Gate;
  readonly #events: FakeEvents;
  readonly #images: FakeImages;
  readonly #containers: FakeContainers;
  readonly #sandboxes: FakeSandboxes;
  readonly #stats: FakeStats;
  readonly #handlers: Handlers;
  readonly #programs = new Map<string, Program>();
  readonly #conditions = new Map<string, Condition>();
  /** The streaming URLs handed out so far; a stream server serves them. */
  readonly streaming: FakeStreaming;

  constructor(options: FakeCriOptions) {
    this.#options = options;
    const state = new FakeState(options.clock, options.seed ?? 'fake-cri');
    this.streaming = new FakeStreaming(state);
    const emit = this.#emit.bind(this);
    this.#state = state;
    this.#gate = new Gate(options.clock, () => this.faults);
    this.#events = new FakeEvents(this.#gate);
    this.faults = new Faults(this.#faultTarget());
    this.#images = new FakeImages(state);
    for (const image of options.images ?? [fakeBusybox]) this.#images.add(image);
    this.#stats = new FakeStats(state);
    this.#containers = new FakeContainers({
      state,
      images: this.#images,
      programs: this.#programs,
      writeLog: options.writeLog ?? (() => undefined),
      openLog: options.openLog ?? (() => undefined),
      emit,
    });
    this.#sandboxes = new FakeSandboxes({
      state,
      containers: this.#containers,
      networkFault: () => this.#networkFault(),
      handlers: new Set(['', 'runc', ...(options.handlers ?? [])]),
      emit,
    });
    this.#handlers = handlersOf({
      state,
      images: this.#images,
      containers: this.#containers,
      sandboxes: this.#sandboxes,
      stats: this.#stats,
      streaming: this.streaming,
      conditions: () => ['RuntimeReady', 'NetworkReady'].map((type) => this.#condition(type)),
      cgroupDriver: options.cgroupDriver,
      runtimeHandlers: options.handlers ?? [],
      supplementalGroupsPolicy: options.supplementalGroupsPolicy,
    });
  }

  // ---- controls for tests ----

  /** Every mutating call and ExecSync, in order. */
  get calls(): readonly CallRecord[] {
    return this.#gate.calls;
  }

  /** Containers of this name run this program from their next start on, whatever their command is. */
  setProgram(containerName: string, program: Program): void {
    this.#programs.set(containerName, program);
  }

  setUsage(containerName: string, usage: Partial<FakeUsage>): void {
    this.#stats.usage.set(containerName, usage);
  }

  /** Puts an image into the store; returns its id. */
  addImage(spec: FakeImageSpec): string {
    return this.#images.add(spec).id;
  }

  /** Makes an image pullable. */
  publishImage(spec: FakeImageSpec): void {
    this.#images.publish(spec);
  }

  /** RuntimeReady and NetworkReady are true by default. Without a network only host-network sandboxes run. */
  setCondition(type: 'RuntimeReady' | 'NetworkReady', status: boolean, reason = '', message = ''): void {
    this.#conditions.set(type, { type, status, reason, message });
  }

  /** Ends the container's process as if it had exited by itself. */
  exitContainer(idOrName: string, code: number, options: { readonly oomKilled?: boolean } = {}): void {
    this.container(idOrName).process?.end(code, options.oomKilled ?? false);
  }

  /**
   * Cuts off the next start of a container of this name at the one moment at which containerd loses its task: the
   * container is exited without having run, and cannot be removed until the runtime restarts.
   */
  loseStart(containerName: string): void {
    this.#containers.lost.add(containerName);
  }

  /**
   * Lets the next start of a container of this name hang until its caller disconnects. The runtime then continues for a
   * while, during which the container can be neither started nor removed.
   */
  holdStart(containerName: string, held: Partial<HeldStart> = {}): void {
    this.#containers.held.set(containerName, { continuesMs: 100, outcome: 'start-error', ...held });
  }

  /** Kills the sandbox's own process: the sandbox is no longer ready. */
  killSandbox(podSandboxId: string): void {
    this.#sandboxes.die(podSandboxId);
  }

  /** The log so far, in the CRI's format. */
  logs(idOrName: string): readonly string[] {
    return this.container(idOrName).log.lines;
  }

  /** The files of the container, read and written by its programs. */
  files(idOrName: string): Map<string, string> {
    return this.container(idOrName).files;
  }

  /** The container with this ID, or the newest one of this name. */
  container(idOrName: string): Readonly<FakeContainer> {
    const all = [...this.#state.containers.values()];
    const named = all.findLast((container) => container.config.metadata?.name === idOrName);
    return named ?? this.#state.container(idOrName, (text) => `fake runtime has no container "${text}"`);
  }

  /** In the order of their creation, also those that have exited. */
  containers(): readonly Readonly<FakeContainer>[] {
    return [...this.#state.containers.values()];
  }

  /** Ends every process, so that no timer stays pending. */
  close(): void {
    for (const container of this.#state.containers.values()) this.#containers.kill(container);
  }

  // ---- RuntimeService and ImageService ----

  readonly version = this.#rpc('version');
  readonly status = this.#rpc('status');
  readonly runtimeConfig = this.#rpc('runtimeConfig');
  readonly updateRuntimeConfig = this.#rpc('updateRuntimeConfig');
  readonly runPodSandbox = this.#rpc('runPodSandbox');
  readonly stopPodSandbox = this.#rpc('stopPodSandbox');
  readonly removePodSandbox = this.#rpc('removePodSandbox');
  readonly podSandboxStatus = this.#rpc('podSandboxStatus');
  readonly listPodSandbox = this.#rpc('listPodSandbox');
  readonly updatePodSandboxResources = this.#rpc('updatePodSandboxResources');
  readonly createContainer = this.#rpc('createContainer');
  readonly startContainer = this.#rpc('startContainer');
  readonly stopContainer = this.#rpc('stopContainer');
  readonly removeContainer = this.#rpc('removeContainer');
  readonly containerStatus = this.#rpc('containerStatus');
  readonly listContainers = this.#rpc('listContainers');
  readonly updateContainerResources = this.#rpc('updateContainerResources');
  readonly reopenContainerLog = this.#rpc('reopenContainerLog');
  readonly checkpointContainer = this.#rpc('checkpointContainer');
  readonly execSync = this.#rpc('execSync');
  readonly exec = this.#rpc('exec');
  readonly attach = this.#rpc('attach');
  readonly portForward = this.#rpc('portForward');
  readonly containerStats = this.#rpc('containerStats');
  readonly listContainerStats = this.#rpc('listContainerStats');
  readonly podSandboxStats = this.#rpc('podSandboxStats');
  readonly listPodSandboxStats = this.#rpc('listPodSandboxStats');
  readonly listMetricDescriptors = this.#rpc('listMetricDescriptors');
  readonly listPodSandboxMetrics = this.#rpc('listPodSandboxMetrics');
  readonly pullImage = this.#rpc('pullImage');
  readonly imageStatus = this.#rpc('imageStatus');
  readonly listImages = this.#rpc('listImages');
  readonly removeImage = this.#rpc('removeImage');
  readonly imageFsInfo = this.#rpc('imageFsInfo');

  readonly checkpointPod = this.#rpc('checkpointPod');
  readonly restorePod = this.#rpc('restorePod');
  readonly streamPodSandboxes = this.#streamed('streamPodSandboxes', async (request, options) =>
    (await this.listPodSandbox(request, options)).items.map((item) => ({ podSandboxes: [item] })),
  );
  readonly streamContainers = this.#streamed('streamContainers', async (request, options) =>
    (await this.listContainers(request, options)).containers.map((item) => ({ containers: [item] })),
  );
  readonly streamContainerStats = this.#streamed('streamContainerStats', async (request, options) =>
    (await this.listContainerStats(request, options)).stats.map((item) => ({ containerStats: [item] })),
  );
  readonly streamPodSandboxStats = this.#streamed('streamPodSandboxStats', async (request, options) =>
    (await this.listPodSandboxStats(request, options)).stats.map((item) => ({ podSandboxStats: [item] })),
  );
  readonly streamPodSandboxMetrics = this.#streamed('streamPodSandboxMetrics', async (request, options) =>
    (await this.listPodSandboxMetrics(request, options)).podMetrics.map((item) => ({
      podSandboxMetrics: [item],
    })),
  );
  readonly streamImages = this.#streamed('streamImages', async (request, options) =>
    (await this.listImages(request, options)).images.map((item) => ({ images: [item] })),
  );

  async *getContainerEvents(
    _request: GetEventsRequest,
    options: CallOptions,
  ): AsyncGenerator<ContainerEventResponse> {
    if (this.#options.events === false) {
      throw rpcError('UNIMPLEMENTED', 'method GetContainerEvents not implemented', {
        method: 'GetContainerEvents',
      });
    }
    await this.faults.apply('getContainerEvents', {}, 'before');
    yield* this.#events.stream(options);
  }

  #rpc<K extends UnaryMethod>(method: K): (CriRuntime & CriImages)[K] {
    const { name, requestType, responseType } = definitions[method];
    const requests = requestType as unknown as MessageFns<unknown>;
    const responses = responseType as unknown as MessageFns<unknown>;
    const operation = operations[method] as Operation<unknown, unknown>;
    const call = async (partial: unknown, options: CallOptions = {}): Promise<unknown> => {
      const request = requests.fromPartial(partial as object);
      const base = this.#options.requestTimeoutMs ?? 120_000;
      const timeoutMs = options.timeoutMs ?? operation.timeoutMs?.(request, base) ?? base;
      const handler = this.#handlers[method] as (request: unknown, signal: AbortSignal) => unknown;
      const mutates = !readOnly.test(method);
      return this.#gate.pass({ method, name, request, mutates, timeoutMs, options }, async (signal) =>
        responses.fromPartial((await handler(request, signal)) as object),
      );
    };
    return call as unknown as (CriRuntime & CriImages)[K];
  }

  #streamed<K extends StreamedList>(
    method: K,
    list: (request: RequestOf<K>, options: CallOptions) => Promise<readonly ResponseOf<K>[]>,
  ): (request: CriRequest<RequestOf<K>>, options: CallOptions) => AsyncGenerator<ResponseOf<K>> {
    const { name, requestType } = definitions[method];
    const requests = requestType as unknown as MessageFns<unknown>;
    return (partial, options) => {
      const request = requests.fromPartial(partial) as RequestOf<K>;
      return this.#stream({ method, name, request }, () => list(request, options));
    };
  }

  /** One item per message. A fault `after` ends the stream behind its last message. */
  async *#stream<T>(
    { method, name, request }: { method: StreamedList; name: string; request: unknown },
    list: () => Promise<readonly T[]>,
  ): AsyncGenerator<T> {
    if (this.#options.streamsLists !== true)
      throw rpcError('UNIMPLEMENTED', `method ${name} not implemented`, { method: name });
    await this.faults.apply(method, request, 'before');
    yield* await list();
    await this.faults.apply(method, request, 'after');
  }

  #faultTarget(): ConstructorParameters<typeof Faults>[0] {
    return {
      goDown: () => this.#gate.goDown(),
      comeUp: () => {
        for (const container of this.#state.containers.values()) container.stuck = false;
        this.#gate.comeUp();
      },
      loseEvents: (lost) => {
        this.#events.lost = lost;
      },
      after: (ms, fn) => {
        this.#options.clock.setTimer(ms, fn);
      },
    };
  }

  #condition(type: string): Condition {
    return this.#conditions.get(type) ?? { type, status: true, reason: '', message: '' };
  }

  #networkFault(): string | undefined {
    const { status, message } = this.#condition('NetworkReady');
    return status ? undefined : message || 'cni plugin not initialized';
  }

  #emit(type: ContainerEventType, containerId: string, sandbox: FakeSandbox): void {
    const containers = this.#state.containersOf(sandbox);
    this.#events.push({
      containerId,
      containerEventType: type,
      createdAt: this.#state.nowNs(),
      podSandboxStatus: toSandboxStatus(sandbox),
      containersStatuses: containers.map((container) => toContainerStatus(container, this.#images)),
    });
  }
}
