// The state of the fake runtime: sandboxes, containers, reserved names, with lookup by ID and timestamps.
// Invariant: IDs are 64 hex digits and the same in every run; timestamps are of the injected wall clock and unique.
import { createHash } from 'node:crypto';
import type {
  ContainerConfig,
  ContainerState,
  LinuxContainerResources,
  PodSandboxConfig,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { Clock } from '../../src/base/clock.ts';
import { KubeletError } from '../../src/base/errors.ts';
import type { ContainerLog } from './container-log.ts';
import type { FakeImage } from './image-spec.ts';
import type { FakeProcess } from './process.ts';
import { notFound, unknownError } from './rpc-error.ts';

export interface FakeSandbox {
  readonly id: string;
  /** Reserved while it exists, ready or not. */
  readonly name: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtNs: bigint;
  readonly pid: number;
  ready: boolean;
  ip: string;
}

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly sandbox: FakeSandbox;
  readonly config: ContainerConfig;
  readonly image: FakeImage;
  readonly args: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly logPath: string;
  readonly createdAtNs: bigint;
  readonly files: Map<string, string>;
  readonly log: ContainerLog;
  readonly resources: LinuxContainerResources;
  state: ContainerState;
  startedAtNs: bigint;
  finishedAtNs: bigint;
  exitCode: number;
  reason: string;
  message: string;
  process: FakeProcess | undefined;
  stopSignalled: boolean;
  /** A start is in flight: the container can be neither started nor removed. */
  starting: boolean;
  /** The container cannot be removed until the runtime restarts. */
  stuck: boolean;
  /** Each is called once, when the container has exited. */
  readonly whenExited: Set<() => void>;
}

export class FakeState {
  readonly clock: Clock;
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  readonly #seed: string;
  readonly #names = new Map<string, string>();
  #idCount = 0;
  #times = 0;

  constructor(clock: Clock, seed: string) {
    this.clock = clock;
    this.#seed = seed;
  }

  newId(): string {
    return createHash('sha256')
      .update(`${this.#seed}/${this.#idCount++}`)
      .digest('hex');
  }

  newPid(): number {
    return 1000 + this.#idCount;
  }

  nowNs(): bigint {
    return BigInt(Math.floor(this.clock.now())) * 1_000_000n + BigInt(this.#times++ % 1_000_000);
  }

  reserve(what: 'sandbox' | 'container', name: string, id: string): void {
    const key = `${what}/${name}`;
    const holder = this.#names.get(key);
    if (holder !== undefined) {
      throw unknownError(
        `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${holder}"`,
      );
    }
    this.#names.set(key, id);
  }

  release(what: 'sandbox' | 'container', name: string): void {
    this.#names.delete(`${what}/${name}`);
  }

  containersOf(sandbox: FakeSandbox): readonly FakeContainer[] {
    return [...this.containers.values()].filter((container) => container.sandbox === sandbox);
  }

  /** Finds by ID or unique ID prefix. `prefix` is the beginning of the error message, which differs between calls. */
  sandbox(id: string, prefix: (id: string) => string): FakeSandbox {
    return find(this.sandboxes, id, prefix);
  }

  container(id: string, prefix: (id: string) => string): FakeContainer {
    return find(this.containers, id, prefix);
  }

  /** The full ID for the ID prefix of a filter, or the given text if there is none. */
  fullId(map: ReadonlyMap<string, { readonly id: string }>, id: string): string {
    if (id === '') return '';
    try {
      return find(map, id, () => '').id;
    } catch (err) {
      if (err instanceof KubeletError) return id;
      throw err;
    }
  }
}

function find<T>(map: ReadonlyMap<string, T>, id: string, prefix: (id: string) => string): T {
  const exact = map.get(id);
  if (exact !== undefined) return exact;
  if (id === '') throw unknownError(`${prefix(id)}: Prefix can't be empty`);
  const [found, another] = [...map].filter(([key]) => key.startsWith(id));
  if (another !== undefined)
    throw unknownError(`${prefix(id)}: Multiple IDs found with provided prefix: ${id}`);
  if (found === undefined) throw notFound(`${prefix(id)}: not found`);
  return found[1];
}

/** Whether the labels match all pairs of the selector. */
export function selects(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}
