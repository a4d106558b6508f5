// What a soak watches: the file system of the logs, the kubelet's files, memory and descriptors, and the pods of the runtime.
import { execFile } from 'node:child_process';
import { readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Kubelet } from '../integration/rig/kubelet.ts';
import type { Rig } from '../integration/rig/rig.ts';
import { median } from './statistics.ts';

const sampleMs = 3_000;
const peakMs = 100;

export interface SoakSample {
  readonly rssBytes: number;
  readonly rootDirBytes: number;
  readonly historyBytes: number;
  readonly descriptors: number;
  readonly sandboxes: number;
  readonly containers: number;
}

/** What is left of pods, by kind. */
export async function leftovers(rig: Rig, kubelet: Kubelet): Promise<Readonly<Record<string, number>>> {
  const { items } = await rig.cri.listPodSandbox({});
  const { containers } = await rig.cri.listContainers({});
  return {
    sandboxes: items.length,
    containers: containers.length,
    'pod directories': readdirSync(join(kubelet.rootDir, 'pods')).length,
    'log directories': readdirSync(kubelet.podLogsDir).length,
  };
}

async function diskUsage(path: string): Promise<number> {
  const du = promisify(execFile);
  // A file may vanish while it is counted; the sum of the others is printed nevertheless.
  const { stdout } = await du('du', ['-skx', path]).catch((err: { readonly stdout: string }) => err);
  return Number(stdout.split('\t')[0]) * 1024;
}

/** The size of the largest file below the directory; what vanishes meanwhile counts as nothing. */
function largestFile(directory: string): number {
  try {
    return readdirSync(directory, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => statSync(join(parentPath, name), { throwIfNoEntry: false })?.size ?? 0)
      .reduce((max, size) => Math.max(max, size), 0);
  } catch {
    return 0;
  }
}

export class SoakSamples {
  readonly samples: SoakSample[] = [];
  logFsPeakBytes = 0;
  largestLogBytes = 0;
  readonly #rig: Rig;
  readonly #kubelet: Kubelet;
  readonly #timers: readonly NodeJS.Timeout[];
  #failure: unknown;

  constructor(rig: Rig, kubelet: Kubelet) {
    this.#rig = rig;
    this.#kubelet = kubelet;
    const sample = (): void =>
      void this.#sample().catch((err: unknown) => {
        this.#failure ??= err;
      });
    this.#timers = [setInterval(sample, sampleMs), setInterval(() => this.#peak(), peakMs)];
    // A soak that fails must end.
    for (const timer of this.#timers) timer.unref();
  }

  get logFsUsedBytes(): number {
    const { bfree, blocks, bsize } = statfsSync(this.#kubelet.podLogsDir);
    return (blocks - bfree) * bsize;
  }

  #peak(): void {
    this.logFsPeakBytes = Math.max(this.logFsPeakBytes, this.logFsUsedBytes);
    this.largestLogBytes = Math.max(this.largestLogBytes, largestFile(this.#kubelet.podLogsDir));
  }

  async #sample(): Promise<void> {
    const { pid, rootDir } = this.#kubelet;
    const { containers, sandboxes } = await leftovers(this.#rig, this.#kubelet);
    this.samples.push({
      rssBytes: this.#kubelet.usage().rssBytes,
      rootDirBytes: await diskUsage(rootDir),
      historyBytes: await diskUsage(join(rootDir, 'history')),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      sandboxes: sandboxes ?? 0,
      containers: containers ?? 0,
    });
  }

  /** Throws if a sample could not be taken. */
  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The medians of the first and the last third, without the first tenth, in which the kubelet warms up. */
  thirds(of: (sample: SoakSample) => number): { readonly first: number; readonly last: number } {
    const warm = this.samples.slice(Math.ceil(this.samples.length / 10)).map(of);
    const third = Math.max(1, Math.floor(warm.length / 3));
    return { first: median(warm.slice(0, third)), last: median(warm.slice(-third)) };
  }
}
