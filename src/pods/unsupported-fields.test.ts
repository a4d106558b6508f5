import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../test/builders/builders.ts';
import type { Container, VolumeProjection } from '../api/k8s/types.ts';
import { rejectUnsupported } from './unsupported-fields.ts';

const message = (...fields: string[]): object => ({
  reason: 'UnsupportedPodFeature',
  message: `this kubelet does not support ${fields.join(', ')} yet`,
});
const claims = { claims: [{ name: 'c' }] };

describe('fields of the pod', () => {
  const cases: readonly (readonly [string, PodOver])[] = [
    ['spec.volumes[0].image', { volumes: [{ name: 'v', image: { reference: 'i' } }] }],
    [
      'spec.volumes[1].projected.sources[2].someday',
      {
        volumes: [
          { name: 'e', emptyDir: {} },
          {
            name: 'v',
            projected: {
              sources: [
                { secret: {} },
                { podCertificate: { signerName: 'a.b/c', keyType: 'ED25519', keyPath: 'k' } },
                { someday: {} } as VolumeProjection,
              ],
            },
          },
        ],
      },
    ],
    ['spec.hostnameOverride', { hostnameOverride: 'h' }],
    ['spec.resourceClaims', { resourceClaims: [{ name: 'c' }] }],
  ];
  for (const [field, over] of cases)
    test(field, () => expect(rejectUnsupported(aPod(over))).toEqual(message(field)));
});

describe('fields of a container', () => {
  const cases: readonly (readonly [string, Partial<Container>])[] = [
    [
      'env[].valueFrom.fileKeyRef',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }] },
    ],
    ['lifecycle.stopSignal', { lifecycle: { stopSignal: 'SIGUSR1' } }],
    ['resources.claims', { resources: { claims: [{ name: 'c' }] } }],
    ['restartPolicyRules', { restartPolicyRules: [{ action: 'Restart' }] }],
    ['restartPolicy', { restartPolicy: 'Always' }],
  ];
  for (const [field, over] of cases) {
    test(field, () => {
      const pod = aPod({ containers: [aContainer(), aContainer({ name: 'd', ...over })] });
      expect(rejectUnsupported(pod)).toEqual(message(`spec.containers[1].${field}`));
    });
  }
});

test('rejects fields of init containers, except the restart policy of a sidecar', () => {
  const sidecar = aContainer({ name: 'i', restartPolicy: 'Always' });
  expect(rejectUnsupported(aPod({ initContainers: [sidecar] }))).toBeUndefined();
  expect(rejectUnsupported(aPod({ initContainers: [sidecar, { ...sidecar, resources: claims }] }))).toEqual(
    message('spec.initContainers[1].resources.claims'),
  );
});

test('accepts restart policies of containers with their feature gate', () => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }];
  const pod = aPod({ containers: [aContainer({ restartPolicy: 'Never', restartPolicyRules: rules })] });
  expect(rejectUnsupported(pod, { restartRules: true })).toBeUndefined();
  expect(rejectUnsupported(pod)).toEqual(
    message('spec.containers[0].restartPolicyRules', 'spec.containers[0].restartPolicy'),
  );
});

test('accepts hostname overrides, stop signals and env files with their feature gates', () => {
  const lifecycle = { stopSignal: 'SIGUSR1' };
  const env = [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }];
  const pod = aPod({ hostnameOverride: 'h', containers: [aContainer({ lifecycle, env })] });
  const gates = { HostnameOverride: true, ContainerStopSignals: true, EnvFiles: true };
  expect(rejectUnsupported(pod, { gates })).toBeUndefined();
});

test('names every unsupported field, those of the pod first', () => {
  const pod = aPod({
    volumes: [{ name: 'v', image: { reference: 'i' } }],
    containers: [aContainer({ resources: claims })],
  });
  expect(rejectUnsupported(pod)).toEqual(
    message('spec.volumes[0].image', 'spec.containers[0].resources.claims'),
  );
});

test('accepts a pod with supported fields only', () => {
  const resources = {
    limits: { cpu: '1', memory: '1Gi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '2Mi' },
  };
  const over: PodOver = {
    volumes: [
      { name: 'a', csi: { driver: 'd' } },
      { name: 'b', iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } },
      { name: 'c', fc: { targetWWNs: ['w'], lun: 0 } },
      { name: 'd', flexVolume: { driver: 'v/d' } },
      { name: 'e', awsElasticBlockStore: { volumeID: 'i' } },
      { name: 'f', glusterfs: { endpoints: 'e', path: 'p' } },
      { name: 'g', gitRepo: { repository: 'r' } },
    ],
    initContainers: [],
    hostUsers: false,
    hostAliases: [{ ip: '127.0.0.1', hostnames: ['h'] }],
    runtimeClassName: 'kata',
    securityContext: { appArmorProfile: { type: 'RuntimeDefault' } },
    os: { name: 'linux' },
    nodeSelector: { a: 'b' },
    ephemeralContainers: [{ name: 'e', image: 'i' }],
  };
  const container = aContainer({
    env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    envFrom: [{ configMapRef: { name: 'm' } }],
    lifecycle: { postStart: { exec: { command: ['true'] } } },
    volumeMounts: [],
    resources,
  });
  expect(rejectUnsupported(aPod({ ...over, containers: [container] }))).toBeUndefined();
});

test('rejects a pod without a spec', () => {
  expect(rejectUnsupported({ metadata: { name: 'p' } })).toEqual({
    reason: 'UnexpectedAdmissionError',
    message: 'the pod has no spec',
  });
});

test('accepts supported volume types, and image volumes with their feature gate', () => {
  const volumes = [
    { name: 'a', emptyDir: {} },
    { name: 'b', hostPath: { path: '/' } },
    { name: 'c', configMap: {} },
    { name: 'd', secret: {} },
    { name: 'e', downwardAPI: {} },
    { name: 'f', projected: { sources: [{ serviceAccountToken: { path: 't' } }, { downwardAPI: {} }] } },
    { name: 'g', nfs: { server: 's', path: '/' } },
    { name: 'h', persistentVolumeClaim: { claimName: 'c' } },
    { name: 'i', ephemeral: {} },
  ];
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  expect(rejectUnsupported(aPod({ volumes, containers: [aContainer({ volumeMounts })] }))).toBeUndefined();
  const image = aPod({ volumes: [{ name: 'v', image: { reference: 'i' } }] });
  expect(rejectUnsupported(image, { imageVolumes: true })).toBeUndefined();
});
