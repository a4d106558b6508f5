// Image pulls: credentials of the node and of a credential provider, pull records, and failures of registries,
// providers and the kubelet.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { buildBusyboxImage } from './rig/images.ts';
import type { Kubelet } from './rig/kubelet.ts';
import type { OciImage } from './rig/oci.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { containerStatus, untilContainer, untilRunning } from './support/pod-state.ts';
import { useClusterNode } from './support/suite-node.ts';
import { TestPods } from './support/test-pods.ts';

const username = 'ann';
const password = 'a-very-secret-password';
const auth = { scheme: 'basic', username, password } as const;
const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';

describeOnRig('image pulls', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let image: OciImage;
  let plugins = '';
  const own = new TestPods(() => kubelet);

  beforeAll(async () => {
    rig = await startRig();
    image = await buildBusyboxImage();
    const { host } = rig.registry;
    plugins = join(rig.workspace.dir, 'plugins');
    mkdirSync(plugins);
    writePlugin('knows', {
      apiVersion,
      kind: 'CredentialProviderResponse',
      cacheKeyType: 'Image',
      cacheDuration: '1h',
      auth: { [`${host}/plugin`]: { username, password } },
    });
    writePlugin('malformed', `{"password":"${password}"`);
    const config = join(rig.workspace.dir, 'credential-providers.json');
    const provider = (name: string, ...matchImages: readonly string[]): object => ({
      name,
      matchImages,
      defaultCacheDuration: '1h',
      apiVersion,
    });
    const providers = [
      provider('knows', `${host}/plugin`),
      provider('malformed', `${host}/plugin`, `${host}/babble`),
    ];
    writeFileSync(
      config,
      JSON.stringify({ apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers }),
    );
    kubelet = rig.newKubelet({
      config: {
        serializeImagePulls: false,
        maxParallelImagePulls: 3,
      },
      flags: [
        `--image-credential-provider-config=${config}`,
        `--image-credential-provider-bin-dir=${plugins}`,
      ],
    });
    mkdirSync(kubelet.rootDir, { recursive: true });
    writeFileSync(
      join(kubelet.rootDir, 'config.json'),
      JSON.stringify({
        auths: {
          [`http://${host}/node`]: { auth: Buffer.from(`${username}:${password}`).toString('base64') },
        },
      }),
    );
    await kubelet.start();
  });
  afterAll(() => rig.stop());
  afterEach(() => {
    own.removeAll();
    rig.registry.clearFaults();
    rig.registry.requireAuth(undefined);
    expect(kubelet.log.text()).not.toContain(password);
  });

  /** A credential provider that records its requests and returns this response. */
  function writePlugin(name: string, answer: unknown): void {
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    const path = join(plugins, name);
    writeFileSync(`${path}.answer`, text);
    writeFileSync(path, `#!/bin/sh\ncat >> ${path}.requests\ncat ${path}.answer\n`);
    chmodSync(path, 0o755);
  }
  const providerRequests = (name: string): readonly unknown[] => {
    const path = join(plugins, `${name}.requests`);
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown);
  };
  const podOf = (name: string, imageName: string): Pod =>
    manifest(name, { containers: [container('main', exitsOnTerm, { image: imageName })] });
  const untilWaiting = async (name: string, reason: string): Promise<string> => {
    const pod = await untilContainer(kubelet, name, reason, ({ state }) => state?.waiting?.reason === reason);
    return containerStatus(pod).state?.waiting?.message ?? '';
  };
  const records = (kind: 'pulling' | 'pulled'): readonly string[] => {
    const dir = join(kubelet.rootDir, 'image_manager', kind);
    const names = existsSync(dir)
      ? readdirSync(dir).filter((name) => /^sha256-[0-9a-f]{64}$/.test(name))
      : [];
    return names.map((name) => readFileSync(join(dir, name), 'utf8'));
  };
  const untilRecorded = (repository: string): Promise<string> =>
    waitFor(() => {
      const found = records('pulled').find((text) => text.includes(`"${repository}"`));
      if (found === undefined) throw new Error(`records: ${records('pulled').join('')}`);
      return found;
    }, `a record of ${repository}`);

  test('a registry with unknown credentials yields ErrImagePull', async () => {
    const name = rig.registry.add('nobody/app:1', image);
    rig.registry.requireAuth(auth);
    own.write('nobody', podOf('nobody', name));
    expect(await untilWaiting('nobody', 'ErrImagePull')).toMatch(/401|authorization|authentication/i);
    await waitFor(() => records('pulling').length === 0, 'the intent of the failed pull to be removed');
  });

  test("a pull with the node's Docker configuration is recorded for all pods", async () => {
    const name = rig.registry.add('node/app:1', image);
    rig.registry.requireAuth(auth);
    own.write('node', podOf('node', name));
    await untilRunning(kubelet, 'node');
    const record = await untilRecorded(`${rig.registry.host}/node/app`);
    expect(JSON.parse(record)).toMatchObject({
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      credentialMapping: { [`${rig.registry.host}/node/app`]: { nodePodsAccessible: true } },
    });
    // Present now, and available to every pod: the registry is not queried again.
    rig.registry.requests.length = 0;
    own.write('again', podOf('again', name));
    await untilRunning(kubelet, 'again');
    expect(rig.registry.requests.filter(({ path }) => path.includes('/node/app/'))).toEqual([]);
  });

  test('a pull with a credential provider calls it once, and ignores a provider with malformed output', async () => {
    const name = rig.registry.add('plugin/app:1', image);
    const other = rig.registry.add('plugin/app:2', image);
    rig.registry.requireAuth(auth);
    own.write('plugin', podOf('plugin', name));
    await untilRunning(kubelet, 'plugin');
    own.write('cached', podOf('cached', other));
    await untilRunning(kubelet, 'cached');
    expect(providerRequests('knows')).toEqual([
      { kind: 'CredentialProviderRequest', apiVersion, image: `${rig.registry.host}/plugin/app` },
    ]);
    const metrics = await (await kubelet.get(kubelet.readOnlyPort, '/metrics')).text();
    expect(metrics).toContain('kubelet_credential_provider_plugin_duration_count{plugin_name="knows"} 1\n');
    expect(metrics).toMatch(/kubelet_credential_provider_config_info\{hash="sha256:[0-9a-f]{64}"\} 1\n/);
    expect(metrics).toMatch(
      /kubelet_image_pull_duration_seconds_count\{image_size_in_bytes="0-10MB"\} [1-9]/,
    );
    expect(kubelet.log.matching(/Failed to get credentials.*malformed/).length).toBeGreaterThan(0);
  });

  test('an image is pulled once for several pods', async () => {
    const name = rig.registry.add('team/shared:1', image);
    rig.registry.addFault({ do: 'slow', ms: 1000, on: 'manifest' });
    const names = ['one', 'two', 'three'];
    for (const each of names) own.write(each, podOf(each, name));
    for (const each of names) await untilRunning(kubelet, each);
    expect(kubelet.log.matching(new RegExp(`"Pulling image".*${name}`))).toHaveLength(1);
  });

  test('a hung pull delays no other pod, and is aborted with its pod', async () => {
    const name = rig.registry.add('team/stuck:1', image);
    const fine = rig.registry.add('team/fine:1', image);
    rig.registry.addFault({ do: 'hang', on: 'manifest' });
    own.write('stuck', podOf('stuck', name));
    await waitFor(() => rig.registry.faultsLeft === 0, 'the pull to hang', 60_000);
    own.write('fine', podOf('fine', fine));
    await untilRunning(kubelet, 'fine');
    own.remove('stuck');
    await waitFor(
      () => !records('pulling').some((text) => text.includes(name)),
      'the intent of the hung pull to be removed',
      60_000,
    );
  });

  test('a kubelet killed during a pull leaves the intent, and starts the pod after a restart', async () => {
    const name = rig.registry.add('team/killed:1', image);
    rig.registry.addFault({ do: 'hang', on: 'manifest' });
    own.write('killed', podOf('killed', name));
    await waitFor(
      () => records('pulling').some((text) => text.includes(name)),
      'the intent of the pull',
      60_000,
    );
    await kubelet.kill9();
    expect(records('pulling').some((text) => text.includes(name))).toBe(true);
    rig.registry.clearFaults();
    await kubelet.start();
    await untilRunning(kubelet, 'killed');
    await untilRecorded(`${rig.registry.host}/team/killed`);
    await waitFor(() => records('pulling').length === 0, 'the intent of the completed pull to be removed');
  });

  test('pods without secrets use a preloaded image, and no record of it is needed', async () => {
    own.write('preloaded', manifest('preloaded', { containers: [container('main', exitsOnTerm)] }));
    await untilRunning(kubelet, 'preloaded');
    expect(records('pulled').some((text) => text.includes('busybox'))).toBe(false);
    const metrics = await (await kubelet.get(kubelet.readOnlyPort, '/metrics')).text();
    expect(metrics).toMatch(
      /kubelet_imagemanager_image_mustpull_checks_total\{result="credentialPolicyAllowed"\} [1-9]/,
    );
    expect(metrics).toMatch(
      /kubelet_image_manager_ensure_image_requests_total\{pull_policy="ifnotpresent",present_locally="true",pull_required="false"\} [1-9]/,
    );
  });

  test('takes the records of an older kubelet over, and survives damaged and hostile ones', async () => {
    const name = rig.registry.add('node/old:1', image);
    const guarded = rig.registry.add('plugin/guarded:1', image);
    for (const [pod, of] of [
      ['old', name],
      ['guarded', guarded],
    ] as const) {
      own.write(pod, podOf(pod, of));
      await untilRunning(kubelet, pod);
      own.remove(pod);
    }
    await kubelet.stop();
    const dir = join(kubelet.rootDir, 'image_manager', 'pulled');
    const before = new Map(readdirSync(dir).map((each) => [each, readFileSync(join(dir, each), 'utf8')]));
    for (const [each, text] of before) writeFileSync(join(dir, each), text.replace('v1beta1', 'v1alpha1'));
    const odd = (byte: string): string => join(dir, `sha256-${byte.repeat(64)}`);
    writeFileSync(odd('a'), '{"kind":');
    writeFileSync(odd('b'), '');
    truncateSync(odd('b'), 3_000_000_000);
    await mustRun('mkfifo', [odd('c')]);
    symlinkSync('/dev/zero', odd('d'));
    mkdirSync(odd('e'));
    await kubelet.start();
    await waitFor(
      () => [...before].every(([each, text]) => readFileSync(join(dir, each), 'utf8') === text),
      'the records to be rewritten',
    );
    const unread = (): number => kubelet.log.matching(/Failed to read image pull record/).length;
    await waitFor(() => unread() >= 5, 'five unreadable records to be reported');
    expect(unread()).toBe(5);
    rig.registry.requests.length = 0;
    own.write('again-old', podOf('again-old', name));
    await untilRunning(kubelet, 'again-old');
    expect(rig.registry.requests).toEqual([]);
    for (const byte of 'abcde') rmSync(odd(byte), { recursive: true });
  });

  test('a missing credential provider keeps the kubelet from starting, and is named', async () => {
    const config = join(rig.workspace.dir, 'missing.json');
    const provider = { name: 'absent', matchImages: ['example.com'], defaultCacheDuration: '1h', apiVersion };
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1',
        kind: 'CredentialProviderConfig',
        providers: [provider],
      }),
    );
    const broken = rig.newKubelet({
      name: 'broken',
      flags: [
        `--image-credential-provider-config=${config}`,
        `--image-credential-provider-bin-dir=${plugins}`,
      ],
    });
    await broken.start({ untilReady: false });
    await waitFor(() => !broken.running, 'the kubelet to exit', 60_000);
    expect(broken.log.text()).toContain(`plugin binary executable ${plugins}/absent did not exist`);
  });
});

describeOnRig('image pulls with secrets of the cluster', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  test('an image pulled with a secret is only for pods with it, also after a kill of the kubelet', async () => {
    const image = await buildBusyboxImage();
    const name = rig.registry.add('private/app:1', image);
    rig.registry.requireAuth(auth);
    const config = { auths: { [rig.registry.host]: { username, password } } };
    cluster.double.objects.create('secrets', {
      metadata: { name: 'pull', namespace: 'default' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') },
    });
    const create = (pod: string, policy: string, ...secrets: readonly string[]): Pod =>
      cluster.createPod(
        manifest(pod, {
          containers: [container('main', exitsOnTerm, { image: name, imagePullPolicy: policy })],
          imagePullSecrets: secrets.map((each) => ({ name: each })),
        }),
      );
    const untilWaits = (pod: string, reason: string): Promise<Pod> =>
      cluster.untilPod(pod, reason, ({ containerStatuses }) =>
        Boolean(containerStatuses?.some(({ state }) => state?.waiting?.reason === reason)),
      );
    create('owner', 'IfNotPresent', 'pull');
    await cluster.untilReady('owner');
    create('thief', 'IfNotPresent', 'missing');
    create('never', 'Never');
    await untilWaits('thief', 'ErrImagePull');
    await untilWaits('never', 'ErrImageNeverPull');
    await kubelet.kill9();
    await kubelet.start();
    rig.registry.requests.length = 0;
    create('friend', 'Never', 'pull');
    await cluster.untilReady('friend');
    create('later', 'Never');
    await untilWaits('later', 'ErrImageNeverPull');
    const events = cluster.double.objects.list('events', 'default');
    expect(events.map(({ message }) => message)).toContain(
      'Unable to retrieve some image pull secrets (missing); attempting to pull the image may not succeed.',
    );
    expect(kubelet.log.text()).not.toContain(password);
  });
});
