// Containers of the fake runtime: created, running, exited, with containerd's behaviour and messages.
// Invariants: timestamps grow from state to state; an exited container never runs again; a container that failed to
// start is exited with code 128 and StartError.
import {
  ContainerEventType,
  ContainerState,
  type CreateContainerRequest,
  type LinuxContainerResources,
  NamespaceMode,
  LinuxContainerResources as Resources,
  Signal,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { ContainerLog } from './container-log.ts';
import type { FakeImage } from './image-spec.ts';
import type { FakeImages } from './images.ts';
import { type Exit, FakeProcess, type Program, type SignalName, signalNumbers } from './process.ts';
import { findProgram } from './programs.ts';
import { notFound, rpcError, unknownError } from './rpc-error.ts';
import type { FakeContainer, FakeSandbox, FakeState } from './state.ts';

interface ContainerDeps {
  readonly state: FakeState;
  readonly images: FakeImages;
  readonly programs: ReadonlyMap<string, Program>;
  readonly writeLog: (path: string, line: string) => void;
  /** Creates the log file if it does not exist. */
  readonly openLog: (path: string) => void;
  readonly emit: (type: ContainerEventType, id: string, sandbox: FakeSandbox) => void;
}

/** A StartContainer call whose caller is going to be killed. */
export interface HeldStart {
  /** How long the runtime keeps working on it after its caller has disconnected. */
  readonly continuesMs: number;
  /** How the start ends then. */
  readonly outcome: 'start-error' | 'running';
}

const stateNames = [
  'CONTAINER_CREATED',
  'CONTAINER_RUNNING',
  'CONTAINER_EXITED',
  'CONTAINER_UNKNOWN',
] as const;
/** The host name of the fake runtime's machine. */
const fakeNodeName = 'fake-node';
const taskFailed = 'failed to create containerd task: failed to create shim task: OCI runtime create failed:';

export class FakeContainers {
  readonly #deps: ContainerDeps;
  /** Names of containers whose next start loses its task. */
  readonly lost = new Set<string>();
  /** By container name: the next start waits until its caller has disconnected. */
  readonly held = new Map<string, HeldStart>();

  constructor(deps: ContainerDeps) {
    this.#deps = deps;
  }

  create(request: CreateContainerRequest, sandbox: FakeSandbox): string {
    const { state, images, emit } = this.#deps;
    const { config } = request;
    const metadata = config?.metadata;
    if (config === undefined || metadata === undefined) {
      throw unknownError('container config must include metadata');
    }
    const id = state.newId();
    const owner = sandbox.config.metadata;
    const name = [metadata.name, owner?.name, owner?.namespace, owner?.uid, metadata.attempt].join('_');
    state.reserve('container', name, id);
    try {
      const text = config.image?.image ?? '';
      const image = images.find(text);
      if (image === undefined) throw notFound(`failed to resolve image "${text}": not found`);
      const args = argsOf(config.command, config.args, image);
      if (args.length === 0) {
        throw unknownError(
          `failed to generate container "${id}" spec: failed to generate spec: no command specified`,
        );
      }
      const hostname = request.sandboxConfig?.hostname || fakeNodeName;
      const env = new Map(Object.entries({ PATH: '/bin', ...image.spec.env, HOSTNAME: hostname }));
      for (const { key, value } of config.envs) env.set(key, Buffer.from(value).toString());
      const directory = request.sandboxConfig?.logDirectory || sandbox.config.logDirectory;
      const logPath = config.logPath === '' || directory === '' ? '' : `${directory}/${config.logPath}`;
      state.containers.set(id, {
        id,
        name,
        sandbox,
        config,
        image,
        args,
        env,
        logPath,
        createdAtNs: state.nowNs(),
        files: new Map(),
        log: new ContainerLog((line) => logPath !== '' && this.#deps.writeLog(logPath, line)),
        resources: Resources.fromPartial(config.linux?.resources ?? {}),
        state: ContainerState.CONTAINER_CREATED,
        startedAtNs: 0n,
        finishedAtNs: 0n,
        exitCode: 0,
        reason: '',
        message: '',
        process: undefined,
        stopSignalled: false,
        starting: false,
        stuck: false,
        whenExited: new Set(),
      });
    } catch (err) {
      state.release('container', name);
      throw err;
    }
    emit(ContainerEventType.CONTAINER_CREATED_EVENT, id, sandbox);
    return id;
  }

  /** Undefined if this start is not held. Otherwise it never succeeds for its caller. */
  startHeld(id: string, signal: AbortSignal): Promise<never> | undefined {
    const container = this.find(id);
    const name = container.config.metadata?.name ?? '';
    const held = this.held.get(name);
    if (held === undefined || container.starting || container.state !== ContainerState.CONTAINER_CREATED)
      return undefined;
    this.held.delete(name);
    container.starting = true;
    this.#deps.openLog(container.logPath);
    return new Promise((_resolve, reject) => {
      const finishStart = (): void => {
        container.starting = false;
        if (held.outcome === 'running') this.start(id);
        else
          this.#startFailed(
            container,
            'failed to create containerd task: failed to create shim task: context canceled: unknown',
          );
      };
      signal.addEventListener(
        'abort',
        () => {
          reject(signal.reason);
          this.#deps.state.clock.setTimer(held.continuesMs, finishStart);
        },
        { once: true },
      );
    });
  }

  start(id: string): void {
    const container = this.find(id);
    if (container.starting) {
      throw unknownError(
        `failed to set starting state for container "${container.id}": container is already in starting state`,
      );
    }
    if (container.state !== ContainerState.CONTAINER_CREATED) {
      const where = stateNames[container.state === ContainerState.UNRECOGNIZED ? 3 : container.state];
      throw unknownError(
        `failed to set starting state for container "${container.id}": container is in ${where} state`,
      );
    }
    if (!container.sandbox.ready) {
      throw this.#startFailed(container, `sandbox container "${container.sandbox.id}" is not running`);
    }
    if (this.lost.delete(container.config.metadata?.name ?? '')) {
      container.stuck = true;
      throw this.#startFailed(
        container,
        'failed to create containerd task: failed to get task pid: context canceled: unknown',
      );
    }
    this.#deps.openLog(container.logPath);
    const own = this.#deps.programs.get(container.config.metadata?.name ?? '');
    const found = own === undefined ? findProgram(container.args) : { program: own };
    if ('error' in found)
      throw this.#startFailed(container, `${taskFailed} runc create failed: ${found.error}: unknown`);
    const process = this.#processOf(container, found.program);
    container.process = process;
    container.state = ContainerState.CONTAINER_RUNNING;
    container.startedAtNs = this.#deps.state.nowNs();
    this.#deps.emit(ContainerEventType.CONTAINER_STARTED_EVENT, container.id, container.sandbox);
    process.start();
  }

  #processOf(container: FakeContainer, program: Program): FakeProcess {
    const { state } = this.#deps;
    const pid = container.config.linux?.securityContext?.namespaceOptions?.pid ?? NamespaceMode.POD;
    return new FakeProcess({
      clock: state.clock,
      program,
      args: container.args,
      env: container.env,
      files: container.files,
      isInit: pid === NamespaceMode.CONTAINER,
      memoryLimitBytes: Number(container.resources.memoryLimitInBytes),
      write: (stream, text) => container.log.append(stream, text, state.nowNs()),
      onExit: (exit) => this.#exited(container, exit),
    });
  }

  #exited(container: FakeContainer, exit: Exit): void {
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAtNs = this.#deps.state.nowNs();
    container.log.end(container.finishedAtNs);
    container.exitCode = exit.code;
    container.reason = exit.oomKilled ? 'OOMKilled' : exit.code === 0 ? 'Completed' : 'Error';
    this.#announceExit(container);
  }

  #startFailed(container: FakeContainer, message: string): Error {
    container.state = ContainerState.CONTAINER_EXITED;
    container.finishedAtNs = this.#deps.state.nowNs();
    container.exitCode = 128;
    container.reason = 'StartError';
    container.message = message;
    this.#announceExit(container);
    return unknownError(message);
  }

  #announceExit(container: FakeContainer): void {
    for (const notify of container.whenExited) notify();
    container.whenExited.clear();
    this.#deps.emit(ContainerEventType.CONTAINER_STOPPED_EVENT, container.id, container.sandbox);
  }

  /** Sends the stop signal and kills the container after the timeout. An aborted call leaves the container running. */
  async stop(id: string, timeoutSeconds: bigint, signal: AbortSignal): Promise<void> {
    const container = this.find(id);
    if (container.state !== ContainerState.CONTAINER_RUNNING) return;
    if (timeoutSeconds > 0n) {
      if (!container.stopSignalled) {
        container.stopSignalled = true;
        container.process?.signal(stopSignalOf(container));
      }
      if (await this.#exitsWithin(container, Number(timeoutSeconds) * 1000, signal)) return;
    }
    this.kill(container);
  }

  #exitsWithin(container: FakeContainer, ms: number, signal: AbortSignal): Promise<boolean> {
    if (container.process?.exit !== undefined) return Promise.resolve(true);
    return new Promise((resolve, reject) => {
      const finish = (end: () => void): void => {
        timer.cancel();
        container.whenExited.delete(onExit);
        signal.removeEventListener('abort', onAbort);
        end();
      };
      const onExit = (): void => finish(() => resolve(true));
      const onAbort = (): void => finish(() => reject(signal.reason));
      const timer = this.#deps.state.clock.setTimer(ms, () => finish(() => resolve(false)));
      container.whenExited.add(onExit);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Takes effect at once; a container that is not running is left alone. */
  kill(container: FakeContainer): void {
    container.process?.signal('KILL');
  }

  remove(id: string): void {
    const { state, emit } = this.#deps;
    if (id !== '' && state.fullId(state.containers, id) === id && !state.containers.has(id)) return;
    const container = this.find(id);
    if (container.starting) {
      throw unknownError(
        `failed to set removing state for container "${container.id}": container is in starting state, can't be removed`,
      );
    }
    if (container.stuck) {
      throw rpcError(
        'FAILED_PRECONDITION',
        `failed to delete containerd container "${container.id}": cannot delete running task ${container.id}: failed precondition`,
      );
    }
    this.kill(container);
    state.containers.delete(container.id);
    state.release('container', container.name);
    emit(ContainerEventType.CONTAINER_DELETED_EVENT, container.id, container.sandbox);
  }

  update(id: string, resources: LinuxContainerResources | undefined): void {
    const container = this.#deps.state.container(id, () => 'failed to find container');
    for (const [key, value] of Object.entries(resources ?? {})) {
      if (value && (typeof value !== 'object' || Object.keys(value).length > 0)) {
        Object.assign(container.resources, { [key]: value });
      }
    }
  }

  reopenLog(id: string): void {
    const { logPath, state } = this.find(id);
    if (state !== ContainerState.CONTAINER_RUNNING) throw unknownError('container is not running');
    this.#deps.openLog(logPath);
  }

  find(id: string): FakeContainer {
    return this.#deps.state.container(id, (text) => `an error occurred when try to find container "${text}"`);
  }
}

/** A command replaces the image's entrypoint and arguments; arguments alone replace only the image's arguments. */
function argsOf(command: readonly string[], args: readonly string[], { spec }: FakeImage): readonly string[] {
  if (command.length > 0) return [...command, ...args];
  return [...(spec.entrypoint ?? []), ...(args.length > 0 ? args : (spec.cmd ?? []))];
}

function stopSignalOf(container: FakeContainer): SignalName {
  const wanted = container.config.stopSignal;
  const name =
    Object.entries(Signal)
      .find(([, value]) => value === wanted)?.[0]
      ?.replace(/^SIG/, '') ?? 'TERM';
  return name in signalNumbers ? (name as SignalName) : 'TERM';
}
