import { describe, expect, test } from 'vitest';
import type { Pod, Toleration } from '../api/k8s/types.ts';
import { decodeManifest } from './decode/decode-manifest.ts';
import { buildStaticPod, type StaticPodOptions, type StaticPodResult } from './static-pod.ts';

const options: StaticPodOptions = {
  nodeName: 'node-1',
  source: 'file',
  origin: '/manifests/a.yaml',
  nowMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
  computeHash: () => 'computed',
};

function make(metadata: object, spec: object = {}, more: Partial<StaticPodOptions> = {}): StaticPodResult {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', ...metadata },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  };
  const pod = decodeManifest(Buffer.from(JSON.stringify(manifest))).pods[0];
  if (pod === undefined) throw new Error('no pod');
  return buildStaticPod(pod, { ...options, ...more });
}

function good(result: StaticPodResult): Pod {
  if (!result.ok) throw new Error(result.violations.join('; '));
  return result.pod;
}

describe('a static pod', () => {
  test('gets UID, name suffix, node and annotations', () => {
    const pod = good(make({ labels: { a: 'b' }, annotations: { c: 'd' } }));
    expect(pod.metadata).toEqual({
      name: 'web-node-1',
      namespace: 'default',
      uid: 'computed',
      labels: { a: 'b' },
      annotations: {
        c: 'd',
        'kubernetes.io/config.hash': 'computed',
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.seen': '2026-01-02T03:04:05.678Z',
      },
    });
    expect(pod.spec?.nodeName).toBe('node-1');
    expect(pod.status).toEqual({ phase: 'Pending' });
  });

  test('keeps its own UID and namespace', () => {
    const pod = good(make({ uid: 'mine', namespace: 'kube-system' }, {}, { computeHash: () => 'not asked' }));
    expect(pod.metadata).toMatchObject({ uid: 'mine', namespace: 'kube-system' });
    expect(pod.metadata?.annotations?.['kubernetes.io/config.hash']).toBe('mine');
  });

  test('appends the node’s name in lower case, which must be valid', () => {
    const result = make({}, {}, { nodeName: 'Node-1' });
    expect(result).toEqual({
      ok: false,
      violations: [expect.stringContaining('spec.nodeName: Invalid value: "Node-1"')],
    });
  });

  test('has a UID of the defaulted pod, before suffix and annotations', () => {
    let seen: unknown;
    const resources = { limits: { cpu: '0.5' } };
    const pod = good(
      make(
        {},
        { containers: [{ name: 'c', image: 'i', resources }] },
        {
          computeHash: (given, origin) => {
            seen = { given, origin };
            return 'u';
          },
        },
      ),
    );
    expect(seen).toMatchObject({
      given: {
        metadata: { name: 'web' },
        spec: {
          restartPolicy: 'Always',
          containers: [{ resources: { limits: { cpu: '0.5' }, requests: { cpu: '0.5' } } }],
        },
      },
      origin: {
        nodeName: 'node-1',
        source: '/manifests/a.yaml',
        isFile: true,
        written: { spec: { containers: [{ resources: { limits: { cpu: '0.5' } } }] } },
      },
    });
    expect((seen as { given: Pod }).given.metadata?.annotations).toBeUndefined();
    expect((seen as { given: Pod }).given.spec?.tolerations).toBeUndefined();
    expect(pod.spec?.containers[0]?.resources).toEqual({
      limits: { cpu: '500m' },
      requests: { cpu: '500m' },
    });
  });

  test('has its resources rounded up to milli after the UID is computed', () => {
    let hashed: Pod | undefined;
    const resources = { limits: { cpu: '5n', memory: '0.5Gi' } };
    const pod = good(
      make(
        {},
        {
          containers: [{ name: 'c', image: 'i', resources }],
          overhead: { cpu: '0.0015' },
          volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Ki' } }],
        },
        {
          computeHash: (given) => {
            hashed = given;
            return 'u';
          },
        },
      ),
    );
    expect(hashed?.spec?.containers[0]?.resources).toEqual({
      limits: { cpu: '5n', memory: '0.5Gi' },
      requests: { cpu: '5n', memory: '0.5Gi' },
    });
    expect(hashed?.spec?.overhead).toEqual({ cpu: '0.0015' });
    expect(pod.spec?.containers[0]?.resources).toEqual({
      limits: { cpu: '1m', memory: '512Mi' },
      requests: { cpu: '1m', memory: '512Mi' },
    });
    expect(pod.spec?.overhead).toEqual({ cpu: '2m' });
    expect(pod.spec?.volumes?.[0]?.emptyDir).toEqual({ sizeLimit: '1Ki' });
  });

  test('keeps the status of the manifest, but is Pending', () => {
    const manifest: Pod = {
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
      status: { phase: 'Running', message: 'm' },
    };
    expect(good(buildStaticPod(manifest, options)).status).toEqual({ phase: 'Pending', message: 'm' });
  });

  const always = { operator: 'Exists', effect: 'NoExecute' };
  const tolerations: readonly (readonly [
    string,
    readonly Toleration[] | undefined,
    readonly Toleration[],
  ])[] = [
    ['none', undefined, [always]],
    ['another', [{ key: 'a', operator: 'Exists' }], [{ key: 'a', operator: 'Exists' }, always]],
    [
      'the same toleration',
      [always, { key: 'a', operator: 'Exists' }],
      [always, { key: 'a', operator: 'Exists' }],
    ],
    ['the same with tolerationSeconds', [{ ...always, tolerationSeconds: 5 }], [always]],
    ['a toleration of all effects', [{ operator: 'Exists' }], [{ operator: 'Exists' }, always]],
  ];
  for (const [name, given, want] of tolerations)
    test(`tolerates NoExecute taints if its manifest has: ${name}`, () =>
      expect(good(make({}, given === undefined ? {} : { tolerations: given })).spec?.tolerations).toEqual(
        want,
      ));

  test('from a URL has only the tolerations of its manifest', () => {
    const pod = good(make({}, {}, { source: 'http', origin: 'http://x' }));
    expect(pod.spec?.tolerations).toBeUndefined();
    expect(pod.metadata?.annotations?.['kubernetes.io/config.source']).toBe('http');
  });

  test('is rejected with all violations', () => {
    const result = make({ name: 'A' }, { containers: [], serviceAccountName: 'x' });
    expect(result).toEqual({
      ok: false,
      violations: [
        expect.stringMatching(/^metadata\.name: Invalid value: "A-node-1"/),
        'spec.containers: Required value',
        'static pods may not reference serviceaccounts',
      ],
    });
  });
});

describe('rejects references to API objects', () => {
  const withEnv = (valueFrom: object): object => ({
    containers: [{ name: 'c', image: 'i', env: [{ name: 'A', valueFrom }] }],
  });
  const withEnvFrom = (from: object): object => ({
    initContainers: [{ name: 'd', image: 'i', envFrom: [from] }],
  });
  const withVolume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
  const projected = (source: object): object => withVolume({ projected: { sources: [source] } });
  const claim = {
    volumeClaimTemplate: {
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
    },
  };
  const cases: readonly (readonly [string, object, string])[] = [
    ['a service account', { serviceAccountName: 'x' }, 'serviceaccounts'],
    ['a service account in the deprecated field', { serviceAccount: 'x' }, 'serviceaccounts'],
    ['an image pull secret', { imagePullSecrets: [{ name: 'x' }] }, 'secrets'],
    ['a variable from a secret', withEnv({ secretKeyRef: { name: 'x', key: 'k' } }), 'secrets'],
    ['variables from a secret', withEnvFrom({ secretRef: { name: 'x' } }), 'secrets'],
    ['a secret volume', withVolume({ secret: { secretName: 'x' } }), 'secrets'],
    ['a projected secret', projected({ secret: { name: 'x' } }), 'secrets'],
    [
      'a secret of a volume',
      withVolume({ rbd: { monitors: ['m'], image: 'i', secretRef: { name: 'x' } } }),
      'secrets',
    ],
    ['a variable from a config map', withEnv({ configMapKeyRef: { name: 'x', key: 'k' } }), 'configmaps'],
    ['variables from a config map', withEnvFrom({ configMapRef: { name: 'x' } }), 'configmaps'],
    ['a config map volume', withVolume({ configMap: { name: 'x' } }), 'configmaps'],
    ['a projected config map', projected({ configMap: { name: 'x' } }), 'configmaps'],
    ['a resource claim', { resourceClaims: [{ name: 'x', resourceClaimName: 'y' }] }, 'resourceclaims'],
    ['a CSI volume', withVolume({ csi: { driver: 'x' } }), 'csidrivers (via CSI volumes)'],
    [
      'a glusterfs volume',
      withVolume({ glusterfs: { endpoints: 'e', path: 'p' } }),
      'endpoints (via glusterFS volumes)',
    ],
    [
      'a persistent volume claim',
      withVolume({ persistentVolumeClaim: { claimName: 'x' } }),
      'persistentvolumeclaims',
    ],
    [
      'an ephemeral volume',
      withVolume({ ephemeral: claim }),
      'persistentvolumeclaims (via ephemeral volumes)',
    ],
    ['a trust bundle', projected({ clusterTrustBundle: { name: 'x', path: 'p' } }), 'clustertrustbundles'],
    [
      'a certificate',
      projected({ podCertificate: { signerName: 'a.b/c', keyType: 'ED25519', keyPath: 'k' } }),
      'podcertificates',
    ],
  ];
  for (const [name, spec, want] of cases)
    test(name, () =>
      expect(make({}, spec)).toEqual({ ok: false, violations: [`static pods may not reference ${want}`] }),
    );

  test('a service account token', () => {
    expect(make({}, projected({ serviceAccountToken: { path: 't' } }))).toMatchObject({
      violations: [
        expect.anything(),
        'static pods may not reference serviceaccounts (via projected volumes)',
      ],
    });
  });

  const free = [
    ['an emptyDir', withVolume({ emptyDir: {} })],
    ['a hostPath', withVolume({ hostPath: { path: '/' } })],
    [
      'the pod’s own fields',
      projected({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } }),
    ],
    ['an NFS volume', withVolume({ nfs: { server: 's', path: '/p' } })],
  ] as const;
  for (const [name, spec] of free) test(`but not ${name}`, () => expect(make({}, spec).ok).toBe(true));
});
