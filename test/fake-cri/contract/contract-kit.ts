// The kit of the CRI contract: a subject (fake or real), pods with unique names, and waiting that advances a fake clock
// or waits on a real one.
// Invariant: a case leaves no sandbox behind, whether it passes or fails.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'vitest';
import {
  type ContainerConfig,
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  type PodSandboxConfig,
} from '../../../src/api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRequest, CriRuntime } from '../../../src/api/cri/runtime.ts';

export interface CriSubject {
  readonly runtime: CriRuntime;
  readonly images: CriImages;
  /** The name of a busybox image that is present. */
  readonly image: string;
  /** The pause image is present, so that sandboxes start at once. */
  readonly pauseReady: true;
  /** The major version of containerd, which the fake runtime takes after: errors have other texts from 2.0 on. */
  readonly major: number;
  /** Whether stopping a missing sandbox or container succeeds, as from containerd 1.7 on. */
  readonly stopsAbsent: boolean;
  /** Whether the runtime implements GetContainerEvents. */
  readonly hasEvents: boolean;
  /** Whether the runtime implements the streaming lists. */
  readonly streamsLists: boolean;
  /** Advances the fake clock, or waits for that long on a real runtime. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
  /** The parent of all cgroups; the runtime's own by default. */
  readonly cgroupParent?: string;
  /** The directory of container logs; none are written by default. */
  readonly logDirectory?: string;
  /** Reads the host's file by default. */
  readonly readLog?: (path: string) => Promise<string>;
}

export const absentId = 'f'.repeat(64);

type ContractCase = (subject: CriSubject, kit: Kit) => Promise<void>;
export type DefineCase = (name: string, body: ContractCase) => void;

export function defineCases(subject: () => CriSubject): DefineCase {
  return (name, body) =>
    test(name, { timeout: 60_000 }, async () => {
      const kit = new Kit(subject());
      try {
        await body(subject(), kit);
      } finally {
        await kit.cleanUp();
      }
    });
}

interface ContainerOptions {
  readonly command?: readonly string[];
  readonly attempt?: number;
  readonly image?: string;
  /** Whether it shares the PID namespace of its pod; by default it has its own. */
  readonly podPid?: boolean;
  readonly memoryBytes?: number;
  readonly labels?: Record<string, string>;
}

export class Kit {
  readonly #subject: CriSubject;
  readonly #sandboxes: string[] = [];

  constructor(subject: CriSubject) {
    this.#subject = subject;
  }

  /** A configuration with a unique name. */
  podConfig(extra: CriRequest<PodSandboxConfig> = {}): CriRequest<PodSandboxConfig> {
    const name = `contract-${randomUUID().slice(0, 13)}`;
    const { cgroupParent = '', logDirectory } = this.#subject;
    return {
      metadata: { name, namespace: 'contract', uid: `uid-of-${name}`, attempt: 0 },
      hostname: 'contract',
      logDirectory: logDirectory === undefined ? '' : `${logDirectory}/${name}`,
      labels: { pod: name, suite: 'contract' },
      annotations: { 'example.com/note': 'as it is' },
      linux: { cgroupParent, securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
      ...extra,
    };
  }

  async runPod(config: CriRequest<PodSandboxConfig> = this.podConfig()): Promise<Pod> {
    const { podSandboxId } = await this.#subject.runtime.runPodSandbox({ config });
    this.#sandboxes.push(podSandboxId);
    return new Pod(this.#subject, podSandboxId, config);
  }

  async cleanUp(): Promise<void> {
    for (const podSandboxId of this.#sandboxes)
      await this.#subject.runtime.removePodSandbox({ podSandboxId });
  }

  /** Advances time until the condition holds. */
  async until(what: string, holds: () => Promise<boolean>, withinMs = 10_000): Promise<void> {
    for (let passedMs = 0; passedMs <= withinMs; passedMs += 50) {
      if (await holds()) return;
      await this.#subject.advance(50);
    }
    throw new Error(`timed out after ${withinMs} ms waiting for: ${what}`);
  }

  /** Advances time until the call settles, and returns how long that took in the subject's time. */
  async timeCall<T>(call: Promise<T>): Promise<{ readonly value: T; readonly tookMs: number }> {
    const state = { settled: false };
    const mark = (): void => {
      state.settled = true;
    };
    call.then(mark, mark);
    let tookMs = 0;
    await this.#subject.advance(0);
    while (!state.settled && tookMs < 30_000) {
      await this.#subject.advance(50);
      tookMs += 50;
    }
    return { value: await call, tookMs };
  }
}

class Pod {
  readonly id: string;
  readonly config: CriRequest<PodSandboxConfig>;
  readonly #subject: CriSubject;

  constructor(subject: CriSubject, id: string, config: CriRequest<PodSandboxConfig>) {
    this.#subject = subject;
    this.id = id;
    this.config = config;
  }

  containerConfig(name: string, options: ContainerOptions = {}): CriRequest<ContainerConfig> {
    const pid = options.podPid === true ? NamespaceMode.POD : NamespaceMode.CONTAINER;
    return {
      metadata: { name, attempt: options.attempt ?? 0 },
      image: { image: options.image ?? this.#subject.image },
      command: options.command ?? ['sleep', '1000'],
      labels: { container: name, ...options.labels },
      annotations: { 'example.com/hash': '1' },
      logPath: `${name}.log`,
      linux: {
        resources: { memoryLimitInBytes: options.memoryBytes ?? 0 },
        securityContext: { namespaceOptions: { pid } },
      },
    };
  }

  async create(name: string, options: ContainerOptions = {}): Promise<string> {
    const { containerId } = await this.#subject.runtime.createContainer({
      podSandboxId: this.id,
      config: this.containerConfig(name, options),
      sandboxConfig: this.config,
    });
    return containerId;
  }

  async start(name: string, options: ContainerOptions = {}): Promise<string> {
    const containerId = await this.create(name, options);
    await this.#subject.runtime.startContainer({ containerId });
    // A shell needs a moment to set its traps.
    await this.#subject.advance(150);
    return containerId;
  }

  async status(containerId: string): Promise<ContainerStatus> {
    const { status } = await this.#subject.runtime.containerStatus({ containerId });
    if (status === undefined) throw new Error('no status');
    return status;
  }

  async exited(kit: Kit, containerId: string): Promise<ContainerStatus> {
    const isExited = async (): Promise<boolean> =>
      (await this.status(containerId)).state === ContainerState.CONTAINER_EXITED;
    await kit.until(`container ${containerId} to exit`, isExited);
    return this.status(containerId);
  }

  async readLog(containerId: string): Promise<readonly string[]> {
    const { logPath } = await this.status(containerId);
    const read = this.#subject.readLog ?? ((path: string) => readFile(path, 'utf8'));
    return (await read(logPath)).split('\n').filter((line) => line !== '');
  }
}
