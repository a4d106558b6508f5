// Sandboxes of the fake runtime, with containerd's behaviour.
// Invariants: a name is reserved from RunPodSandbox until RemovePodSandbox; a stopped sandbox has no running container
// and no address; a sandbox that died by itself keeps its address until it is stopped.
import {
  ContainerEventType,
  type ListPodSandboxRequest,
  NamespaceMode,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
  type RunPodSandboxRequest,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { FakeContainers } from './containers.ts';
import { notFound, unknownError } from './rpc-error.ts';
import { type FakeSandbox, type FakeState, selects } from './state.ts';

interface SandboxDeps {
  readonly state: FakeState;
  readonly containers: FakeContainers;
  readonly networkFault: () => string | undefined;
  readonly handlers: ReadonlySet<string>;
  readonly emit: (type: ContainerEventType, id: string, sandbox: FakeSandbox) => void;
}

export class FakeSandboxes {
  readonly #deps: SandboxDeps;
  #addresses = 1;

  constructor(deps: SandboxDeps) {
    this.#deps = deps;
  }

  run({ config, runtimeHandler }: RunPodSandboxRequest): string {
    const { state, emit, networkFault, handlers } = this.#deps;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw unknownError('sandbox config must include metadata');
    }
    const id = state.newId();
    const name = [metadata.name, metadata.namespace, metadata.uid, metadata.attempt].join('_');
    state.reserve('sandbox', name, id);
    const hostNetwork = networkOf(config) === NamespaceMode.NODE;
    const fault = hostNetwork ? undefined : networkFault();
    const error = !handlers.has(runtimeHandler)
      ? `failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`
      : fault && `failed to setup network for sandbox "${id}": ${fault}`;
    if (error !== undefined) {
      state.release('sandbox', name);
      throw unknownError(error);
    }
    const sandbox: FakeSandbox = {
      id,
      name,
      config,
      runtimeHandler,
      createdAtNs: state.nowNs(),
      pid: state.newPid(),
      ready: true,
      ip: hostNetwork ? '' : this.#nextAddress(),
    };
    state.sandboxes.set(id, sandbox);
    emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox);
    emit(ContainerEventType.CONTAINER_STARTED_EVENT, id, sandbox);
    return id;
  }

  stop(id: string): void {
    this.#stop(
      this.#deps.state.sandbox(id, (text) => `an error occurred when try to find sandbox "${text}"`),
    );
  }

  #stop(sandbox: FakeSandbox): void {
    const { state, containers, emit } = this.#deps;
    for (const container of state.containersOf(sandbox)) containers.kill(container);
    sandbox.ip = '';
    if (!sandbox.ready) return;
    sandbox.ready = false;
    emit(ContainerEventType.CONTAINER_STOPPED_EVENT, sandbox.id, sandbox);
  }

  remove(id: string): void {
    const { state, containers, emit } = this.#deps;
    const found = this.#unlessGone(id);
    if (found === undefined) return;
    this.#stop(found);
    for (const container of state.containersOf(found)) containers.remove(container.id);
    state.sandboxes.delete(found.id);
    state.release('sandbox', found.name);
    emit(ContainerEventType.CONTAINER_DELETED_EVENT, found.id, found);
  }

  /** Undefined if it does not exist, since removing it succeeds then; an invalid ID is still an error. */
  #unlessGone(id: string): FakeSandbox | undefined {
    const { state } = this.#deps;
    if (id !== '' && state.fullId(state.sandboxes, id) === id && !state.sandboxes.has(id)) return undefined;
    return state.sandbox(id, (text) => `an error occurred when try to find sandbox "${text}"`);
  }

  /** Ends the sandbox's own process. */
  die(id: string): void {
    const { state, containers, emit } = this.#deps;
    const sandbox = state.sandbox(id, () => 'no sandbox to kill');
    sandbox.ready = false;
    // The containers that share its PID namespace end with it.
    for (const container of state.containersOf(sandbox)) {
      const pid = container.config.linux?.securityContext?.namespaceOptions?.pid ?? NamespaceMode.POD;
      if (pid === NamespaceMode.POD) containers.kill(container);
    }
    emit(ContainerEventType.CONTAINER_STOPPED_EVENT, id, sandbox);
  }

  status(id: string): PodSandboxStatus {
    return toSandboxStatus(this.#deps.state.sandbox(id, () => 'an error occurred when try to find sandbox'));
  }

  /** The sandbox for a new container. */
  running(id: string): FakeSandbox {
    const sandbox = this.#deps.state.sandbox(id, (text) => `failed to find sandbox id "${text}"`);
    if (sandbox.ready) return sandbox;
    throw notFound(
      `failed to get sandbox container task: no running task found: task ${sandbox.id} not found: not found`,
    );
  }

  list({ filter }: ListPodSandboxRequest): PodSandbox[] {
    const { state } = this.#deps;
    const id = state.fullId(state.sandboxes, filter?.id ?? '');
    return [...state.sandboxes.values()]
      .filter((sandbox) => id === '' || sandbox.id === id)
      .filter((sandbox) => filter?.state === undefined || filter.state.state === stateOf(sandbox))
      .filter((sandbox) => selects(filter?.labelSelector ?? {}, sandbox.config.labels))
      .map(toSandbox);
  }

  #nextAddress(): string {
    const n = ++this.#addresses;
    return `10.88.${(n >> 8) & 0xff}.${n & 0xff}`;
  }
}

function networkOf(config: FakeSandbox['config']): NamespaceMode {
  return config.linux?.securityContext?.namespaceOptions?.network ?? NamespaceMode.POD;
}

function stateOf(sandbox: FakeSandbox): PodSandboxState {
  return sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

function toSandbox(sandbox: FakeSandbox): PodSandbox {
  const { metadata, labels, annotations } = sandbox.config;
  return {
    id: sandbox.id,
    metadata,
    state: stateOf(sandbox),
    createdAt: sandbox.createdAtNs,
    labels,
    annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

export function toSandboxStatus(sandbox: FakeSandbox): PodSandboxStatus {
  const options = sandbox.config.linux?.securityContext?.namespaceOptions;
  const { network = 0, pid = 0, ipc = 0, targetId = '' } = options ?? {};
  return {
    ...toSandbox(sandbox),
    network: { ip: sandbox.ip, additionalIps: [] },
    linux: { namespaces: { options: { network, pid, ipc, targetId, usernsOptions: undefined } } },
  };
}
