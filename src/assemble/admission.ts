// Admission of pods, and of the resizes of admitted pods.

import type { CriRuntime } from '../api/cri/runtime.ts';
import type { EventSink } from '../api/ports/events.ts';
import { nodeApi } from '../edge/apiserver/resource-clients.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ActivePods } from '../pods/active-pods.ts';
import { Admission } from '../pods/admission/admission.ts';
import { NodeView } from '../pods/admission/node-view.ts';
import type { NodeBudget } from '../resources/allocatable/node-budget.ts';
import type { Allocations } from '../resources/allocation/allocations.ts';
import type { ResizeRules } from '../resources/allocation/decide-resize.ts';
import type { PodResizeConditions } from '../resources/allocation/pod-resize-conditions.ts';
import { PodResizes } from '../resources/allocation/pod-resizes.ts';
import type { ManagedResources } from '../resources/topology/managed-resources.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface AdmissionRooms {
  readonly api: ClusterApi | undefined;
  readonly cri: Pick<CriRuntime, 'status'>;
  readonly stores: SharedStores;
  readonly active: ActivePods;
  readonly budget: NodeBudget;
  readonly exclusive: ManagedResources;
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
}

type AdmissionInput = Pick<
  AssembleInput,
  'clock' | 'config' | 'edges' | 'flags' | 'gates' | 'log' | 'nodeName'
>;

export function assembleAdmission(input: AdmissionInput, rooms: AdmissionRooms): Admission {
  const { config, edges, flags, gates, log, nodeName } = input;
  const { active, api, budget, cri, events, exclusive, metrics, stores } = rooms;
  return new Admission({
    active,
    observed: stores.observed,
    node: new NodeView({
      ownNode: stores.ownNode,
      fetch: api && nodeApi(api.client, nodeName).get,
      runtime: cri,
      budget,
      nodeName,
      architecture: edges.nodeHost.architecture(),
      labels: flags.nodeLabels,
      taints: config.registerWithTaints,
    }),
    kills: stores.kills,
    exclusive,
    pressure: stores.pressure,
    shutdown: stores.shutdown,
    podLevelResources: gates.PodLevelResources,
    report: { events, metrics, log: log.with({ component: 'admission' }) },
  });
}

interface ResizeRooms {
  readonly stores: SharedStores;
  readonly allocations: Allocations;
  readonly conditions: PodResizeConditions;
  readonly admission: Admission;
  readonly maySwap: ResizeRules['maySwap'];
  readonly metrics: KubeletMetrics;
  readonly events: EventSink;
}

/** Undefined while the gate is off: every pod has what it requests. */
export function assembleResizes(input: AdmissionInput, rooms: ResizeRooms): PodResizes | undefined {
  const { clock, config, gates, log } = input;
  const { admission, allocations, conditions, events, maySwap, metrics, stores } = rooms;
  const { desired, lifecycles, observed, statuses } = stores;
  if (!gates.InPlacePodVerticalScaling) return undefined;
  return new PodResizes({
    stores: { desired, observed, lifecycles, statuses, allocations, conditions },
    admission,
    rules: {
      cpusArePinned: config.cpuManagerPolicy === 'static',
      memoryIsPinned: config.memoryManagerPolicy === 'Static',
      podLevelResources: gates.PodLevelResources,
      podLevelResizes: gates.InPlacePodLevelResourcesVerticalScaling,
      maySwap,
    },
    report: { counts: metrics.resizes, events, log: log.with({ component: 'resizes' }) },
    clock,
  });
}
