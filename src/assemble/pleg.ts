// The observation of the runtime: relists, container events, health checks.
import type { Component } from '../base/component.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import { healthChecks, type NamedCheck } from '../pleg/health-checks.ts';
import { Pleg, type PlegDeps } from '../pleg/pleg.ts';
import { RuntimeEvents, type RuntimeEventsDeps } from '../pleg/runtime-events.ts';
import type { OomWatcher } from '../resources/oom/oom-watcher.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

/** Interval of the relist, which finds changes that container events and inspections after own actions missed. */
const relistMs = 1_000;
/** Deadline of one list or one inspection, which is then retried. */
const callTimeoutMs = 20_000;

interface PlegRooms {
  readonly cri: PlegDeps['runtime'] & RuntimeEventsDeps['runtime'] & Pick<PlegDeps, 'connectionChanged'>;
  readonly stores: SharedStores;
  readonly oom: OomWatcher;
  readonly metrics: KubeletMetrics;
}

interface AssembledPleg {
  readonly pleg: Pleg;
  readonly checks: readonly NamedCheck[];
  readonly components: readonly Component[];
}

export function assemblePleg(
  { clock, edges, log: root }: Pick<AssembleInput, 'clock' | 'edges' | 'log'>,
  { cri, metrics, oom, stores }: PlegRooms,
): AssembledPleg {
  const log = root.with({ component: 'pleg' });
  const { inSync, observed } = stores;
  const pleg = new Pleg({
    runtime: cri,
    connectionChanged: cri.connectionChanged,
    node: { files: edges.tails, wasOomKilled: (containerId) => oom.hasKilledIn(containerId) },
    stores: { observed, inSync },
    onRelist: (seconds) => metrics.pleg.observeRelist(seconds),
    onPodRelist: (seconds) => metrics.pleg.observePodRelist(seconds),
    settings: { relistMs, callTimeoutMs },
    clock,
    log,
  });
  const events = new RuntimeEvents({ runtime: cri, pleg, metrics: metrics.pleg, clock, log });
  const checks = healthChecks({ pleg, clock, relistMs, callTimeoutMs });
  return { pleg, checks, components: [pleg, events] };
}
