// What a test of disk pressure observes: how full a small file system is, the health of the kubelet, and the traces of an eviction.
import { statfsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event, Pod, PodCondition } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';
import type { Cluster } from './cluster.ts';

export const mebibyte = 1024 ** 2;

export interface Room {
  readonly freeBytes: number;
  readonly freeInodes: number;
}

export function room(path: string): Room {
  const { bavail, bsize, ffree } = statfsSync(path);
  return { freeBytes: bavail * bsize, freeInodes: ffree };
}

/** Asks the kubelet for its health several times a second, and keeps what was wrong. */
export class HealthWatch {
  readonly faults: string[] = [];
  slowestMs = 0;
  /** While the kubelet is not running. */
  paused = false;
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;

  constructor(kubelet: () => Kubelet) {
    this.#ended = this.#run(kubelet);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
  }

  async #run(kubelet: () => Kubelet): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const startMs = performance.now();
      if (!this.paused) await this.#check(kubelet());
      this.slowestMs = Math.max(this.slowestMs, performance.now() - startMs);
      await sleep(200, undefined, { signal: this.#abort.signal }).catch(() => undefined);
    }
  }

  async #check(kubelet: Kubelet): Promise<void> {
    try {
      const { status, text } = await kubelet.healthz();
      if (status !== 200) this.faults.push(`${status} ${text}`);
    } catch (err) {
      if (!this.paused) this.faults.push(String(err));
    }
  }
}

/** The end of an evicted pod, as clients see it. */
interface EvictedPod {
  readonly pod: Pod;
  readonly message: string;
  readonly disruption: PodCondition | undefined;
  readonly events: readonly Event[];
}

export async function untilEvicted(cluster: Cluster, name: string): Promise<EvictedPod> {
  const pod = await cluster.untilPod(name, 'to be evicted', ({ phase }) => phase === 'Failed');
  const of = (): readonly Event[] => eventsOf(cluster, 'Evicted', pod.metadata?.uid);
  await waitFor(() => of().length > 0, `the event of ${name}`);
  const disruption = pod.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return { pod, message: pod.status?.message ?? '', disruption, events: of() };
}

export function eventsOf(cluster: Cluster, reason: string, uid?: string): readonly Event[] {
  const events: readonly Event[] = cluster.double.objects.list('events', 'default');
  return events.filter(
    (event) => event.reason === reason && (uid === undefined || event.involvedObject?.uid === uid),
  );
}

export async function untilDiskPressure(cluster: Cluster, is: 'True' | 'False'): Promise<void> {
  await waitFor(
    () =>
      cluster
        .node()
        ?.status?.conditions?.some(({ type, status }) => type === 'DiskPressure' && status === is),
    `DiskPressure ${is}`,
  );
}

/** The counter kubelet_evictions, by signal. */
export async function evictionCounts(kubelet: Kubelet): Promise<Readonly<Record<string, number>>> {
  const { text } = await kubelet.secure('/metrics');
  const rows = [...text.matchAll(/^kubelet_evictions\{eviction_signal="([^"]+)"\} (\d+)$/gm)];
  return Object.fromEntries(rows.map(([, signal = '', count]) => [signal, Number(count)]));
}
