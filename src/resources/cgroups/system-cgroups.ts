// Keeps what runs beside pods where the configuration wants it: the kubelet in kubeletCgroups, and in systemCgroups every
// process that is in no cgroup. Upstream: setupNode, ensureSystemCgroups and ensureProcessInContainerWithOOMScore in
// pkg/kubelet/cm/container_manager_linux.go. Invariants: neither the first process nor threads of the kernel are moved, nor
// a kubelet that runs in a container; looking costs one read a minute, and nothing is written while all is in its place.

import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';

interface SystemCgroupsDeps {
  readonly processes: {
    make(path: string): Promise<void>;
    move(pid: number, path: string): Promise<void>;
    inRoot(): Promise<readonly number[]>;
    isKernelThread(pid: number): Promise<boolean>;
    isOnHost(pid: number): Promise<boolean>;
    cgroupOf(pid: number): Promise<string>;
  };
  readonly ownPid: number;
  /** kubeletCgroups; empty: the kubelet stays where it is. */
  readonly kubelet: string;
  /** systemCgroups; empty: others stay where they are. */
  readonly system: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const periodMs = 60_000;
const retryMaxMs = 60_000;
/** What is moved may have made others meanwhile. */
const passes = 11;

type Task = 'kubelet' | 'system';

export class SystemCgroups implements Component {
  readonly name = 'system-cgroups';
  readonly #deps: SystemCgroupsDeps;
  readonly #queue: KeyedQueue<Task>;
  /** What went wrong last: the same is not told again. */
  readonly #told = new Map<Task, string>();

  constructor(deps: SystemCgroupsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<Task>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: 1_000, maxMs: retryMaxMs },
      run: async (task) => {
        await (task === 'kubelet' ? this.#keepKubelet() : this.#keepSystem());
        this.#told.delete(task);
        this.#queue.addAfter(task, periodMs);
      },
      onError: (task, err, retryInMs) => this.#tell(task, err, retryInMs),
    });
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
      await processes.make(path);
      this.#queue.add(task);
    }
    return { stopped: this.#drain(signal) };
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#queue.stop();
  }

  #tell(what: Task, err: unknown, retryInMs: number): void {
    const text = describeError(err);
    if (this.#told.get(what) === text) return;
    this.#told.set(what, text);
    this.#deps.log.warn('Processes could not be moved to their cgroup', { what, err, retryInMs });
  }

  async #keepKubelet(): Promise<void> {
    const { kubelet, ownPid, processes } = this.#deps;
    if (!(await processes.isOnHost(ownPid))) return;
    // Where its place cannot be told, it is moved: afterwards it can.
    const place = await processes.cgroupOf(ownPid).catch(() => undefined);
    if (place !== absolute(kubelet)) await processes.move(ownPid, kubelet);
  }

  async #keepSystem(): Promise<void> {
    const { log, processes, system } = this.#deps;
    let failure: unknown;
    for (let pass = 1; pass <= passes; pass++) {
      const pids: number[] = [];
      for (const pid of await processes.inRoot())
        if (pid !== 1 && !(await processes.isKernelThread(pid))) pids.push(pid);
      if (pids.length === 0) return;
      log.v(3).info('Moving processes to the cgroup of the system', { pids, cgroup: system });
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
