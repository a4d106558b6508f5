// The pods of a node that changes kubelets: every kind of volume, a resized pod, an image pulled with a Secret, a pod that
// has completed, and a static pod.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ConfigMap,
  Container,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Probe,
  Secret,
  Volume,
} from '../../src/api/k8s/types.ts';
import { container, exitsOnTerm, manifest } from './manifest.ts';

const probe: Probe = { exec: { command: ['true'] }, periodSeconds: 1 };
const probes = { startupProbe: probe, readinessProbe: probe, livenessProbe: probe };
const nameItem = { path: 'name', fieldRef: { fieldPath: 'metadata.name' } };
const config = (name: string): string => `${name}-config`;

/** What the main container of the pod `volumes` reads in its volumes. */
export const volumeContent = 'kept memory host first word volumes projected kept first claim';
export const readVolumes =
  'echo $(cat /empty/a/file /memory/file /host/file /config/k /secret/k /info/name; echo; cat /all/k /part /one /claim/file)';

export interface TakeoverPods {
  /** Pods of the API server by name. */
  readonly api: readonly Pod[];
  readonly staticPod: Pod;
  readonly configMaps: readonly ConfigMap[];
  readonly secrets: readonly Secret[];
  readonly claim: PersistentVolumeClaim;
  /** The volume of the claim, which has this UID. */
  readonly volume: (claimUid: string) => PersistentVolume;
}

const volumes = (hostDirectory: string): Volume[] => [
  { name: 'empty', emptyDir: {} },
  { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
  { name: 'host', hostPath: { path: hostDirectory, type: 'Directory' } },
  { name: 'config', configMap: { name: config('volumes') } },
  { name: 'secret', secret: { secretName: 'word' } },
  { name: 'info', downwardAPI: { items: [nameItem] } },
  {
    name: 'all',
    projected: {
      sources: [
        { serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 } },
        { configMap: { name: config('all') } },
        { secret: { name: 'word', items: [{ key: 'k', path: 'word' }] } },
        { downwardAPI: { items: [nameItem] } },
      ],
    },
  },
  { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
];

function volumesPod(hostDirectory: string): Pod {
  const fill = 'mkdir /empty/a; echo kept > /empty/a/file; echo memory > /memory/file; sleep 0.1';
  const written = [
    { name: 'empty', mountPath: '/empty' },
    { name: 'memory', mountPath: '/memory' },
  ];
  const main: Partial<Container> = {
    ...probes,
    volumeMounts: [
      ...written,
      ...['host', 'config', 'secret', 'info', 'all', 'claim'].map((name) => ({
        name,
        mountPath: `/${name}`,
      })),
      { name: 'empty', mountPath: '/part', subPath: 'a/file' },
      { name: 'config', mountPath: '/one', subPath: 'k' },
    ],
  };
  return manifest('volumes', {
    volumes: volumes(hostDirectory),
    securityContext: { fsGroup: 2000 },
    initContainers: [
      container('fill', fill, { volumeMounts: written }),
      container('sidecar', exitsOnTerm, { restartPolicy: 'Always', startupProbe: probe }),
    ],
    containers: [container('main', exitsOnTerm, main), container('second')],
  });
}

function staticPod(hostDirectory: string): Pod {
  return manifest('static', {
    metadata: { labels: { app: 'static' } },
    initContainers: [
      container('init', 'echo ready > /data/flag', { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
    ],
    containers: [
      container('main', exitsOnTerm, {
        ...probes,
        resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '32Mi' } },
        volumeMounts: ['data', 'info', 'host'].map((name) => ({ name, mountPath: `/${name}` })),
      }),
    ],
    volumes: [
      { name: 'data', emptyDir: {} },
      {
        name: 'info',
        downwardAPI: { items: [{ path: 'uid', fieldRef: { fieldPath: 'metadata.uid' } }] },
      },
      { name: 'host', hostPath: { path: hostDirectory } },
    ],
  });
}

/** The resources of the pod `sized` before and after its resize. */
export const sizes = {
  before: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
  after: { requests: { cpu: '80m', memory: '48Mi' }, limits: { cpu: '200m', memory: '128Mi' } },
} as const;

/** Of the registry that `privateImage` is in. */
export const registryUser = { scheme: 'basic', username: 'ann', password: 'a-very-secret-password' } as const;

const capacity = { storage: '1Gi' };
const storage = { accessModes: ['ReadWriteOnce'], storageClassName: 'local', volumeMode: 'Filesystem' };

/** `directory` is the node's, for hostPath and local volumes. */
export function takeoverPods(directory: string, privateImage: string): TakeoverPods {
  const [hostDirectory, local] = [join(directory, 'host'), join(directory, 'local')];
  for (const [path, text] of [
    [hostDirectory, 'host'],
    [local, 'claim'],
  ] as const) {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'file'), `${text}\n`);
  }
  const [registry = ''] = privateImage.split('/');
  const { password, username } = registryUser;
  const auth = { auths: { [registry]: { username, password } } };
  const encode = (text: string): string => Buffer.from(text).toString('base64');
  const pulls = [container('main', exitsOnTerm, { image: privateImage, ...probes })];
  return {
    api: [
      volumesPod(hostDirectory),
      manifest('sized', {
        containers: [container('main', exitsOnTerm, { ...probes, resources: sizes.before })],
      }),
      manifest('private', { imagePullSecrets: [{ name: 'pull' }], containers: pulls }),
      manifest('completed', { restartPolicy: 'Never', containers: [container('main', 'exit 0')] }),
      manifest('restarted', {
        volumes: [{ name: 'data', emptyDir: {} }],
        containers: [
          container('main', `[ -e /data/x ] || { touch /data/x; exit 3; }; ${exitsOnTerm}`, {
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
            readinessProbe: probe,
          }),
        ],
      }),
    ],
    staticPod: staticPod(hostDirectory),
    configMaps: [
      { metadata: { name: config('volumes') }, data: { k: 'first\n' } },
      { metadata: { name: config('all') }, data: { k: 'projected\n' } },
    ],
    secrets: [
      { metadata: { name: 'word' }, data: { k: encode('word\n') } },
      {
        metadata: { name: 'pull' },
        type: 'kubernetes.io/dockerconfigjson',
        data: { '.dockerconfigjson': encode(JSON.stringify(auth)) },
      },
    ],
    claim: {
      metadata: { name: 'claim' },
      spec: { ...storage, volumeName: 'local', resources: { requests: capacity } },
    },
    volume: (uid) => ({
      metadata: { name: 'local' },
      spec: {
        ...storage,
        capacity,
        local: { path: local },
        claimRef: { namespace: 'default', name: 'claim', uid },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'Exists' }] }],
          },
        },
      },
    }),
  };
}
