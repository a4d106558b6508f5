// The API objects of storage: CSIDrivers from a watch, everything else read from the API server on every call.
// Invariants: only what the Node authorizer grants is requested (no list or watch of VolumeAttachments, claims or secrets); waiting
// for the first list of CSIDrivers delays only the caller, and ends with its signal.
// Upstream: the CSIDriver informer of pkg/kubelet/volume_host.go, and the kubeClient calls of pkg/volume/csi.
import type { JsonObject } from '../api/k8s/strategic-diff.ts';
import type { CSIDriver, PersistentVolumeClaim, Secret, VolumeAttachment } from '../api/k8s/types.ts';
import type { Follow, WatchSink } from '../api/ports/api-client.ts';
import type { StorageObjects } from '../api/ports/storage-objects.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Component } from '../base/component.ts';

/** Every call has a deadline of its own. */
interface StorageApi {
  volumeAttachment(name: string, signal: AbortSignal): Promise<VolumeAttachment>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret>;
  patchClaimStatus(
    namespace: string,
    name: string,
    patch: JsonObject,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim>;
}

export class ClusterStorage implements StorageObjects, Component {
  readonly name = 'storage-objects';
  readonly csiDriversChanged = new Channel<string>();
  readonly #deps: { readonly api: StorageApi; readonly follow: Follow };
  #markListed: () => void = () => undefined;
  readonly #listed = new Promise<void>((resolve) => {
    this.#markListed = resolve;
  });
  /** By name. Undefined before the first list. */
  #csiDrivers: Map<string, CSIDriver> | undefined;

  constructor(deps: { readonly api: StorageApi; readonly follow: Follow }) {
    this.#deps = deps;
  }

  /** Does not wait for the API server. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const target = { path: '/apis/storage.k8s.io/v1/csidrivers' };
    return { stopped: this.#deps.follow<CSIDriver>(target, this.#sink(), signal) };
  }

  async csiDriver(name: string, signal: AbortSignal): Promise<CSIDriver | undefined> {
    await raceAbort(this.#listed, signal);
    return this.#csiDrivers?.get(name);
  }

  knownCsiDriver(name: string): CSIDriver | undefined | 'unknown' {
    return this.#csiDrivers === undefined ? 'unknown' : this.#csiDrivers.get(name);
  }

  volumeAttachment(name: string, signal: AbortSignal): Promise<VolumeAttachment> {
    return this.#deps.api.volumeAttachment(name, signal);
  }

  volumeSecret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    return this.#deps.api.secret(namespace, name, signal);
  }

  patchClaimStatus(
    namespace: string,
    name: string,
    patch: JsonObject,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    return this.#deps.api.patchClaimStatus(namespace, name, patch, signal);
  }

  #sink(): WatchSink<CSIDriver> {
    const nameOf = ({ metadata }: CSIDriver): string => metadata?.name ?? '';
    return {
      replace: (objects) => {
        const before = this.#csiDrivers?.keys() ?? [];
        this.#csiDrivers = new Map(objects.map((each) => [nameOf(each), each]));
        this.#markListed();
        for (const name of new Set([...before, ...this.#csiDrivers.keys()]))
          this.csiDriversChanged.push(name);
      },
      upsert: (object) => {
        this.#csiDrivers?.set(nameOf(object), object);
        this.csiDriversChanged.push(nameOf(object));
      },
      remove: (object) => {
        this.#csiDrivers?.delete(nameOf(object));
        this.csiDriversChanged.push(nameOf(object));
      },
    };
  }
}
