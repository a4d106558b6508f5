import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { contentTexts } from '../../../test/builders/content-texts.ts';
import { aSetUpRequest, noOwner } from '../../../test/builders/volume-requests.ts';
import { FakePodObjects } from '../../../test/fakes/fake-pod-objects.ts';
import type { Pod, VolumeProjection } from '../../api/k8s/types.ts';
import type { PodCertificates } from '../../api/ports/pod-certificates.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import type { VolumeOwner } from '../plugin.ts';
import { projectedKind } from './projected.ts';

describe('projected', () => {
  let objects: FakePodObjects;
  beforeEach(() => {
    objects = new FakePodObjects();
    objects.putConfigMap('cm', { k: 'v' });
    objects.putSecret('s', { user: 'me' });
    objects.anchors.set('bundle', 'PEM').set('example.com/s', 'PEM of the signer');
  });

  /** Only the second source of the volume has a bundle. */
  const certificates: Pick<PodCertificates, 'bundle'> = {
    bundle: (pod, volume, index) => {
      const place = `${pod.metadata?.uid}/${volume}/${index}`;
      if (index === 1) return { key: new Secret(`KEY of ${place} `), chainPem: 'CHAIN' };
      throw new KubeletError('unavailable', 'FailedMount', `${place} is not issued yet`);
    },
  };
  const kind = () => projectedKind({ objects, certificates, allocatable: () => ({}) });
  async function files(
    sources: VolumeProjection[],
    { owner = noOwner, pod = aPod({ serviceAccountName: 'sa' }) }: { owner?: VolumeOwner; pod?: Pod } = {},
  ): Promise<unknown> {
    const request = aSetUpRequest('projected', { projected: { sources } }, { owner, pod });
    try {
      return contentTexts(await kind().collect(request, new AbortController().signal));
    } catch (err) {
      return describeError(err);
    }
  }
  const token = { serviceAccountToken: { path: 'token', expirationSeconds: 600, audience: 'vault' } };
  const certificate = (over: object): VolumeProjection => ({
    podCertificate: { signerName: 'a.b/c', keyType: 'ED25519', ...over },
  });
  const bundle = (over: object): VolumeProjection => ({ clusterTrustBundle: { path: 'ca', ...over } });

  const cases: readonly (readonly [string, VolumeProjection[], unknown])[] = [
    ['writes nothing without sources', [], {}],
    ['writes a ConfigMap', [{ configMap: { name: 'cm' } }], { k: '644 v' }],
    ['writes a Secret', [{ secret: { name: 's', items: [{ key: 'user', path: 'u' }] } }], { u: '644 me' }],
    [
      'writes fields of the pod',
      [{ downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } }],
      { n: '644 p' },
    ],
    ['writes a service account token', [token], { token: '644 token-1' }],
    ['writes a trust bundle', [bundle({ name: 'bundle' })], { ca: '644 PEM' }],
    [
      'writes the trust bundles of a signer',
      [bundle({ signerName: 'example.com/s', labelSelector: {} })],
      { ca: '644 PEM of the signer' },
    ],
    [
      'writes an empty file for a missing optional trust bundle',
      [bundle({ name: 'none', optional: true })],
      { ca: '644 ' },
    ],
    ['rejects a missing trust bundle', [bundle({ name: 'none' })], 'clustertrustbundles "none" not found'],
    [
      'rejects a trust bundle without name and signer',
      [bundle({})],
      'ClusterTrustBundle projection requires either name or signerName to be set',
    ],
    [
      'lets the later of two sources with the same path win',
      [{ configMap: { name: 'cm' } }, { secret: { name: 's', items: [{ key: 'user', path: 'k' }] } }],
      { k: '644 me' },
    ],
    [
      'names every source that fails',
      [{ configMap: { name: 'x' } }, { configMap: { name: 'cm' } }, { secret: { name: 'y' } }],
      '[configmap "x" not found, secret "y" not found]',
    ],
    [
      'writes key, chain and bundle of a pod certificate, by the index of the source',
      [
        { configMap: { name: 'cm' } },
        certificate({ keyPath: 'key', certificateChainPath: 'certs', credentialBundlePath: 'both' }),
      ],
      { k: '644 v', key: '644 KEY of uid-p/v/1 ', certs: '644 CHAIN', both: '644 KEY of uid-p/v/1 CHAIN' },
    ],
    [
      'writes only the requested files of a pod certificate',
      [{ configMap: { name: 'cm' } }, certificate({ keyPath: '', credentialBundlePath: 'both' })],
      { k: '644 v', both: '644 KEY of uid-p/v/1 CHAIN' },
    ],
    [
      'fails while a pod certificate is not issued',
      [certificate({ credentialBundlePath: 'both' })],
      'uid-p/v/0 is not issued yet',
    ],
    [
      'rejects an unknown source by name',
      [{ someday: {} } as VolumeProjection],
      'projected source someday is not supported',
    ],
  ];
  for (const [name, sources, want] of cases)
    test(name, async () => expect(await files(sources)).toEqual(want));

  const owners: readonly (readonly [string, Partial<VolumeOwner>, string])[] = [
    ['with a common user belong to it, mode 0600', { user: 1000 }, '600 of 1000'],
    ['with an fsGroup have mode 0600', { fsGroup: 7 }, '600'],
    ['with both belong to the user, mode 0600', { user: 1000, fsGroup: 7 }, '600 of 1000'],
  ];
  for (const [name, owner, want] of owners)
    test(`tokens, trust bundles and pod certificates ${name}`, async () => {
      const sources = [token, certificate({ keyPath: 'key' }), bundle({ name: 'bundle' })];
      expect(await files(sources, { owner: { ...noOwner, ...owner } })).toEqual({
        token: `${want} token-1`,
        key: `${want} KEY of uid-p/v/1 `,
        ca: `${want} PEM`,
      });
    });

  test('requests a token that is bound to the pod', async () => {
    await files([token]);
    expect(objects.tokenRequests.map(({ spec }) => spec)).toEqual([
      {
        audiences: ['vault'],
        expirationSeconds: 600,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' },
      },
    ]);
  });

  test('fails when the token request fails', async () => {
    objects.token = new KubeletError('forbidden', 'Forbidden', 'no such audience');
    expect(await files([token])).toBe('no such audience');
  });

  test('fails when the response has no token', async () => {
    objects.token = '';
    expect(await files([token])).toBe('the API server returned a TokenRequest without a token');
  });

  test('is stored in memory and references the objects of all sources', () => {
    const sources = [
      { configMap: { name: 'cm' } },
      { secret: { name: 's' } },
      token,
      bundle({ name: 'bundle' }),
      bundle({ signerName: 'example.com/s' }),
      certificate({ keyPath: 'key' }),
    ];
    const { pod, spec } = aSetUpRequest('projected', { projected: { sources } });
    expect(kind().inMemory).toBe(true);
    expect(kind().references(pod, spec)).toEqual([
      { kind: 'ConfigMap', namespace: 'default', name: 'cm' },
      { kind: 'Secret', namespace: 'default', name: 's' },
      { kind: 'ClusterTrustBundle', namespace: '', name: 'bundle' },
      { kind: 'TrustBundleSigner', namespace: '', name: 'example.com/s' },
      { kind: 'PodCertificate', namespace: '', name: 'uid-p' },
    ]);
  });
});
