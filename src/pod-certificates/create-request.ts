// Creates a PodCertificateRequest with a new key. Upstream: createPodCertificateRequest in pkg/kubelet/podcertificate.
// Invariant: nothing expensive is done for a request that cannot be created, as while the API server is unreachable.
import type { Node, PodCertificateRequest } from '../api/k8s/types.ts';
import { type ApiClient, apiPath } from '../api/ports/api-client.ts';
import type { GeneratePodKey } from '../api/ports/pod-certificates.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import type { PendingRequest } from './credential-state.ts';
import type { Projection } from './projections.ts';

interface RequestCreatorDeps {
  readonly client: Pick<ApiClient, 'create'>;
  readonly objects: Pick<PodObjects, 'serviceAccount'>;
  readonly node: { readonly name: string; readonly own: { get(): Node | undefined } };
  readonly generateKey: GeneratePodKey;
  readonly clock: Pick<Clock, 'now'>;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Upstream: assumeDeletedThreshold. Control planes delete requests after 15 minutes. */
const abandonAfterMs = 10 * 60_000;
const maxJitterMs = 5 * 60_000;

/** Up to five minutes, so that pods that started together do not renew together. Upstream: jitterDuration. */
export function jitterMs(random: () => number): number {
  return Math.floor(random() * maxJitterMs);
}

export class RequestCreator {
  readonly #deps: RequestCreatorDeps;

  constructor(deps: RequestCreatorDeps) {
    this.#deps = deps;
  }

  async create(projection: Projection, signal: AbortSignal): Promise<PendingRequest> {
    const { client, clock, generateKey, random } = this.#deps;
    const { namespace = '' } = projection.pod.metadata ?? {};
    const identity = await this.#identity(projection, signal);
    const { key, request } = await raceAbort(generateKey(projection.source.keyType, signal), signal).catch(
      (err: unknown) => fail('while generating keypair', err),
    );
    const path = apiPath(
      'apis',
      'certificates.k8s.io',
      'v1',
      'namespaces',
      namespace,
      'podcertificaterequests',
    );
    const body = requestObject(projection, identity, request);
    const created = await client
      .create<PodCertificateRequest>(path, body, { signal })
      .catch((err: unknown) => fail('while creating on API', err));
    // differs from upstream, which counts from the creation timestamp: the API server's clock may differ from this machine's.
    const createdAtMs = clock.now();
    const { name = '', uid = '' } = created.metadata ?? {};
    const abandonAtMs = createdAtMs + abandonAfterMs + jitterMs(random);
    return { key, namespace, name, uid, createdAtMs, abandonAtMs };
  }

  /** The UIDs that the API server compares with its objects. */
  async #identity({ pod }: Projection, signal: AbortSignal): Promise<Identity> {
    const { node, objects } = this.#deps;
    const account = await objects
      .serviceAccount(pod.metadata?.namespace ?? '', pod.spec?.serviceAccountName ?? '', signal)
      .catch((err: unknown) => fail('while fetching service account', err));
    const nodeUID = node.own.get()?.metadata?.uid;
    if (nodeUID === undefined) {
      const message = `while getting node object from local cache: node "${node.name}" not found`;
      throw new KubeletError('unavailable', 'NodeUnknown', message);
    }
    return { serviceAccountUID: account.metadata?.uid ?? '', nodeName: node.name, nodeUID };
  }
}

type Identity = Pick<PodCertificateRequest['spec'], 'serviceAccountUID' | 'nodeName' | 'nodeUID'>;

function requestObject(
  { pod, source }: Projection,
  { nodeName, nodeUID, serviceAccountUID }: Identity,
  stubRequest: Uint8Array,
): PodCertificateRequest {
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const { maxExpirationSeconds, signerName, userAnnotations } = source;
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'PodCertificateRequest',
    metadata: {
      namespace,
      generateName: 'req-',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: {
      signerName,
      podName: name,
      podUID: uid,
      serviceAccountName: pod.spec?.serviceAccountName ?? '',
      serviceAccountUID,
      nodeName,
      nodeUID,
      ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
      stubPKCS10Request: Buffer.from(stubRequest).toString('base64'),
      ...(userAnnotations === undefined ? {} : { unverifiedUserAnnotations: userAnnotations }),
    },
  };
}

function fail(what: string, err: unknown): never {
  const { kind, reason } =
    err instanceof KubeletError ? err : { kind: 'internal' as const, reason: 'CertificateRequestFailed' };
  throw new KubeletError(kind, reason, `${what}: ${describeError(err)}`, { cause: err });
}
