// Resource usage of this process, its event loop and its heap. Upstream: the process collector of prometheus/client_golang;
// Node's figures replace Go's.
// Invariant: nothing is monitored before the first read.
import {
  type IntervalHistogram,
  monitorEventLoopDelay,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks';
import type { ProcessFigures, ProcessLoad } from '../../api/ports/process-figures.ts';
import type { KernelFiles } from './kernel-files.ts';

const pageBytes = 4096;
const ticksPerSecond = 100;
/** Go reports no limit as the largest unsigned number. */
const unlimited = 2 ** 64;
/** Sampling interval of the event loop, after the first read. */
const delayResolutionMs = 50;

/** By V8's numbers. */
const gcKinds: Readonly<Record<number, string>> = { 1: 'minor', 4: 'major', 8: 'incremental', 16: 'weakcb' };

interface GcEntry {
  readonly duration: number;
  readonly detail?: { readonly kind: number };
}

export class OwnProcess {
  readonly version = process.version;
  readonly #files: KernelFiles;
  #delay: IntervalHistogram | undefined;
  #collections: PerformanceObserver | undefined;
  #utilization = performance.eventLoopUtilization();

  constructor(files: KernelFiles) {
    this.#files = files;
  }

  read(): ProcessFigures {
    // The fields after the process name, which may contain anything except a closing parenthesis.
    const stat = (this.#files.text('/proc/self/stat') ?? '').split(') ').at(-1)?.split(' ') ?? [];
    const bootSeconds = Number(/^btime (\d+)$/m.exec(this.#files.text('/proc/stat') ?? '')?.[1] ?? 0);
    const { heapTotal, heapUsed, external } = process.memoryUsage();
    const [receivedBytes, sentBytes] = this.#octets();
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#utilization);
    this.#utilization = now;
    return {
      cpuSeconds: (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)) / ticksPerSecond,
      residentBytes: Number(stat[21] ?? 0) * pageBytes,
      virtualBytes: Number(stat[20] ?? 0),
      virtualMaxBytes: this.#limit('Max address space'),
      openFiles: this.#openFiles(),
      maxFiles: this.#limit('Max open files'),
      startedAtSeconds: bootSeconds + Number(stat[19] ?? 0) / ticksPerSecond,
      receivedBytes,
      sentBytes,
      heapTotalBytes: heapTotal,
      heapUsedBytes: heapUsed,
      externalBytes: external,
      loopUtilization: utilization,
      loopDelay: this.#loopDelay(),
    };
  }

  load(): ProcessLoad {
    const { user, system } = process.cpuUsage();
    const { heapUsed, rss } = process.memoryUsage();
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      openFiles: this.#openFiles(),
    };
  }

  /** Reports each garbage collection from now on. */
  watchCollections(observe: (kind: string, seconds: number) => void): void {
    if (this.#collections !== undefined) return;
    this.#collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as readonly GcEntry[])
        observe(gcKinds[entry.detail?.kind ?? 0] ?? 'other', entry.duration / 1000);
    });
    this.#collections.observe({ entryTypes: ['gc'] });
  }

  close(): void {
    this.#delay?.disable();
    this.#collections?.disconnect();
    this.#delay = undefined;
    this.#collections = undefined;
  }

  #loopDelay(): ProcessFigures['loopDelay'] {
    const delay = this.#delay;
    if (delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
      this.#delay.enable();
      return undefined;
    }
    // The histogram has the duration of whole intervals. The excess over the resolution is the delay.
    const seconds = (nanoseconds: number): number =>
      Number.isFinite(nanoseconds) ? Math.max(nanoseconds / 1e9 - delayResolutionMs / 1000, 0) : 0;
    const figures = {
      meanSeconds: seconds(delay.mean),
      p50Seconds: seconds(delay.percentile(50)),
      p99Seconds: seconds(delay.percentile(99)),
      maxSeconds: seconds(delay.max),
    };
    delay.reset();
    return figures;
  }

  /** Without the descriptor of the directory being read. */
  #openFiles(): number {
    return Math.max(this.#files.names('/proc/self/fd').length - 1, 0);
  }

  #limit(name: string): number {
    const text = this.#files.text('/proc/self/limits') ?? '';
    const line = text.split('\n').find((each) => each.startsWith(`${name} `)) ?? '';
    const soft = line === '' ? undefined : line.slice(name.length).trim().split(/\s+/)[0];
    return soft === undefined || soft === 'unlimited' ? unlimited : Number(soft);
  }

  /** Bytes received and sent in the network namespace of this process, as Go's client reports them. */
  #octets(): readonly [number, number] {
    const [names, values] = (this.#files.text('/proc/self/net/netstat') ?? '')
      .split('\n')
      .filter((line) => line.startsWith('IpExt:'))
      .map((line) => line.split(' '));
    const value = (name: string): number => Number(values?.[names?.indexOf(name) ?? -1] ?? 0);
    return [value('InOctets'), value('OutOctets')];
  }
}
