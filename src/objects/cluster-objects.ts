// The API objects that this node's pods refer to: Secrets and ConfigMaps by the configured strategy, tokens, Services,
// RuntimeClasses, claims and volumes. Invariant: only what the Node authorizer grants is requested: single objects by name,
// or collections that every node may list.
// Upstream: pkg/kubelet/{secret,configmap,token} and the listers of pkg/kubelet/kubelet.go.

import type {
  ConfigMap,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  TokenRequest,
} from '../api/k8s/types.ts';
import { podReferences } from '../api/pod/pod-references.ts';
import { type ApiClient, apiPath, type Follow } from '../api/ports/api-client.ts';
import type { ChangedObject, PodObjects, TrustBundleChoice } from '../api/ports/pod-objects.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { CachedObjects } from './cached-objects.ts';
import { FetchedObjects } from './fetched-objects.ts';
import { ListedObjects } from './listed-objects.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';
import type { NamedObject, ObjectKind, ObjectStrategy } from './strategy.ts';
import { TrustBundles } from './trust-bundles.ts';
import { WatchedObjects } from './watched-objects.ts';

interface ClusterObjectsDeps {
  readonly api: {
    readonly client: Pick<ApiClient, 'get' | 'create'>;
    readonly follow: Follow;
  };
  /** configMapAndSecretChangeDetectionStrategy: Watch, Cache or Get. */
  readonly strategy: string;
  /** The gate ClusterTrustBundleProjection. */
  readonly trustBundles: boolean;
  readonly nodeName: string;
  readonly ownNode: { get(): Node | undefined };
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

const ttlAnnotation = 'node.alpha.kubernetes.io/ttl';
const defaultTtlMs = 60_000;
const secretKind: ObjectKind = { plural: 'secrets', resource: 'secret' };
const configMapKind: ObjectKind = { plural: 'configmaps', resource: 'configmap' };

export class ClusterObjects implements PodObjects, Component {
  readonly name = 'objects';
  readonly changed = new Channel<ChangedObject>();
  readonly #deps: ClusterObjectsDeps;
  readonly #secrets: ObjectStrategy<Secret>;
  readonly #configMaps: ObjectStrategy<ConfigMap>;
  readonly #services = new ListedObjects<Service>();
  readonly #runtimeClasses = new ListedObjects<RuntimeClass>();
  readonly #tokens: ServiceAccountTokens;
  readonly #trustBundles: TrustBundles;

  constructor(deps: ClusterObjectsDeps) {
    this.#deps = deps;
    this.#secrets = this.#strategy<Secret>(secretKind, 'Secret');
    this.#configMaps = this.#strategy<ConfigMap>(configMapKind, 'ConfigMap');
    this.#tokens = new ServiceAccountTokens({
      create: (namespace, name, request, signal) =>
        deps.api.client.create(namespaced(namespace, 'serviceaccounts', name, 'token'), request, { signal }),
      clock: deps.clock,
      log: deps.log,
      random: deps.random,
    });
    this.#trustBundles = new TrustBundles({
      ...deps.api,
      clock: deps.clock,
      random: deps.random,
      enabled: deps.trustBundles,
      announce: (changed) => this.changed.push(changed),
    });
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { follow } = this.#deps.api;
    const stopped = Promise.all([
      this.#secrets.run(signal),
      this.#configMaps.run(signal),
      this.#trustBundles.run(signal),
      // Headless services have no environment variables.
      follow({ path: '/api/v1/services', fieldSelector: 'spec.clusterIP!=None' }, this.#services, signal),
      follow({ path: '/apis/node.k8s.io/v1/runtimeclasses' }, this.#runtimeClasses, signal),
    ]);
    return Promise.resolve({ stopped: stopped.then(() => undefined) });
  }

  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap> {
    return this.#configMaps.get(namespace, name, signal);
  }

  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret> {
    return this.#secrets.get(namespace, name, signal);
  }

  services(signal: AbortSignal): Promise<readonly Service[]> {
    return this.#services.all(signal);
  }

  async runtimeClass(name: string, signal: AbortSignal): Promise<RuntimeClass> {
    const found = await this.#runtimeClasses.get(name, signal);
    if (found !== undefined) return found;
    throw new KubeletError('not-found', 'NotFound', `runtimeclass.node.k8s.io "${name}" not found`);
  }

  serviceAccount(namespace: string, name: string, signal: AbortSignal): Promise<ServiceAccount> {
    return this.#deps.api.client.get(namespaced(namespace, 'serviceaccounts', name), { signal });
  }

  serviceAccountToken(
    namespace: string,
    serviceAccount: string,
    request: TokenRequest,
    signal: AbortSignal,
  ): Promise<TokenRequest> {
    return this.#tokens.get(namespace, serviceAccount, request, signal);
  }

  persistentVolumeClaim(
    namespace: string,
    name: string,
    signal: AbortSignal,
  ): Promise<PersistentVolumeClaim> {
    return this.#deps.api.client.get(namespaced(namespace, 'persistentvolumeclaims', name), { signal });
  }

  persistentVolume(name: string, signal: AbortSignal): Promise<PersistentVolume> {
    return this.#deps.api.client.get(apiPath('api', 'v1', 'persistentvolumes', name), { signal });
  }

  trustAnchors(choice: TrustBundleChoice, signal: AbortSignal): Promise<string> {
    return this.#trustBundles.anchors(choice, signal);
  }

  async node(signal: AbortSignal): Promise<Node> {
    const { nodeName, ownNode } = this.#deps;
    const { client } = this.#deps.api;
    return ownNode.get() ?? (await client.get<Node>(apiPath('api', 'v1', 'nodes', nodeName), { signal }));
  }

  registerPod(pod: Pod): void {
    const { namespace = '', uid = '' } = pod.metadata ?? {};
    const { configmaps = [], secrets = [] } = podReferences(pod);
    this.#secrets.register(uid, namespace, secrets);
    this.#configMaps.register(uid, namespace, configmaps);
  }

  unregisterPod(pod: Pod): void {
    const { uid = '' } = pod.metadata ?? {};
    this.#secrets.unregister(uid);
    this.#configMaps.unregister(uid);
    this.#tokens.forgetPod(uid);
  }

  #strategy<T extends NamedObject>(kind: ObjectKind, changedKind: ChangedObject['kind']): ObjectStrategy<T> {
    const { clock, strategy } = this.#deps;
    const { client, follow } = this.#deps.api;
    const get = (
      namespace: string,
      name: string,
      signal: AbortSignal,
      options: { readonly fromCache: boolean } = { fromCache: false },
    ): Promise<T> =>
      client.get(namespaced(namespace, kind.plural, name), {
        signal,
        ...(options.fromCache ? { query: { resourceVersion: '0' } } : {}),
      });
    if (strategy === 'Get') return new FetchedObjects<T>(get);
    if (strategy === 'Cache') return new CachedObjects<T>({ get, clock, ttlMs: () => this.#ttlMs() });
    const announce = (namespace: string, name: string): void =>
      this.changed.push({ kind: changedKind, namespace, name });
    return new WatchedObjects<T>({ kind, follow, get, announce, clock });
  }

  /** The TTL that the control plane sets on the node; it grows with the cluster. */
  #ttlMs(): number {
    const seconds = Number(this.#deps.ownNode.get()?.metadata?.annotations?.[ttlAnnotation] ?? Number.NaN);
    return Number.isInteger(seconds) && seconds >= 0 ? seconds * 1000 : defaultTtlMs;
  }
}

function namespaced(namespace: string, ...rest: readonly string[]): string {
  return apiPath('api', 'v1', 'namespaces', namespace, ...rest);
}
