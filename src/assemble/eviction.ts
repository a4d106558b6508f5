// Eviction: the manager, the pods it evicts, and what it explains.
import type { EventSink } from '../api/ports/events.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import type { ContainerReclaim, ImageReclaim } from '../api/ports/reclaim.ts';
import type { Component } from '../base/component.ts';
import { EvictionDryRun } from '../eviction/dry-run.ts';
import { PodEvictor } from '../eviction/evict-pods.ts';
import { EvictionManager } from '../eviction/eviction-manager.ts';
import { EvictionReport } from '../eviction/eviction-report.ts';
import { MemoryNotifications } from '../eviction/memory-notifications.ts';
import { evictionSettings } from '../eviction/settings.ts';
import { UnfinishedEvictions } from '../eviction/unfinished-evictions.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { Pleg } from '../pleg/pleg.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface EvictionRooms {
  readonly stores: SharedStores;
  readonly active: ActivePods;
  readonly load: NodeLoadSource;
  readonly images: ImageReclaim;
  readonly containers: ContainerReclaim;
  /** The cgroup of all pods; undefined if pods have no cgroups of their own. */
  readonly podsCgroup: string | undefined;
  readonly pleg: Pleg;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
}

interface AssembledEviction {
  readonly components: readonly Component[];
  /** Started before the workers. */
  readonly unfinished: Component;
  readonly dryRun: EvictionDryRun;
  /** The thresholds, or other settings of eviction, changed. */
  readonly settingsChanged: () => void;
  /** Sources of wake-ups, for docs/wiring.md. */
  readonly sources: Readonly<Record<string, object>>;
}

type EvictionInput = Pick<AssembleInput, 'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log'>;

export function assembleEviction(input: EvictionInput, rooms: EvictionRooms): AssembledEviction {
  const { clock, config, edges, flags, gates } = input;
  const { active, containers, events, images, load, pleg, podsCgroup, stores } = rooms;
  const { desired, kills, lifecycles, pressure } = stores;
  const log = input.log.with({ component: 'eviction' });
  const metrics = rooms.metrics.evictions;
  const settings = evictionSettings(config, flags, gates);
  const notifications = config.kernelMemcgNotification
    ? new MemoryNotifications({
        ...edges.memoryPressure,
        load,
        get thresholds() {
          return settings.thresholds;
        },
        podsCgroup,
        clock,
        log,
      })
    : undefined;
  const unfinished = new UnfinishedEvictions({
    files: edges.stateFiles,
    path: `${flags.rootDir}/evictions`,
    desired,
    apiPods: stores.apiPods,
    kills,
    clock,
    log,
  });
  const manager = new EvictionManager({
    pods: active,
    load,
    reclaim: {
      deleteUnusedImages: (signal) => images.deleteUnusedImages(signal),
      deleteUnusedContainers: (signal) => containers.deleteUnusedContainers(signal),
    },
    evictor: new PodEvictor({ kills, unfinished, lifecycles, containers, events, metrics, clock, log }),
    pressure,
    wakeUps: {
      runtimeAnswered: pleg.answered,
      runtimeAnswers: () => pleg.health().failure === undefined,
      memoryShortage: notifications?.shortage,
    },
    report: new EvictionReport({ events, metrics, log }),
    settings,
    clock,
  });
  return {
    components: [manager, ...(notifications === undefined ? [] : [notifications])],
    sources: { ...(notifications && { memoryNotifications: notifications }) },
    unfinished,
    settingsChanged: () => {
      notifications?.thresholdsChanged();
      manager.settingsChanged();
    },
    dryRun: new EvictionDryRun({ pods: active, load, pressure, settings, clock }),
  };
}
