// What the CPU manager needs from the configuration, the machine, the runtime and the pods. Types only.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import type { ObservedPod } from '../../api/pod/observed.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { EventSink } from '../../api/ports/events.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log/log.ts';
import type { KeptFiles } from '../checkpoint/kept-checkpoint.ts';
import type { NumaNodes } from '../topology/numa-nodes.ts';
import type { CpuManagerMetrics } from './cpu-manager-metrics.ts';
import type { CpuTopology } from './cpu-topology.ts';
import type { CpuReservation } from './reserved-cpus.ts';
import type { CpusetReader } from './survey-cpusets.ts';

export interface CpuManagerDeps {
  readonly config: {
    /** none or static; validated. */
    readonly policy: string;
    readonly options: Readonly<Record<string, string>>;
    readonly reservation: CpuReservation;
    readonly reconcilePeriodMs: number;
    readonly rootDir: string;
  };
  readonly machine: { readonly topology: CpuTopology; readonly numa: NumaNodes };
  readonly files: KeptFiles;
  readonly runtime: CpusetReader & { readonly cri: Pick<CriRuntime, 'updateContainerResources'> };
  readonly pods: {
    readonly active: { all(): readonly Pod[] };
    readonly observed: {
      get(uid: PodUid): ObservedPod | undefined;
      all(): ReadonlyMap<PodUid, ObservedPod>;
      readonly changed: Subscribable<PodUid>;
    };
  };
  readonly metrics: CpuManagerMetrics;
  readonly report: { readonly events: Pick<EventSink, 'node'>; readonly log: Logger };
  readonly clock: Clock;
}
