// A volume expander with a claim, a plugin and events in memory. The claims behave as the API server's with the node authorizer:
// they reject a patch of an old resource version or of another claim, and a change of anything but the expansion's status.

import type { JsonObject } from '../../src/api/k8s/strategic-diff.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/api/k8s/types.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import {
  type ExpansionRequest,
  type ExpansionResult,
  VolumeExpander,
} from '../../src/volumes/expansion/volume-expander.ts';
import {
  type ExpandFailure,
  type ExpandRequest,
  pluginDefaults,
  type VolumePlugin,
} from '../../src/volumes/plugin.ts';
import { strategicMergePatch } from '../api-server/objects/patches.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { aPod } from './builders.ts';
import { aVolumeSpec } from './volume-requests.ts';

interface ClaimOver {
  /** spec.resources.requests. */
  readonly requested?: string;
  /** status.capacity. */
  readonly capacity?: string;
  readonly allocated?: string;
  /** status.allocatedResourceStatuses. */
  readonly status?: string;
  readonly modes?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly conditions?: readonly string[];
}

/** The claim default/claim of 1G, for which 2G are requested. */
export function aClaim(over: ClaimOver = {}): PersistentVolumeClaim {
  const { allocated, annotations = {}, conditions = [], modes = ['ReadWriteOnce'], status } = over;
  return {
    metadata: { namespace: 'default', name: 'claim', uid: 'uid-claim', resourceVersion: '1', annotations },
    spec: { accessModes: [...modes], resources: { requests: { storage: over.requested ?? '2G' } } },
    status: {
      phase: 'Bound',
      capacity: { storage: over.capacity ?? '1G' },
      ...(allocated === undefined ? {} : { allocatedResources: { storage: allocated } }),
      ...(status === undefined ? {} : { allocatedResourceStatuses: { storage: status } }),
      ...(conditions.length === 0
        ? {}
        : { conditions: conditions.map((type) => ({ type, status: 'True', message: 'earlier' })) }),
    },
  };
}

/** A resizer that records its progress waits for the node. */
export function aPendingClaim(over: ClaimOver = {}): PersistentVolumeClaim {
  const conditions = ['FileSystemResizePending'];
  return aClaim({ allocated: '2G', status: 'NodeResizePending', conditions, ...over });
}

export function aPersistentVolume(capacity = '2G'): PersistentVolume {
  return { metadata: { name: 'pv' }, spec: { capacity: { storage: capacity } } };
}

/** An error as plugins report it. */
export function expandError(expansion: ExpandFailure, message = `${expansion} error`): KubeletError {
  return new KubeletError('internal', 'ExpandFailed', message, { details: { expansion } });
}

type Fault = () => Promise<void> | void;

export class ExpansionRig {
  readonly clock = new FakeClock();
  readonly patches: JsonObject[] = [];
  readonly events: string[] = [];
  readonly observed: string[] = [];
  /** The sizes of the requests to the plugin. */
  readonly sizes: bigint[] = [];
  readonly requests: ExpandRequest[] = [];
  /** Pods that have the volume mounted. */
  readonly users = new Set<string>();
  claim: PersistentVolumeClaim;
  volume: PersistentVolume;
  answer: (request: ExpandRequest, signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  /** Called before the API server handles the request. */
  onRead: Fault = () => undefined;
  onPatch: (patch: JsonObject) => Promise<void> | void = () => undefined;
  reads = 0;
  expander: VolumeExpander;

  constructor(
    claim: PersistentVolumeClaim = aPendingClaim(),
    volume: PersistentVolume = aPersistentVolume(),
  ) {
    this.claim = claim;
    this.volume = volume;
    this.expander = this.#create();
  }

  /** A new kubelet process: nothing is remembered. */
  restart(): void {
    this.expander = this.#create();
  }

  request(
    over: { readonly pod?: string; readonly isMounted?: boolean; readonly spec?: object } = {},
  ): ExpansionRequest {
    const { pod = 'p', isMounted = false, spec } = over;
    const { claim, volume: persistent } = this;
    const source = { persistentVolumeClaim: { claimName: 'claim' } };
    return {
      pod: aPod({ name: pod, nodeName: 'node1' }),
      spec: aVolumeSpec(source, { name: 'data', directoryName: 'pv', claim, persistent, ...spec }),
      plugin: this.plugin,
      path: '/volume',
      isMounted,
    };
  }

  async expand(
    over: Parameters<ExpansionRig['request']>[0] = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ExpansionResult> {
    return await this.expander.expand(this.request(over), signal);
  }

  /** Sets the volume up for a pod, which then uses it. */
  async mount(pod = 'p'): Promise<ExpansionResult> {
    const result = await this.expand({ pod });
    if (result.kind !== 'failed') this.users.add(pod);
    return result;
  }

  /** Applies a change of the claim by someone else. */
  change(
    status: Partial<PersistentVolumeClaim['status']>,
    spec: Partial<PersistentVolumeClaim['spec']> = {},
  ): void {
    const { metadata } = this.claim;
    const resourceVersion = String(Number(metadata?.resourceVersion) + 1);
    this.claim = {
      metadata: { ...metadata, resourceVersion },
      spec: { ...this.claim.spec, ...spec },
      status: { ...this.claim.status, ...status },
    };
  }

  /** `capacity status [condition …]`. */
  summary(): string {
    const { allocatedResourceStatuses, capacity, conditions = [] } = this.claim.status ?? {};
    const status = allocatedResourceStatuses?.['storage'] ?? '-';
    return [capacity?.['storage'], status, ...conditions.map(({ type }) => type)].join(' ');
  }

  readonly plugin: VolumePlugin = {
    ...pluginDefaults,
    name: 'kubernetes.io/csi',
    label: () => 'kubernetes.io/csi:driver',
    canServe: () => true,
    setUp: () => Promise.reject(new Error('not used')),
    expansion: {
      expand: async (request, signal) => {
        this.sizes.push(request.sizeBytes);
        this.requests.push(request);
        await this.answer(request, signal);
        return request.sizeBytes;
      },
    },
  };

  async #patch(patch: JsonObject): Promise<PersistentVolumeClaim> {
    this.patches.push(patch);
    await this.onPatch(patch);
    const { metadata } = this.claim;
    const { resourceVersion = metadata?.resourceVersion, uid = metadata?.uid } = (patch['metadata'] ??
      {}) as { resourceVersion?: string; uid?: string };
    if (resourceVersion !== metadata?.resourceVersion || uid !== metadata?.uid)
      throw new KubeletError('conflict', 'Conflict', 'the object has been modified');
    const { status } = patch as { status?: object };
    const allowed = ['capacity', 'conditions', '$setElementOrder/conditions', 'allocatedResourceStatuses'];
    const others = Object.keys(status ?? {}).filter((field) => !allowed.includes(field));
    if (others.length > 0)
      throw new KubeletError('forbidden', 'Forbidden', `may not change ${others.join(' ')}`);
    const after = strategicMergePatch(
      'PersistentVolumeClaim',
      { ...this.claim },
      { status },
    ) as PersistentVolumeClaim;
    this.change({});
    this.claim = { ...after, metadata: this.claim.metadata ?? {} };
    return this.claim;
  }

  #create(): VolumeExpander {
    return new VolumeExpander({
      clock: this.clock,
      log: silentLogger,
      claims: {
        persistentVolumeClaim: async () => {
          this.reads += 1;
          await this.onRead();
          return this.claim;
        },
        patchClaimStatus: async (_namespace, _name, patch) => await this.#patch(patch),
      },
      mounts: { isMountedByOtherPod: (_, uid) => [...this.users].some((pod) => `uid-${pod}` !== uid) },
      events: {
        pod: ({ metadata }, { type, reason, message }) =>
          void this.events.push(`${metadata?.name} ${type} ${reason} ${message}`),
        node: () => undefined,
        object: ({ kind, name }, { type, reason, message }) =>
          void this.events.push(`${kind}/${name} ${type} ${reason} ${message}`),
      },
      metrics: {
        observe: ({ failed, operation, plugin }) =>
          void this.observed.push(`${plugin} ${operation} ${failed ? 'failed' : 'done'}`),
      },
    });
  }
}
