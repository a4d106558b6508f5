import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec, Volume } from '../../api/k8s/types.ts';
import { decodeManifest } from '../decode/decode-manifest.ts';
import { defaultPod } from './pod-defaults.ts';

/** The spec with its defaults, from one written as a manifest has it. */
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
  test('gets what every pod has', () => {
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

  test('keeps what it was given', () => {
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

  test('stays as it is: the defaults go into a copy', () => {
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
      'the old name of the account counts',
      { serviceAccount: 'x' },
      { serviceAccount: 'x', serviceAccountName: 'x' },
    ],
    [
      'the new name of the account wins',
      { serviceAccount: 'x', serviceAccountName: 'y' },
      { serviceAccount: 'y', serviceAccountName: 'y' },
    ],
    [
      'a negative grace period is one second',
      { terminationGracePeriodSeconds: -7 },
      { terminationGracePeriodSeconds: 1 },
    ],
  ];
  for (const [name, given, want] of normalised)
    test(name, () => expect(defaulted(given)).toMatchObject(want));

  test('loses the annotations that init containers once were', () => {
    const annotations = { 'pod.beta.kubernetes.io/init-containers': '[]', other: 'x' };
    expect(defaultedPod({}, { annotations }).metadata?.annotations).toEqual({ other: 'x' });
  });
});

describe('a container', () => {
  test('gets what every container has', () => {
    expect(container({})).toEqual({
      name: 'c',
      image: 'i',
      imagePullPolicy: 'Always',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    });
  });

  const cases: readonly (readonly [string, object, object])[] = [
    ['a tag needs no pull every time', { image: 'i:1' }, { imagePullPolicy: 'IfNotPresent' }],
    ['an image that is none is not pulled every time', { image: 'I!' }, { imagePullPolicy: 'IfNotPresent' }],
    ['a policy stays', { imagePullPolicy: 'Never' }, { imagePullPolicy: 'Never' }],
    [
      'ports are TCP',
      { ports: [{ containerPort: 1 }, { containerPort: 2, protocol: 'UDP' }] },
      {
        ports: [
          { containerPort: 1, protocol: 'TCP' },
          { containerPort: 2, protocol: 'UDP' },
        ],
      },
    ],
    [
      'a field is one of v1',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } } }] },
    ],
    [
      'a file’s key must be there',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }] },
      {
        env: [
          { name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k', optional: false } } },
        ],
      },
    ],
    [
      'requests follow limits',
      { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '100m' } } },
      { resources: { requests: { cpu: '100m', memory: '1Gi' } } },
    ],
    [
      'requests stay without limits',
      { resources: { requests: { cpu: '100m' } } },
      { resources: { requests: { cpu: '100m' } } },
    ],
    [
      'amounts keep their spelling',
      { resources: { limits: { cpu: '0.0015', memory: '0.5Gi', 'x/y': '1u' } } },
      { resources: { limits: { cpu: '0.0015', memory: '0.5Gi', 'x/y': '1u' } } },
    ],
    [
      'a probe has its times',
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
      'a probe keeps its times',
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
      'an HTTP probe has path and scheme',
      { startupProbe: { httpGet: { port: 1 } } },
      { startupProbe: { httpGet: { port: 1, path: '/', scheme: 'HTTP' } } },
    ],
    [
      'a gRPC probe has a service',
      { livenessProbe: { grpc: { port: 1 } } },
      { livenessProbe: { grpc: { port: 1, service: '' } } },
    ],
    [
      'hooks over HTTP too',
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

  test('of every kind gets them', () => {
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

  test('on the host’s network has its ports there', () => {
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
    ['without a source is an empty directory', {}, { emptyDir: {} }],
    ['of the host has a type', { hostPath: { path: '/' } }, { hostPath: { path: '/', type: '' } }],
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
      'image, whose pull policy is not defaulted',
      { image: { reference: 'i' } },
      { image: { reference: 'i' } },
    ],
    ['nfs', { nfs: { server: 's' } }, { nfs: { server: 's' } }],
  ];
  for (const [name, given, want] of cases)
    test(name, () => expect(volume(given)).toEqual({ name: 'v', ...want }));
});

describe('the pod’s own resources', () => {
  const sized = (resources: object, more: object = {}): object => ({
    name: 'c',
    image: 'i',
    resources,
    ...more,
  });
  const cases: readonly (readonly [string, object, object | undefined])[] = [
    ['are not made up', { containers: [sized({ limits: { cpu: '1' } })] }, undefined],
    ['stay empty', { containers: [], resources: {} }, {}],
    [
      'have requests like limits when no container asks',
      { containers: [sized({})], resources: { limits: { cpu: '2', memory: '1Gi' } } },
      { limits: { cpu: '2', memory: '1Gi' }, requests: { cpu: '2', memory: '1Gi' } },
    ],
    [
      'have requests as the containers have together',
      {
        containers: [sized({ requests: { cpu: '1' } }), sized({ requests: { cpu: '500m', memory: '1Gi' } })],
        resources: { limits: { cpu: '2' } },
      },
      { limits: { cpu: '2' }, requests: { cpu: '1500m', memory: '1Gi' } },
    ],
    [
      'count init containers by the highest, sidecars always',
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
      'get none where they request huge pages',
      {
        containers: [sized({ limits: { 'hugepages-2Mi': '4Mi' } })],
        resources: { requests: { 'hugepages-2Mi': '4Mi' } },
      },
      { requests: { 'hugepages-2Mi': '4Mi' } },
    ],
    [
      'with requests only stay so',
      { containers: [sized({ requests: { cpu: '1' } })], resources: { requests: { memory: '1Gi' } } },
      { requests: { memory: '1Gi' } },
    ],
    [
      'do not follow what a pod cannot have',
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
