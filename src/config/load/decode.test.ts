import { describe, expect, test } from 'vitest';
import { loadCommandLine } from '../command-line/load-command-line.ts';
import { header, memoryFiles } from '../fixtures/memory-files.ts';

async function problemsOf(text: string): Promise<readonly string[]> {
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml'],
    files: memoryFiles({ '/k.yaml': text }),
  });
  return outcome.kind === 'error'
    ? outcome.text
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.trim())
    : [];
}

async function configOf(text: string) {
  const outcome = await loadCommandLine({
    argv: ['--config=/k.yaml'],
    files: memoryFiles({ '/k.yaml': text }),
  });
  if (outcome.kind !== 'run') throw new Error(JSON.stringify(outcome));
  return outcome;
}

describe('reports problems with path and line', () => {
  const cases: readonly (readonly [name: string, text: string, problems: readonly string[]])[] = [
    [
      'several at once',
      `${header}maxPod: 1\nMaxPods: 2\nsyncFrequency: 5\nauthentication:\n  webhook:\n    enabled: "yes"\n  x: 1\nclusterDNS: 10.0.0.1\nport: 4.5\n`,
      [
        '/k.yaml:3: maxPod: unknown field',
        '/k.yaml:4: MaxPods: unknown field (did you mean "maxPods"?)',
        '/k.yaml:5: syncFrequency: must be a duration such as "1m30s", not 5',
        '/k.yaml:8: authentication.webhook.enabled: must be true or false, not the string "yes"',
        '/k.yaml:9: authentication.x: unknown field',
        '/k.yaml:10: clusterDNS: must be a list, not the string "10.0.0.1"',
        '/k.yaml:11: port: must be a 32-bit integer, not 4.5',
      ],
    ],
    [
      'duplicate keys, at the top level and nested',
      `${header}port: 1\nlogging:\n  verbosity: 1\n  verbosity: 2\nport: 2\nreservedMemory:\n- numaNode: 0\n  numaNode: 1\n  limits: {}\n`,
      [
        '/k.yaml:7: port: is specified twice',
        '/k.yaml:6: logging.verbosity: is specified twice',
        '/k.yaml:10: reservedMemory[0].numaNode: is specified twice',
      ],
    ],
    [
      'in lists and maps',
      `${header}registerWithTaints:\n- key: a\n  effect: NoExecute\n  colour: red\nsystemReserved:\n  cpu: 1\nfeatureGates:\n  A: 1\nstaticPodURLHeader:\n  a: b\nclusterDNS: [1]\nreservedMemory: [{numaNode: 0, limits: {memory: x}}]\n`,
      [
        '/k.yaml:6: registerWithTaints[0].colour: unknown field',
        '/k.yaml:8: systemReserved.cpu: must be a string, not 1; put it in quotes',
        '/k.yaml:10: featureGates.A: must be true or false, not 1',
        '/k.yaml:12: staticPodURLHeader.a: must be a list',
        '/k.yaml:13: clusterDNS[0]: must be a string, not 1; put it in quotes',
        '/k.yaml:14: reservedMemory[0].limits.memory: must be a quantity such as "10Mi", not the string "x"',
      ],
    ],
    [
      'integers that are out of range',
      `${header}maxPods: 2147483648\n`,
      ['/k.yaml:3: maxPods: must be a 32-bit integer, not 2147483648'],
    ],
    [
      'objects instead of scalars',
      `${header}port: {a: 1}\nlogging: 1\n`,
      [
        '/k.yaml:3: port: must be a 32-bit integer, not an object',
        '/k.yaml:4: logging: must be an object, not 1',
      ],
    ],
    [
      'no kind',
      'port: 1\n',
      [
        '/k.yaml:1: apiVersion: must be kubelet.config.k8s.io/v1beta1, but it is missing',
        '/k.yaml:1: kind: must be KubeletConfiguration, but it is missing',
      ],
    ],
    [
      'another version',
      'apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n',
      ['/k.yaml:1: apiVersion: must be kubelet.config.k8s.io/v1beta1, not "kubelet.config.k8s.io/v1"'],
    ],
    ['an empty file', ' \n', ['/k.yaml: the file is empty']],
    ['a list', '- a\n', ['/k.yaml: must be a KubeletConfiguration object']],
    [
      'invalid YAML',
      `${header}port: [1\nmaxPods: x\n`,
      ['/k.yaml:4:1: Flow sequence in block collection must be sufficiently indented and end with a ]'],
    ],
    [
      'an alias bomb',
      `${header}a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n`,
      ['/k.yaml: Excessive alias count indicates a resource exhaustion attack'],
    ],
  ];
  for (const [name, text, expected] of cases) {
    test(name, async () => expect(await problemsOf(text)).toEqual(expected));
  }

  test('a missing file', async () => {
    const outcome = await loadCommandLine({
      argv: ['--config=gone', '--config-dir=/gone'],
      files: memoryFiles({}),
    });
    expect(outcome).toMatchObject({
      text: expect.stringContaining(
        '/here/gone: the file cannot be read: no such file\n  --config-dir: /gone cannot be read: no such directory',
      ) as string,
    });
  });
});

describe('decodes', () => {
  test('YAML 1.1 scalars as Go does, without timestamps', async () => {
    const { config } = await configOf(
      `${header}enableServer: no\nfailSwapOn: Off\nmaxPods: 0x10\nport: 0377\nclusterDomain: 1:30\nproviderID: 2024-01-01\npodsPerCore: 1e1\n`,
    );
    expect([config.enableServer, config.failSwapOn, config.maxPods, config.port, config.podsPerCore]).toEqual(
      [false, false, 16, 255, 10],
    );
    expect([config.clusterDomain, config.providerID]).toEqual(['1:30', '2024-01-01']);
  });

  test('JSON with tabs, a byte order mark, anchors and merge keys', async () => {
    const json = `\uFEFF{\n\t"apiVersion": "kubelet.config.k8s.io/v1beta1",\n\t"kind": "KubeletConfiguration",\n\t"maxPods": 7\n}\n`;
    expect((await configOf(json)).config.maxPods).toBe(7);
    const anchors = `${header}logging: {options: {text: &t {infoBufferSize: "0"}, json: *t}}\nsystemReserved: &r {cpu: 100m}\nkubeReserved: {<<: *r, memory: 1Gi}\n`;
    expect((await configOf(anchors)).config.kubeReserved).toEqual({ cpu: '100m', memory: '1Gi' });
  });

  test('only the first of several documents, with a warning', async () => {
    const { config, warnings } = await configOf(`${header}maxPods: 7\n---\nmaxPods: 8\n`);
    expect([config.maxPods, warnings]).toEqual([
      7,
      ['/k.yaml has more than one document; only the first is read.'],
    ]);
  });

  test('null as unset, and zero as unset only where upstream does not distinguish them', async () => {
    const { config } = await configOf(
      `${header}maxPods: null\nport: 0\nhealthzPort: 0\nresolvConf: ""\nclusterDNS: null\nenforceNodeAllocatable: []\nevictionHard: {}\npodPidsLimit: -7\nauthentication: ~\n`,
    );
    expect([config.maxPods, config.port, config.healthzPort, config.resolvConf]).toEqual([110, 10250, 0, '']);
    expect([
      config.clusterDNS,
      config.enforceNodeAllocatable,
      config.evictionHard,
      config.podPidsLimit,
    ]).toEqual([[], [], {}, -1]);
    expect(config.authentication.webhook.enabled).toBe(true);
  });

  test('relative paths against the directory of the file', async () => {
    const outcome = await loadCommandLine({
      argv: ['--config=etc/k.yaml'],
      files: memoryFiles({
        '/here/etc/k.yaml': `${header}staticPodPath: m\ntlsCertFile: ../c.crt\ntlsPrivateKeyFile: /k.key\nauthentication: {x509: {clientCAFile: ca.crt}}\nvolumePluginDir: p/\n`,
      }),
    });
    if (outcome.kind !== 'run') throw new Error(outcome.text);
    const { config } = outcome;
    expect([
      config.staticPodPath,
      config.tlsCertFile,
      config.tlsPrivateKeyFile,
      config.authentication.x509.clientCAFile,
      config.volumePluginDir,
    ]).toEqual(['/here/etc/m', '/here/c.crt', '/k.key', '/here/etc/ca.crt', '/here/etc/p']);
  });
});

describe('defaults that depend on other settings', () => {
  test('the report frequency follows the update frequency', async () => {
    const { config } = await configOf(`${header}nodeStatusUpdateFrequency: 20s\n`);
    expect(config.nodeStatusReportFrequency.toString()).toBe('20s');
  });

  test('maxParallelImagePulls above 1 turns serializeImagePulls off', async () => {
    expect((await configOf(`${header}maxParallelImagePulls: 2\n`)).config.serializeImagePulls).toBe(false);
    expect((await configOf(`${header}maxParallelImagePulls: 1\n`)).config.serializeImagePulls).toBe(true);
  });

  test('gates change the defaults of their fields', async () => {
    const { config } = await configOf(
      `${header}featureGates: {KubeletCrashLoopBackOffMax: true, KubeletEnsureSecretPulledImages: true}\n`,
    );
    expect([
      config.crashLoopBackOff.maxContainerRestartPeriod?.toString(),
      config.imagePullCredentialsVerificationPolicy,
    ]).toEqual(['5m0s', 'NeverVerifyPreloadedImages']);
  });

  test('default thresholds are merged with mergeDefaultEvictionSettings', async () => {
    const { config } = await configOf(
      `${header}mergeDefaultEvictionSettings: true\nevictionHard: {memory.available: 1Gi}\n`,
    );
    expect(config.evictionHard).toEqual({
      'memory.available': '1Gi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    });
  });
});

describe('drop-ins', () => {
  const load = async (file: string, ...dropIns: readonly string[]) => {
    const texts = Object.fromEntries(
      dropIns.map((text, index) => [`/d/${index}.conf`, `${header}${text}\n`] as const),
    );
    const outcome = await loadCommandLine({
      argv: ['--config=/k.yaml', '--config-dir=/d'],
      files: memoryFiles({ '/k.yaml': `${header}${file}\n`, ...texts }),
    });
    if (outcome.kind !== 'run') throw new Error(outcome.text);
    return outcome.config;
  };

  test('merge objects at any depth, and null resets to the default', async () => {
    const config = await load(
      'authentication: {webhook: {cacheTTL: 9s, enabled: false}}\nmaxPods: 5\nsystemReserved: {cpu: 1m, pid: "5"}\ntracing: {endpoint: "a:1"}',
      'authentication: {webhook: {cacheTTL: null}}\nsystemReserved: {cpu: null, memory: 1Gi}\ntracing: {samplingRatePerMillion: 5}',
      'maxPods: null',
    );
    expect(config.authentication.webhook.cacheTTL.toString()).toBe('2m0s');
    expect(config.authentication.webhook.enabled).toBe(false);
    expect([config.systemReserved, config.maxPods, config.tracing]).toEqual([
      { memory: '1Gi', pid: '5' },
      110,
      { endpoint: 'a:1', samplingRatePerMillion: 5 },
    ]);
  });

  test('are read from nested directories in lexical order', async () => {
    const outcome = await loadCommandLine({
      argv: ['--config-dir=/d'],
      files: memoryFiles({
        '/d/10.conf': `${header}maxPods: 1\nport: 1\n`,
        '/d/20/a.conf': `${header}maxPods: 2\n`,
        '/d/30.conf': `${header}port: 3\n`,
      }),
    });
    expect(outcome).toMatchObject({ kind: 'run', config: { maxPods: 2, port: 3, readOnlyPort: 10255 } });
  });

  test('have names that end in .conf; other files are skipped and reported', async () => {
    const outcome = await loadCommandLine({
      argv: ['--config-dir=/d'],
      files: memoryFiles({
        '/d/10.conf': `${header}maxPods: 1\n`,
        '/d/20.yaml': `${header}maxPods: 2\n`,
        '/d/30/README': 'not read',
      }),
    });
    expect(outcome).toMatchObject({
      kind: 'run',
      config: { maxPods: 1 },
      skippedFiles: ['/d/20.yaml', '/d/30/README'],
    });
  });

  test('are decoded as strictly as the file', async () => {
    const outcome = await loadCommandLine({
      argv: ['--config-dir=/d'],
      files: memoryFiles({ '/d/a.conf': `${header}x: 1\n`, '/d/b.conf': 'maxPods: 1\n', '/d/c.conf': '' }),
    });
    expect(outcome).toMatchObject({
      text: expect.stringMatching(
        /a.conf:3: x: unknown field[^]*b.conf:1: apiVersion[^]*c.conf: the file is empty/,
      ) as string,
    });
  });
});

test('a problem of a header does not show its value', async () => {
  for (const header of ['"Bearer hush"', '{Authorization: Bearer hush}', '{Authorization: [{hush: hush}]}']) {
    const text = `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nstaticPodURLHeader: ${header}\n`;
    const files = { read: async () => text, list: async () => [], workingDirectory: '/' };
    const outcome = await loadCommandLine({ argv: ['--config=/c.yaml'], files });
    expect(outcome).toMatchObject({
      kind: 'error',
      text: expect.stringMatching(/Header\S*: must be a/) as string,
    });
    expect(JSON.stringify(outcome)).not.toContain('hush');
  }
});
