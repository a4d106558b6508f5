// PodObjects in memory: a test adds, changes and removes the cluster's objects.
import type {
  ConfigMap,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  TokenRequest,
} from '../../src/api/k8s/types.ts';
import type { ChangedObject, PodObjects, TrustBundleChoice } from '../../src/api/ports/pod-objects.ts';
import { Channel } from '../../src/base/channel.ts';
import { KubeletError } from '../../src/base/errors.ts';

export class FakePodObjects implements PodObjects {
  readonly configMaps = new Map<string, ConfigMap>();
  readonly secrets = new Map<string, Secret>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly volumes = new Map<string, PersistentVolume>();
  /** Trust anchors by the name of a trust bundle or of a signer. */
  readonly anchors = new Map<string, string>();
  readonly tokenRequests: TokenRequest[] = [];
  readonly changed = new Channel<ChangedObject>();
  /** The next token, or the error of the next request for one. */
  token: string | KubeletError = 'token-1';

  /** Undefined removes it. `quietly` emits no notification, as when a watch has broken. */
  putConfigMap(name: string, data: Record<string, string> | undefined, quietly = false): void {
    if (data === undefined) this.configMaps.delete(name);
    else this.configMaps.set(name, { data });
    if (!quietly) this.changed.push({ kind: 'ConfigMap', namespace: 'default', name });
  }

  putSecret(name: string, data: Record<string, string>): void {
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    this.secrets.set(name, { data: Object.fromEntries(encoded) as Record<string, string> });
    this.changed.push({ kind: 'Secret', namespace: 'default', name });
  }

  configMap(_namespace: string, name: string): Promise<ConfigMap> {
    return found('configmaps', name, this.configMaps.get(name));
  }

  secret(_namespace: string, name: string): Promise<Secret> {
    return found('secrets', name, this.secrets.get(name));
  }

  serviceAccountToken(
    _namespace: string,
    _serviceAccount: string,
    request: TokenRequest,
  ): Promise<TokenRequest> {
    this.tokenRequests.push(request);
    if (typeof this.token !== 'string') return Promise.reject(this.token);
    return Promise.resolve({ ...request, status: { token: this.token, expirationTimestamp: '' } });
  }

  persistentVolumeClaim(_namespace: string, name: string): Promise<PersistentVolumeClaim> {
    return found('persistentvolumeclaims', name, this.claims.get(name));
  }

  persistentVolume(name: string): Promise<PersistentVolume> {
    return found('persistentvolumes', name, this.volumes.get(name));
  }

  trustAnchors(choice: TrustBundleChoice): Promise<string> {
    const name = 'name' in choice ? choice.name : choice.signerName;
    const anchors = this.anchors.get(name) ?? (choice.optional ? '' : undefined);
    return found('clustertrustbundles', name, anchors);
  }

  services = () => Promise.resolve([]);
  runtimeClass = (name: string) => found<never>('runtimeclasses', name, undefined);
  serviceAccount = (_: string, name: string) => found<never>('serviceaccounts', name, undefined);
  node: () => Promise<Node> = () => found<Node>('nodes', 'n', undefined);
  registerPod = (): void => undefined;
  unregisterPod = (): void => undefined;
}

function found<T>(kind: string, name: string, object: T | undefined): Promise<T> {
  if (object !== undefined) return Promise.resolve(object);
  return Promise.reject(new KubeletError('not-found', 'NotFound', `${kind} "${name}" not found`));
}
