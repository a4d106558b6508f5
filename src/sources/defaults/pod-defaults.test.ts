import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec, Volume } from '../../api/k8s/types.ts';
import { decodeManifest } from '../decode/decode-manifest.ts';
import { defaultPod } from './pod-defaults.ts';

/** The defaulted spec of a manifest. */
function defaulted(spec: object, metadata: object = {}): PodSpec {
  return defaultedPod(spec, metadata).spec ?? { containers: [] };
}

function defaultedPod(spec: object, metadata: object = {}): Pod {
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', ...metadata }, spec };
  const { pods, faults } = decodeManifest(Buffer.from(JSON.stringify(manifest)));
  expect(faults).toEqual([]);
  const pod = pods[0];
  if (pod === undefined) throw new Error('no pod');
  const full = defaultPod(pod);
  expect(defaultPod(full)).toEqual(full);
  return full;
}

function container(more: object): PodSpec['containers'][number] | undefined {
  return defaulted({ containers: [{ name: 'c', image: 'i', ...more }] }).containers[0];
}

function volume(source: object): Volume | undefined {
  return defaulted({ volumes: [{ name: 'v', ...source }] }).volumes?.[0];
}

describe('a pod', () => {
  test('gets the defaults of every pod', () => {
    expect(defaultedPod({ containers: [] })).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: {
        containers: [],
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        dnsPolicy: 'ClusterFirst',
        securityContext: {},
        schedulerName: 'default-scheduler',
        enableServiceLinks: true,
      },
    });
  });

  test('keeps given values', () => {
    const given = {
      containers: [],
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      dnsPolicy: 'None',
      securityContext: { runAsUser: 0 },
      schedulerName: 's',
      enableServiceLinks: false,
    };
    expect(defaulted(given)).toEqual(given);
  });

  test('is not mutated', () => {
    const given: Pod = {
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1 }] }], hostNetwork: true },
    };
    const before = structuredClone(given);
    defaultPod(given);
    expect(given).toEqual(before);
  });

  test('without a spec gets one', () => {
    expect(defaultPod({ metadata: { name: 'a' } }).spec?.containers).toEqual([]);
  });

  const normalised: readonly (readonly [string, object, object])[] = [
    [
      'the deprecated service account field is used',
      { serviceAccount: 'x' },
      { serviceAccount: 'x', serviceAccountName: 'x' },
    ],
    [
      'the new service account field wins',
      { serviceAccount: 'x', serviceAccountName: 'y' },
      { serviceAccount: 'y', serviceAccountName: 'y' },
    ],
    [
      'a negative grace period becomes one second',
      { terminationGracePeriodSeconds: -7 },
      { terminationGracePeriodSeconds: 1 },
    ],
  ];
  for (const [name, given, want] of normalised)
    test(name, () => expect(defaulted(given)).toMatchObject(want));

  test('keeps every annotation, even the obsolete ones of init containers', () => {
    const annotations = { 'pod.beta.kubernetes.io/init-containers': '[]', other: 'x' };
    expect(defaultedPod({}, { annotations }).metadata?.annotations).toEqual(annotations);
  });
});

describe('a container', () => {
  test('gets the defaults of every container', () => {
    expect(container({})).toEqual({
      name: 'c',
      image: 'i',
      imagePullPolicy: 'Always',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    });
  });

  const cases: readonly (readonly [string, object, object])[] = [
    ['IfNotPresent for a tag', { image: 'i:1' }, { imagePullPolicy: 'IfNotPresent' }],
    ['IfNotPresent for an invalid image', { image: 'I!' }, { imagePullPolicy: 'IfNotPresent' }],
    ['a given pull policy is kept', { imagePullPolicy: 'Never' }, { imagePullPolicy: 'Never' }],
    [
      'TCP for ports',
      { ports: [{ containerPort: 1 }, { containerPort: 2, protocol: 'UDP' }] },
      {
        ports: [
          { containerPort: 1, protocol: 'TCP' },
          { containerPort: 2, protocol: 'UDP' },
        ],
      },
    ],
    [
      'v1 for a field reference',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } }] },
    ],
    [
      'a file key is required',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }] },
      {
        env: [
          { name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k', optional: false } } },
        ],
      },
    ],
    [
      'requests from limits',
      { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } } },
      { resources: { requests: { cpu: '100m', memory: '1Gi' } } },
    ],
    [
      'requests without limits are kept',
      { resources: { requests: { cpu: '100m' } } },
      { resources: { requests: { cpu: '100m' } } },
    ],
    [
      'amounts keep their spelling',
      { resources: { limits: { cpu: '0.0015', memory: '0.5Gi', 'x/y': '1u' } } },
      { resources: { limits: { cpu: '0.0015', memory: '0.5Gi', 'x/y': '1u' } } },
    ],
    [
      'the times of a probe',
      { livenessProbe: { exec: { command: ['x'] } } },
      {
        livenessProbe: {
          exec: { command: ['x'] },
          timeoutSeconds: 1,
          periodSeconds: 10,
          successThreshold: 1,
          failureThreshold: 3,
        },
      },
    ],
    [
      'given times of a probe are kept',
      {
        readinessProbe: {
          exec: {},
          timeoutSeconds: 2,
          periodSeconds: 3,
          successThreshold: 4,
          failureThreshold: 5,
        },
      },
      {
        readinessProbe: {
          exec: {},
          timeoutSeconds: 2,
          periodSeconds: 3,
          successThreshold: 4,
          failureThreshold: 5,
        },
      },
    ],
    [
      'path and scheme of an HTTP probe',
      { startupProbe: { httpGet: { port: 1 } } },
      { startupProbe: { httpGet: { port: 1, path: '/', scheme: 'HTTP' } } },
    ],
    [
      'the service of a gRPC probe',
      { livenessProbe: { grpc: { port: 1 } } },
      { livenessProbe: { grpc: { port: 1, service: '' } } },
    ],
    [
      'path and scheme of HTTP hooks',
      {
        lifecycle: {
          postStart: { httpGet: { port: 1 } },
          preStop: { httpGet: { port: 1, path: '/x', scheme: 'HTTPS' } },
        },
      },
      {
        lifecycle: {
          postStart: { httpGet: { port: 1, path: '/', scheme: 'HTTP' } },
          preStop: { httpGet: { port: 1, path: '/x', scheme: 'HTTPS' } },
        },
      },
    ],
  ];
  for (const [name, given, want] of cases) test(name, () => expect(container(given)).toMatchObject(want));

  test('of every type gets them', () => {
    const one = { name: 'c', image: 'i:1', ports: [{ containerPort: 1 }] };
    const spec = defaulted({ containers: [one], initContainers: [one], ephemeralContainers: [one] });
    const want = { imagePullPolicy: 'IfNotPresent', ports: [{ containerPort: 1, protocol: 'TCP' }] };
    expect([spec.containers[0], spec.initContainers?.[0], spec.ephemeralContainers?.[0]]).toMatchObject([
      want,
      want,
      want,
    ]);
  });

  test('that is ephemeral does not get requests', () => {
    const one = { name: 'c', image: 'i', resources: { limits: { cpu: '1' } } };
    expect(
      defaulted({ ephemeralContainers: [one] }).ephemeralContainers?.[0]?.resources?.requests,
    ).toBeUndefined();
  });

  test('with host network gets host ports', () => {
    const one = {
      name: 'c',
      image: 'i',
      ports: [{ containerPort: 1 }, { containerPort: 2, hostPort: 3 }, {}],
    };
    const { containers, initContainers } = defaulted({
      hostNetwork: true,
      containers: [one],
      initContainers: [one],
    });
    expect(containers[0]?.ports?.map((port) => port.hostPort)).toEqual([1, 3, undefined]);
    expect(initContainers?.[0]?.ports?.map((port) => port.hostPort)).toEqual([1, 3, undefined]);
    expect(container({ ports: [{ containerPort: 1 }] })?.ports?.[0]?.hostPort).toBeUndefined();
  });
});

describe('a volume', () => {
  const cases: readonly (readonly [string, object, object])[] = [
    ['without a source becomes an emptyDir', {}, { emptyDir: {} }],
    ['hostPath gets a type', { hostPath: { path: '/' } }, { hostPath: { path: '/', type: '' } }],
    ['secret', { secret: {} }, { secret: { defaultMode: 0o644 } }],
    ['secret with a mode', { secret: { defaultMode: 0 } }, { secret: { defaultMode: 0 } }],
    ['configMap', { configMap: {} }, { configMap: { defaultMode: 0o644 } }],
    [
      'downwardAPI',
      { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f' } }, { path: 'q' }] } },
      {
        downwardAPI: {
          defaultMode: 0o644,
          items: [{ path: 'p', fieldRef: { fieldPath: 'f', apiVersion: 'v1' } }, { path: 'q' }],
        },
      },
    ],
    [
      'projected',
      {
        projected: {
          sources: [
            { serviceAccountToken: { path: 't' } },
            { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f' } }] } },
            { secret: {} },
          ],
        },
      },
      {
        projected: {
          defaultMode: 0o644,
          sources: [
            { serviceAccountToken: { path: 't', expirationSeconds: 3600 } },
            { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'f', apiVersion: 'v1' } }] } },
            { secret: {} },
          ],
        },
      },
    ],
    ['iscsi', { iscsi: {} }, { iscsi: { iscsiInterface: 'default' } }],
    ['rbd', { rbd: {} }, { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } }],
    [
      'azureDisk',
      { azureDisk: {} },
      { azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' } },
    ],
    ['scaleIO', { scaleIO: {} }, { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' } }],
    [
      'ephemeral',
      { ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '1.0005' } } } } } },
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1.0005' } } },
          },
        },
      },
    ],
    ['ephemeral without a template', { ephemeral: {} }, { ephemeral: {} }],
    [
      'image: Always for the tag latest',
      { image: { reference: 'i' } },
      { image: { reference: 'i', pullPolicy: 'Always' } },
    ],
    [
      'image: IfNotPresent for another tag',
      { image: { reference: 'i:1' } },
      { image: { reference: 'i:1', pullPolicy: 'IfNotPresent' } },
    ],
    [
      'image: a given pull policy is kept',
      { image: { reference: 'i', pullPolicy: 'Never' } },
      { image: { reference: 'i', pullPolicy: 'Never' } },
    ],
    ['image without a reference', { image: {} }, { image: { pullPolicy: 'IfNotPresent' } }],
    ['emptyDir with a mode', { emptyDir: { mode: 0o1777 } }, { emptyDir: { mode: 0o1777 } }],
    ['nfs', { nfs: { server: 's' } }, { nfs: { server: 's' } }],
  ];
  for (const [name, given, want] of cases)
    test(name, () => expect(volume(given)).toEqual({ name: 'v', ...want }));
});

describe('pod-level resources', () => {
  const sized = (resources: object, more: object = {}): object => ({
    name: 'c',
    image: 'i',
    resources,
    ...more,
  });
  const cases: readonly (readonly [string, object, object | undefined])[] = [
    ['are not added', { containers: [sized({ limits: { cpu: '1' } })] }, undefined],
    ['stay empty', { containers: [], resources: {} }, {}],
    [
      'get requests from limits without container requests',
      { containers: [sized({})], resources: { limits: { cpu: '2', memory: '1Gi' } } },
      { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '2', memory: '1Gi' } },
    ],
    [
      'get requests from the sum of the containers',
      {
        containers: [sized({ requests: { cpu: '1' } }), sized({ requests: { cpu: '500m', memory: '1Gi' } })],
        resources: { limits: { cpu: '2' } },
      },
      { limits: { cpu: '2' }, requests: { cpu: '1500m', memory: '1Gi' } },
    ],
    [
      'count the largest init container and all sidecars',
      {
        containers: [sized({ requests: { cpu: '1' } })],
        initContainers: [
          sized({ requests: { cpu: '1' } }, { restartPolicy: 'Always' }),
          sized({ requests: { cpu: '5' } }),
        ],
        resources: { limits: { cpu: '9' } },
      },
      { limits: { cpu: '9' }, requests: { cpu: '6' } },
    ],
    [
      'keep their requests',
      {
        containers: [sized({ requests: { cpu: '1' } })],
        resources: { limits: { cpu: '2' }, requests: { cpu: '2' } },
      },
      { limits: { cpu: '2' }, requests: { cpu: '2' } },
    ],
    [
      'get limits of huge pages from the containers',
      { containers: [sized({ limits: { 'hugepages-2Mi': '4Mi' } })], resources: { limits: { cpu: '1' } } },
      { limits: { cpu: '1', 'hugepages-2Mi': '4Mi' }, requests: { cpu: '1', 'hugepages-2Mi': '4Mi' } },
    ],
    [
      'get no limits of huge pages they request themselves',
      {
        containers: [sized({ limits: { 'hugepages-2Mi': '4Mi' } })],
        resources: { requests: { 'hugepages-2Mi': '4Mi' } },
      },
      { requests: { 'hugepages-2Mi': '4Mi' } },
    ],
    [
      'with requests only get no limits',
      { containers: [sized({ requests: { cpu: '1' } })], resources: { requests: { memory: '1Gi' } } },
      { requests: { memory: '1Gi' } },
    ],
    [
      'ignore resources that a pod cannot have',
      {
        containers: [sized({ requests: { 'ephemeral-storage': '1Gi' } })],
        resources: { limits: { cpu: '1' } },
      },
      { limits: { cpu: '1' }, requests: { cpu: '1' } },
    ],
    [
      'keep their spelling',
      { containers: [], resources: { limits: { cpu: '0.0001' } }, overhead: { cpu: '0.0001' } },
      { limits: { cpu: '0.0001' }, requests: { cpu: '0.0001' } },
    ],
  ];
  for (const [name, spec, want] of cases) test(name, () => expect(defaulted(spec).resources).toEqual(want));
});
