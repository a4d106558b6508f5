// CSI drivers: their registration, and this node's CSINode object.
import type { StorageObjects } from '../api/ports/storage-objects.ts';
import type { Component } from '../base/component.ts';
import { AllocatableRefresh } from '../csi/allocatable-refresh.ts';
import { CsiNodeStartup } from '../csi/csi-node-startup.ts';
import { RegisteredDrivers } from '../csi/csi-registry.ts';
import { NodeInfoWriter } from '../csi/node-info-writer.ts';
import { StorageHealthReports } from '../csi/storage-health-reports.ts';
import { nodeInfoApi } from '../edge/apiserver/resource-clients.ts';
import type { KubeletMetrics } from '../metrics/kubelet-metrics.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

interface CsiRooms {
  /** Undefined on a standalone node. */
  readonly api: ClusterApi | undefined;
  readonly stores: Pick<SharedStores, 'ownNode'>;
  readonly storage: StorageObjects;
  readonly metrics: Pick<KubeletMetrics, 'csi' | 'registry'>;
}

export interface CsiRoom {
  readonly drivers: RegisteredDrivers;
  /** Undefined on a standalone node, which has no CSINode. */
  readonly csiNode: CsiNodeStartup | undefined;
  /** Likewise. */
  readonly storageHealth: StorageHealthReports | undefined;
  /** Started before the plugin manager, which registers drivers. */
  readonly components: readonly Component[];
}

type CsiInput = Pick<AssembleInput, 'clock' | 'edges' | 'log' | 'nodeName' | 'random'>;

export function assembleCsi(input: CsiInput, { api, metrics, storage, stores }: CsiRooms): CsiRoom {
  const { clock, edges, nodeName, random } = input;
  const log = input.log.with({ component: 'csi' });
  const dialer = edges.csi({ observe: (call) => metrics.csi.observe(call), calls: edges.calls });
  if (api === undefined) {
    const drivers = new RegisteredDrivers({ dialer, nodeInfo: undefined, clock, log });
    return { drivers, csiNode: undefined, storageHealth: undefined, components: [drivers] };
  }
  const nodeInfo = new NodeInfoWriter({
    api: nodeInfoApi(api.client, nodeName),
    nodeName,
    clock,
    log,
    random,
  });
  const drivers = new RegisteredDrivers({ dialer, nodeInfo, clock, log });
  const csiNode = new CsiNodeStartup({
    api: nodeInfoApi(api.client, nodeName),
    nodeInfo,
    drivers,
    own: stores.ownNode,
    clock,
    log,
  });
  const refresh = new AllocatableRefresh({ drivers, csiDrivers: storage, clock, log });
  const storageHealth = new StorageHealthReports({ nodeInfo, clock });
  return { drivers, csiNode, storageHealth, components: [drivers, csiNode, refresh] };
}
