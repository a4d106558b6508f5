// The objects that pods refer to: from the API server, or none on a standalone node.
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { StorageObjects } from '../api/ports/storage-objects.ts';
import type { Component } from '../base/component.ts';
import { storageApi } from '../edge/apiserver/resource-clients.ts';
import { ClusterObjects } from '../objects/cluster-objects.ts';
import { PodRegistrations } from '../objects/pod-registrations.ts';
import { standaloneObjects } from '../objects/standalone-objects.ts';
import { standaloneStorage } from '../objects/standalone-storage.ts';
import { ClusterStorage } from '../objects/storage-objects.ts';
import type { ClusterApi } from './cluster-api.ts';
import type { AssembleInput } from './input.ts';
import type { SharedStores } from './stores.ts';

export function assembleObjects(
  input: Pick<AssembleInput, 'clock' | 'config' | 'gates' | 'log' | 'nodeName' | 'objects' | 'random'>,
  { api, stores }: { readonly api: ClusterApi | undefined; readonly stores: SharedStores },
): { readonly objects: PodObjects; readonly components: readonly Component[] } {
  const { clock, config, gates, log, nodeName, random } = input;
  if (input.objects !== undefined) return { objects: input.objects, components: [] };
  if (api === undefined) return { objects: standaloneObjects, components: [] };
  const { desired, lifecycles, ownNode } = stores;
  const objects = new ClusterObjects({
    api,
    strategy: config.configMapAndSecretChangeDetectionStrategy,
    trustBundles: gates.ClusterTrustBundleProjection,
    nodeName,
    ownNode,
    random,
    clock,
    log: log.with({ component: 'objects' }),
  });
  return { objects, components: [objects, new PodRegistrations({ objects, desired, lifecycles })] };
}

/** The objects of storage: CSIDrivers, attachments, and what claims name. */
export function assembleStorage(api: ClusterApi | undefined): {
  readonly storage: StorageObjects;
  readonly components: readonly Component[];
} {
  if (api === undefined) return { storage: standaloneStorage, components: [] };
  const storage = new ClusterStorage({ api: storageApi(api.client), follow: api.follow });
  return { storage, components: [storage] };
}
