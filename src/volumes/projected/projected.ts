// The projected plugin: writes several sources to one directory, in memory since they include tokens and secrets.
// Upstream: pkg/volume/projected. Invariants: of two sources with the same path the later wins; an error names every source
// that failed.
import type { Pod, VolumeProjection } from '../../api/k8s/types.ts';
import type { Allocatable } from '../../api/pod/pod-fields.ts';
import { type PodCertificates, podCertificateObject } from '../../api/ports/pod-certificates.ts';
import type { ChangedObject, PodObjects, TrustBundleChoice } from '../../api/ports/pod-objects.ts';
import type { Content, ContentFile } from '../../api/ports/volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { configMapContent } from '../config-map/config-map.ts';
import type { ContentKind } from '../content/content-volume.ts';
import { apiDefaultMode } from '../content/key-content.ts';
import { downwardContent } from '../downward-api/downward-api.ts';
import type { VolumeOwner } from '../plugin.ts';
import { secretContent } from '../secret/secret.ts';

interface ProjectedDeps {
  readonly objects: Pick<PodObjects, 'configMap' | 'secret' | 'serviceAccountToken' | 'trustAnchors'>;
  readonly certificates: Pick<PodCertificates, 'bundle'>;
  readonly allocatable: () => Allocatable;
}

interface Context {
  readonly deps: ProjectedDeps;
  readonly pod: Pod;
  /** The name of the volume. */
  readonly volume: string;
  readonly owner: VolumeOwner;
  readonly defaultMode: number;
  readonly signal: AbortSignal;
}

export function projectedKind(deps: ProjectedDeps): ContentKind {
  return {
    name: 'kubernetes.io/projected',
    inMemory: true,
    canServe: ({ source }) => source.projected !== undefined,
    references: (pod, { source }) =>
      (source.projected?.sources ?? []).flatMap((each) => referenceOf(pod, each)),
    collect: async ({ pod, spec, owner }, signal) => {
      const { sources = [], defaultMode = apiDefaultMode } = spec.source.projected ?? {};
      const context = { deps, pod, volume: spec.name, owner, defaultMode, signal };
      const parts = await Promise.allSettled(
        sources.map((source, index) => sourceContent(context, source, index)),
      );
      signal.throwIfAborted();
      const failed = parts.filter((part) => part.status === 'rejected');
      if (failed.length > 0) throw combineFailures(failed.map((part) => part.reason as unknown));
      return new Map(parts.flatMap((part) => (part.status === 'fulfilled' ? [...part.value] : [])));
    },
  };
}

function referenceOf(
  { metadata: { namespace = '', uid = '' } = {} }: Pod,
  { clusterTrustBundle: bundle, configMap, podCertificate, secret }: VolumeProjection,
): readonly ChangedObject[] {
  return [
    ...(configMap === undefined
      ? []
      : [{ kind: 'ConfigMap' as const, namespace, name: configMap.name ?? '' }]),
    ...(secret === undefined ? [] : [{ kind: 'Secret' as const, namespace, name: secret.name ?? '' }]),
    ...(bundle === undefined ? [] : [bundleReference(bundle)]),
    ...(podCertificate === undefined ? [] : [podCertificateObject(uid)]),
  ];
}

type TrustBundleSource = NonNullable<VolumeProjection['clusterTrustBundle']>;

function bundleReference({ name, signerName = '' }: TrustBundleSource): ChangedObject {
  return name === undefined
    ? { kind: 'TrustBundleSigner', namespace: '', name: signerName }
    : { kind: 'ClusterTrustBundle', namespace: '', name };
}

async function sourceContent(context: Context, source: VolumeProjection, index: number): Promise<Content> {
  const { deps, pod, defaultMode, signal } = context;
  const namespace = pod.metadata?.namespace ?? '';
  if (source.secret !== undefined)
    return await secretContent(deps.objects, namespace, source.secret, defaultMode, signal);
  if (source.configMap !== undefined)
    return await configMapContent(deps.objects, namespace, source.configMap, defaultMode, signal);
  if (source.downwardAPI !== undefined)
    return downwardContent(pod, source.downwardAPI.items ?? [], defaultMode, deps.allocatable());
  if (source.serviceAccountToken !== undefined)
    return await tokenContent(context, source.serviceAccountToken);
  if (source.clusterTrustBundle !== undefined) return await trustContent(context, source.clusterTrustBundle);
  if (source.podCertificate !== undefined) return certificateContent(context, source.podCertificate, index);
  const name = Object.keys(source)[0] ?? 'empty source';
  throw new KubeletError('invalid', 'FailedMount', `projected source ${name} is not supported`);
}

/** The token is bound to the pod and expires with it. A file with an owner has mode 0600; fsGroup adds the group's access. */
async function tokenContent(
  { deps, pod, owner, defaultMode, signal }: Context,
  projection: NonNullable<VolumeProjection['serviceAccountToken']>,
): Promise<Content> {
  const { audience = '', expirationSeconds = 3600, path } = projection;
  const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
  const { status } = await deps.objects.serviceAccountToken(
    namespace,
    pod.spec?.serviceAccountName ?? '',
    {
      spec: {
        audiences: audience === '' ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    },
    signal,
  );
  if (!status?.token)
    throw new KubeletError(
      'unavailable',
      'FailedMount',
      'the API server returned a TokenRequest without a token',
    );
  return new Map([[path, ownedFile(Buffer.from(status.token), owner, defaultMode)]]);
}

async function trustContent(
  { deps, owner, defaultMode, signal }: Context,
  source: TrustBundleSource,
): Promise<Content> {
  const anchors = await deps.objects.trustAnchors(choiceOf(source), signal);
  return new Map([[source.path, ownedFile(Buffer.from(anchors), owner, defaultMode)]]);
}

/** The bundle is the key followed by the certificates. */
function certificateContent(
  { deps, pod, volume, owner, defaultMode }: Context,
  source: NonNullable<VolumeProjection['podCertificate']>,
  index: number,
): Content {
  const { certificateChainPath, credentialBundlePath, keyPath } = source;
  const { chainPem, key } = deps.certificates.bundle(pod, volume, index);
  const keyPem = key.reveal();
  const files: readonly (readonly [string | undefined, string])[] = [
    [credentialBundlePath, keyPem + chainPem],
    [keyPath, keyPem],
    [certificateChainPath, chainPem],
  ];
  return new Map(
    files.flatMap(([path = '', text]) =>
      path === '' ? [] : [[path, ownedFile(Buffer.from(text), owner, defaultMode)]],
    ),
  );
}

function choiceOf({
  name,
  signerName,
  labelSelector,
  optional = false,
}: TrustBundleSource): TrustBundleChoice {
  if (name !== undefined) return { name, optional };
  if (signerName !== undefined) return { signerName, labelSelector, optional };
  throw new KubeletError(
    'invalid',
    'FailedMount',
    'ClusterTrustBundle projection requires either name or signerName to be set',
  );
}

function ownedFile(data: Uint8Array, owner: VolumeOwner, defaultMode: number): ContentFile {
  const isOwned = owner.user !== undefined || owner.fsGroup !== undefined;
  return { data, mode: isOwned ? 0o600 : defaultMode, owner: owner.user };
}

function combineFailures(failures: readonly unknown[]): unknown {
  const [first] = failures;
  if (failures.length === 1) return first;
  const kind = first instanceof KubeletError ? first.kind : 'internal';
  const texts = [...new Set(failures.map((err) => describeError(err)))];
  const message = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  return new KubeletError(kind, 'FailedMount', message, { cause: first });
}
