// Moves processes outside pods to their configured cgroups: the kubelet to kubeletCgroups, and every process in the root
// cgroup to systemCgroups. Upstream: setupNode, ensureSystemCgroups and ensureProcessInContainerWithOOMScore in
// pkg/kubelet/cm/container_manager_linux.go. Invariants: PID 1, kernel threads and a kubelet that runs in a container are
// never moved; the check is one read a minute, and nothing is written while every process is in place.

import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component, LoopLoad } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';

interface SystemCgroupsDeps {
  readonly processes: {
    create(path: string): Promise<void>;
    move(pid: number, path: string): Promise<void>;
    inRoot(): Promise<readonly number[]>;
    isKernelThread(pid: number): Promise<boolean>;
    isOnHost(pid: number): Promise<boolean>;
    cgroupOf(pid: number): Promise<string>;
  };
  readonly ownPid: number;
  /** kubeletCgroups; empty to leave the kubelet where it is. */
  readonly kubelet: string;
  /** systemCgroups; empty to leave other processes where they are. */
  readonly system: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const periodMs = 60_000;
const retryMaxMs = 60_000;
/** Processes may fork while they are moved. */
const maxPasses = 11;

type Task = 'kubelet' | 'system';

export class SystemCgroups implements Component {
  readonly name = 'system-cgroups';
  readonly #deps: SystemCgroupsDeps;
  readonly #queue: KeyedQueue<Task>;
  /** The last error logged. The same error is not logged again. */
  readonly #loggedErrors = new Map<Task, string>();

  constructor(deps: SystemCgroupsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<Task>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: 1_000, maxMs: retryMaxMs },
      run: async (task) => {
        await (task === 'kubelet' ? this.#moveKubelet() : this.#moveSystem());
        this.#loggedErrors.delete(task);
        this.#queue.addAfter(task, periodMs);
      },
      onError: (task, err, retryInMs) => this.#logOnce(task, err, retryInMs),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { kubelet, processes, system } = this.#deps;
    if (system === '/')
      throw new KubeletError('invalid', 'SystemCgroups', 'system container cannot be root ("/")');
    this.#queue.start();
    for (const [task, path] of [
      ['system', system],
      ['kubelet', kubelet],
    ] as const) {
      if (path === '') continue;
      await processes.create(path);
      this.#queue.add(task);
    }
    return { stopped: this.#drain(signal) };
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#queue.stop();
  }

  #logOnce(task: Task, err: unknown, retryInMs: number): void {
    const text = describeError(err);
    if (this.#loggedErrors.get(task) === text) return;
    this.#loggedErrors.set(task, text);
    this.#deps.log.warn('Failed to move processes to their cgroup', { task, err, retryInMs });
  }

  async #moveKubelet(): Promise<void> {
    const { kubelet, ownPid, processes } = this.#deps;
    if (!(await processes.isOnHost(ownPid))) return;
    // If its cgroup is ambiguous (cpu and memory differ), moving it resolves that.
    const current = await processes.cgroupOf(ownPid).catch(() => undefined);
    if (current !== absolute(kubelet)) await processes.move(ownPid, kubelet);
  }

  async #moveSystem(): Promise<void> {
    const { log, processes, system } = this.#deps;
    let failure: unknown;
    for (let pass = 1; pass <= maxPasses; pass++) {
      const pids: number[] = [];
      for (const pid of await processes.inRoot())
        if (pid !== 1 && !(await processes.isKernelThread(pid))) pids.push(pid);
      if (pids.length === 0) return;
      log.v(3).info('Moving processes to the system cgroup', { pids, cgroup: system });
      failure = undefined;
      for (const pid of pids) {
        await processes.move(pid, system).catch((err: unknown) => {
          failure = err;
        });
      }
    }
    if (failure !== undefined) throw failure;
  }
}

function absolute(path: string): string {
  return path.startsWith('/') ? path : `/${path}`;
}
