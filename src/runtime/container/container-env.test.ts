import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { ConfigMap, Container, EnvVar, Secret, Service } from '../../api/k8s/types.ts';
import type { VolumeFile, VolumeFileRequest } from '../../api/pod/pod-volumes.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { containerEnvironment, environmentTexts } from './container-env.ts';

const configMaps: Record<string, ConfigMap> = {
  cm: { data: { k1: 'v1', UPPER: 'u', 'bad.key': 'x' }, binaryData: { b: 'AAE=' } },
};
const secrets: Record<string, Secret> = {
  sec: { data: { user: 'YWRtaW4=', raw: '/wD+' } },
};
const notFound = (kind: string, name: string): never => {
  throw new KubeletError('not-found', 'NotFound', `${kind} "${name}" not found`);
};
type EnvObjects = Parameters<typeof containerEnvironment>[0];
const objectsFor = (asked: string[]): EnvObjects => ({
  configMap: async (_namespace: string, name: string) => {
    asked.push(name);
    return configMaps[name] ?? notFound('configmap', name);
  },
  secret: async (_namespace: string, name: string) => {
    asked.push(name);
    return secrets[name] ?? notFound('secret', name);
  },
});
const envFiles: Record<string, string> = {
  env: "A='one two'\nB='x' # y\nE=''\n",
  broken: "A='one'\noops\nB='two'\n",
};
/** Large files for the limits: their names are their sizes. */
const readFile =
  (asked: string[]) =>
  async ({ limitBytes, path, volume }: VolumeFileRequest): Promise<VolumeFile> => {
    asked.push(`${volume}/${path}`);
    if (volume !== 'v')
      throw new KubeletError(
        'invalid',
        'CreateContainerConfigError',
        `cannot find the volume "${volume}" referenced by FileKeyRef`,
      );
    const text = /^\d/.test(path)
      ? `K='v'\n${'#'.repeat(1000)}\n`.padEnd(Number.parseInt(path, 10), '\n')
      : envFiles[path];
    if (text !== undefined && text.length > limitBytes)
      throw new KubeletError('invalid', 'TooLarge', `refusing to read ${path}: secret cause`);
    return { hostPath: `/pods/u/${path}`, data: text === undefined ? undefined : Buffer.from(text) };
  };
const kubernetes: Service = {
  metadata: { name: 'kubernetes', namespace: 'default' },
  spec: { clusterIP: '10.96.0.1', ports: [{ name: 'https', port: 443, protocol: 'TCP' }] },
};

async function envOf(
  over: Partial<Container>,
  pod: PodOver = {},
  asked: string[] = [],
): Promise<Record<string, string>> {
  const container = aContainer(over);
  const { signal } = new AbortController();
  const env = await containerEnvironment(
    objectsFor(asked),
    {
      pod: aPod({
        nodeName: 'n1',
        serviceAccountName: 'sa',
        labels: { app: 'web' },
        ...pod,
        containers: [container, aContainer({ name: 'other', resources: { limits: { cpu: '3' } } })],
      }),
      container,
      addresses: { podIps: ['10.0.0.1', 'fd00::1'], hostIps: ['192.0.2.2', '2001:db8::2'] },
      allocatable: { cpu: '2', memory: '8Gi' },
      services: [kubernetes],
      files: { read: readFile(asked), log: silentLogger },
    },
    signal,
  );
  return Object.fromEntries(
    [...environmentTexts(env)].filter(
      ([name]) => !name.startsWith('KUBERNETES_') || name in (over.env ?? {}),
    ),
  );
}
const field = (fieldPath: string): EnvVar[] => [{ name: 'F', valueFrom: { fieldRef: { fieldPath } } }];
const resource = (name: string, over: object = {}): EnvVar[] => [
  { name: 'R', valueFrom: { resourceFieldRef: { resource: name, ...over } } },
];

describe('values', () => {
  const cases: readonly (readonly [string, Partial<Container>, Record<string, string>])[] = [
    [
      'a later variable overrides an earlier one',
      { env: [a('A', '1'), a('B', '2'), a('A', '3')] },
      { A: '3', B: '2' },
    ],
    [
      'refer to variables before them',
      { env: [a('B', '$(A)'), a('A', 'x'), a('C', '$(A)-$$(A)-$(NOPE)')] },
      { B: '$(A)', A: 'x', C: 'x-$(A)-$(NOPE)' },
    ],
    ['refer to services', { env: [a('S', '$(KUBERNETES_SERVICE_HOST)')] }, { S: '10.96.0.1' }],
    ['without a value', { env: [{ name: 'E' }] }, { E: '' }],
    [
      'envFrom with a prefix, overridden by env',
      {
        envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }, { secretRef: { name: 'sec' } }],
        env: [a('user', 'me'), a('X', '$(P_k1)')],
      },
      { P_UPPER: 'u', 'P_bad.key': 'x', P_k1: 'v1', raw: '\ufffd\0\ufffd', user: 'me', X: 'v1' },
    ],
    ['a missing optional ConfigMap', { envFrom: [{ configMapRef: { name: 'no', optional: true } }] }, {}],
    ['a key of a ConfigMap', { env: [key('configMapKeyRef', 'cm', 'k1')] }, { K: 'v1' }],
    ['a key of a Secret', { env: [key('secretKeyRef', 'sec', 'user')] }, { K: 'admin' }],
    ['a missing optional key', { env: [key('secretKeyRef', 'sec', 'no', true)] }, {}],
    ['a missing optional Secret', { env: [key('secretKeyRef', 'no', 'no', true)] }, {}],
    ['metadata.name', { env: field('metadata.name') }, { F: 'p' }],
    ['metadata.uid', { env: field('metadata.uid') }, { F: 'uid-p' }],
    ['a label', { env: field("metadata.labels['app']") }, { F: 'web' }],
    ['spec.nodeName', { env: field('spec.nodeName') }, { F: 'n1' }],
    ['spec.serviceAccountName', { env: field('spec.serviceAccountName') }, { F: 'sa' }],
    ['status.podIP', { env: field('status.podIP') }, { F: '10.0.0.1' }],
    ['status.podIPs', { env: field('status.podIPs') }, { F: '10.0.0.1,fd00::1' }],
    ['status.hostIP', { env: field('status.hostIP') }, { F: '192.0.2.2' }],
    ['status.hostIPs', { env: field('status.hostIPs') }, { F: '192.0.2.2,2001:db8::2' }],
    [
      'a request in units, rounded up',
      { resources: { requests: { cpu: '250m' } }, env: resource('requests.cpu', { divisor: '100m' }) },
      { R: '3' },
    ],
    ["a limit that is not set: the node's allocatable", { env: resource('limits.cpu') }, { R: '2' }],
    ['a request that is not set', { env: resource('requests.memory') }, { R: '0' }],
    ["another container's", { env: resource('limits.cpu', { containerName: 'other' }) }, { R: '3' }],
  ];
  for (const [name, over, want] of cases) test(name, async () => expect(await envOf(over)).toEqual(want));

  test("the pod's limit before the node's allocatable", async () => {
    const pod = { resources: { limits: { cpu: '500m' } } };
    expect(await envOf({ env: resource('limits.cpu', { divisor: '1m' }) }, pod)).toEqual({ R: '500' });
  });
  test('reads each object once', async () => {
    const env = [key('configMapKeyRef', 'cm', 'k1'), key('configMapKeyRef', 'cm', 'UPPER')];
    const asked: string[] = [];
    await envOf({ envFrom: [{ configMapRef: { name: 'cm' } }], env }, {}, asked);
    expect(asked).toEqual(['cm']);
  });
});

describe('failures', () => {
  const cases: readonly (readonly [string, Partial<Container>, string])[] = [
    ['a missing ConfigMap', { envFrom: [{ configMapRef: { name: 'no' } }] }, 'configmap "no" not found'],
    ['a missing Secret', { env: [key('secretKeyRef', 'no', 'k')] }, 'secret "no" not found'],
    [
      'a missing key of a ConfigMap',
      { env: [key('configMapKeyRef', 'cm', 'no')] },
      "couldn't find key no in ConfigMap default/cm",
    ],
    [
      'a missing key of a Secret',
      { env: [key('secretKeyRef', 'sec', 'no')] },
      "couldn't find key no in Secret default/sec",
    ],
    ['binaryData of a ConfigMap', { env: [key('configMapKeyRef', 'cm', 'b')] }, "couldn't find key b"],
    ['an unsupported field', { env: field('spec.containers') }, 'field label not supported: spec.containers'],
    ['a field without a value', { env: field('status.phase') }, 'unsupported fieldPath: status.phase'],
    ['an unsupported subscript', { env: field("metadata.name['x']") }, 'does not support subscript'],
    [
      'an unknown container',
      { env: resource('limits.cpu', { containerName: 'no' }) },
      'container no not found',
    ],
  ];
  for (const [name, over, want] of cases) test(name, () => expect(envOf(over)).rejects.toThrow(want));
});

function a(name: string, value: string): { name: string; value: string } {
  return { name, value };
}

function key(kind: 'configMapKeyRef' | 'secretKeyRef', name: string, of: string, optional?: boolean): EnvVar {
  return {
    name: 'K',
    valueFrom: { [kind]: { name, key: of, ...(optional === undefined ? {} : { optional }) } },
  };
}

describe('an environment that is too large', () => {
  const tooLarge = 'environment, command and args take more than 16 MiB after expanding $(VAR) references';
  const tenfold = (name: string, of: string): EnvVar => ({ name, value: `$(${of})`.repeat(10) });
  test('rejects variables that multiply each other', async () => {
    const env = [{ name: 'V0', value: 'x'.repeat(100) }];
    for (let level = 1; level <= 9; level += 1) env.push(tenfold(`V${level}`, `V${level - 1}`) as never);
    await expect(envOf({ env })).rejects.toMatchObject({ kind: 'invalid', message: tooLarge });
  });
  test('rejects a ConfigMap that is copied a hundred times', async () => {
    configMaps['large'] = { data: { k: 'x'.repeat(1024 * 1024) } };
    const configMapRef = { name: 'large' };
    const times = (count: number, prefix: (index: number) => string): Partial<Container> => ({
      envFrom: Array.from({ length: count }, (_, index) => ({ prefix: prefix(index), configMapRef })),
    });
    await expect(envOf(times(100, (index) => `p${index}`))).rejects.toThrow(tooLarge);
    // Only the last variable of a name counts.
    expect(Object.keys(await envOf(times(100, () => 'p')))).toEqual(['pk']);
  });
});

describe('fileKeyRef', () => {
  const from = (key: string, path = 'env', more: object = {}): EnvVar => ({
    name: `X_${key}`,
    valueFrom: { fileKeyRef: { volumeName: 'v', path, key, ...more } },
  });
  const optional = { optional: true };

  test('reads a file once for all of its variables', async () => {
    const asked: string[] = [];
    const env = await envOf({ env: [from('A'), from('B'), { name: 'Y', value: '$(X_A)!' }] }, {}, asked);
    expect([env, asked]).toEqual([{ X_A: 'one two', X_B: 'x', Y: 'one two!' }, ['v/env']]);
  });

  test('leaves an optional variable out if its value, its key or its file is missing', async () => {
    const env = [
      from('A'),
      from('E', 'env', optional),
      from('Z', 'env', optional),
      from('A1', 'none', optional),
    ];
    expect(await envOf({ env })).toEqual({ X_A: 'one two' });
  });

  test('finds a variable before a syntax error', async () => {
    expect(await envOf({ env: [from('A', 'broken')] })).toEqual({ X_A: 'one' });
  });

  test.each<[string, EnvVar, string]>([
    ['a missing key', from('Z'), 'environment variable key "Z" not found in file "/pods/u/env"'],
    ['an empty value', from('E'), 'environment variable key "E" not found in file "/pods/u/env"'],
    ['a missing file', from('A', 'none'), "couldn't parse env file"],
    ['a syntax error before the key', from('B', 'broken'), "couldn't parse env file"],
    ['a syntax error before an optional key', from('B', 'broken', optional), "couldn't parse env file"],
    ['a file that is too large', from('K', '262145'), "couldn't parse env file"],
    [
      'a volume that is not mounted',
      from('A', 'env', { volumeName: 'w' }),
      'cannot find the volume "w" referenced by FileKeyRef',
    ],
  ])('rejects %s', async (_, variable, message) => {
    await expect(envOf({ env: [variable] })).rejects.toMatchObject({
      reason: 'CreateContainerConfigError',
      message,
    });
  });

  test('reads at most a megabyte per container', async () => {
    const files = (count: number): EnvVar[] =>
      Array.from({ length: count }, (_, index) => ({ ...from('K', `262144.${index}`), name: `N${index}` }));
    expect(Object.keys(await envOf({ env: files(4) }))).toHaveLength(4);
    await expect(envOf({ env: files(5) })).rejects.toThrow("couldn't parse env file");
  });
});
