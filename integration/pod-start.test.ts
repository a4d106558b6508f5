// Starts of pods: images, rejections, errors, environment, network.
import { readlinkSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Container, ContainerStateWaiting, ContainerStatus, Pod } from '../src/api/k8s/types.ts';
import { buildBusyboxImage } from './rig/images.ts';
import type { Kubelet } from './rig/kubelet.ts';
import type { OciImage } from './rig/oci.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { RegistryFault } from './rig/registry.ts';
import type { Rig } from './rig/rig.ts';
import { untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import {
  containerIdOf,
  containerStatus,
  uidOf,
  untilContainer,
  untilPod,
  untilRunning,
} from './support/pod-state.ts';
import { runtimePod } from './support/runtime-pods.ts';
import { useNode } from './support/suite-node.ts';

const always500 = (count: number): RegistryFault[] =>
  Array.from({ length: count }, () => ({ do: 'status', status: 500, on: 'manifest' }) as const);

describeOnRig('pod start', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let image: OciImage;
  const own = useNode((node) => ({ rig, kubelet } = node));

  beforeAll(async () => {
    image = await buildBusyboxImage();
  });
  afterEach(() => rig.registry.clearFaults());

  const withMain = (name: string, over: Partial<Container>, script = exitsOnTerm): Pod =>
    manifest(name, { containers: [container('main', script, over)] });
  const untilWaiting = async (
    name: string,
    reason: string,
    which = 'main',
  ): Promise<ContainerStateWaiting> => {
    const is = ({ state }: ContainerStatus): boolean => state?.waiting?.reason === reason;
    const pod = await untilContainer(kubelet, name, reason, is, which);
    return containerStatus(pod, which).state?.waiting ?? {};
  };

  test('environment variables are expanded in variables, command and arguments', async () => {
    const env = [
      { name: 'WHO', value: 'world' },
      { name: 'GREETING', value: 'hello $(WHO)' },
      { name: 'ESCAPED', value: '$$(WHO)' },
      { name: 'UNKNOWN', value: '$(NOBODY)' },
    ];
    const script =
      'for each in "$@"; do echo "$each"; done; echo "$ESCAPED"; echo "$UNKNOWN"; pwd; exec sleep 2147483647';
    const over = {
      env,
      workingDir: '/tmp',
      command: ['sh', '-c', script, '$(WHO)'],
      args: ['$(GREETING)', '$$(GREETING)', 'a $(WHO) b'],
    };
    own.write('env', withMain('env', over));
    const pod = await untilRunning(kubelet, 'env');
    expect(await untilLogged(kubelet, pod, 6)).toEqual([
      'hello world',
      '$(GREETING)',
      'a world b',
      '$(WHO)',
      '$(NOBODY)',
      '/tmp',
    ]);
  });

  test('a pod on the host network has the network and address of the machine', async () => {
    const script = 'readlink /proc/self/ns/net; hostname; exec sleep 2147483647';
    own.write('host', manifest('host', { hostNetwork: true, containers: [container('main', script)] }));
    const pod = await untilRunning(kubelet, 'host');
    const addresses = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).map((each) => each.address),
    );
    expect(pod.status?.podIP).toBe(pod.status?.hostIP);
    expect(addresses).toContain(pod.status?.podIP);
    expect((await untilLogged(kubelet, pod, 2))[0]).toBe(readlinkSync('/proc/self/ns/net'));
  });

  test('a pod on its own network has its name as hostname and its own address', async () => {
    const script = 'hostname; ip -4 -o addr show eth0 | sed "s/.*inet //; s/\\/.*//"; exec sleep 2147483647';
    own.write('own', manifest('own', { containers: [container('main', script)] }));
    const pod = await untilRunning(kubelet, 'own');
    expect(await untilLogged(kubelet, pod, 2)).toEqual([`own-${kubelet.nodeName}`, pod.status?.podIP]);
  });

  test('a pod for another operating system fails with the reason, others run', async () => {
    own.write('rejected', manifest('rejected', { os: { name: 'windows' } }));
    own.write('fine');
    const pod = await untilPod(kubelet, 'rejected', 'Failed', ({ phase }) => phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'PodOSNotSupported',
      message: "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS",
    });
    await untilRunning(kubelet, 'fine');
    expect(await runtimePod(rig, kubelet, 'rejected')).toEqual({ sandboxes: [], containers: [] });
    const errors = kubelet.log.matching(/^E.*"Pod rejected".*rejected-/);
    expect(errors).toHaveLength(1);
  });

  test('a rejected pod is started when its manifest is corrected', async () => {
    const uid = 'corrected-1';
    const pod = manifest('corrected', { metadata: { uid } });
    const securityContext = { sysctls: [{ name: 'vm.swappiness', value: '0' }] };
    own.write('corrected', {
      ...pod,
      spec: { ...pod.spec, containers: pod.spec?.containers ?? [], securityContext },
    });
    await untilPod(kubelet, 'corrected', 'Failed', ({ phase }) => phase === 'Failed');
    own.write('corrected', pod);
    expect(uidOf(await untilRunning(kubelet, 'corrected'))).toBe(uid);
  });

  test('a missing image is pulled', async () => {
    const name = rig.registry.add('team/app:1', image);
    own.write('pulls', withMain('pulls', { image: name }));
    const pod = await untilRunning(kubelet, 'pulls');
    expect(containerStatus(pod)).toMatchObject({
      image: name,
      imageID: `${rig.registry.host}/team/app@${image.manifest.digest}`,
    });
  });

  test('a failing registry yields ErrImagePull, then ImagePullBackOff, and the pod runs when it recovers', async () => {
    const name = rig.registry.add('team/late:1', image);
    rig.registry.addFault(...always500(100));
    own.write('late', withMain('late', { image: name }));
    const first = await untilWaiting('late', 'ErrImagePull');
    expect(first.message).toMatch(
      /failed to pull and unpack image ".*team\/late:1".*500 Internal Server Error/,
    );
    const second = await untilWaiting('late', 'ImagePullBackOff');
    expect(second.message).toBe(`Back-off pulling image "${name}": ErrImagePull: ${first.message}`);
    const pending = await kubelet.pod('late');
    expect(pending?.status?.phase).toBe('Pending');
    rig.registry.clearFaults();
    const pod = await untilRunning(kubelet, 'late');
    expect(containerStatus(pod).restartCount).toBe(0);
    expect((await runtimePod(rig, kubelet, 'late')).sandboxes).toHaveLength(1);
  });

  test('imagePullPolicy Never does not pull a missing image', async () => {
    const name = rig.registry.add('team/never:1', image);
    rig.registry.requests.length = 0;
    own.write('never', withMain('never', { image: name, imagePullPolicy: 'Never' }));
    expect(await untilWaiting('never', 'ErrImageNeverPull')).toEqual({
      reason: 'ErrImageNeverPull',
      message: `Container image "${name}" is not present with pull policy of Never`,
    });
    expect(rig.registry.requests).toEqual([]);
  });

  test('imagePullPolicy Always queries the registry for a present image', async () => {
    const name = rig.registry.add('team/always:1', image);
    await rig.cri.pullImage({ image: { image: name } });
    rig.registry.requests.length = 0;
    own.write('always', withMain('always', { image: name, imagePullPolicy: 'Always' }));
    await untilRunning(kubelet, 'always');
    expect(rig.registry.requests.map(({ path }) => path)).toContain('/v2/team/always/manifests/1');
  });

  test('a malformed image name yields InvalidImageName', async () => {
    own.write('misnamed', withMain('misnamed', { image: 'team/Upper:1' }));
    expect((await untilWaiting('misnamed', 'InvalidImageName')).message).toContain('"team/Upper:1"');
  });

  test('runAsNonRoot with an image that runs as root yields CreateContainerConfigError', async () => {
    own.write('nonroot', withMain('nonroot', { securityContext: { runAsNonRoot: true } }));
    const { message } = await untilWaiting('nonroot', 'CreateContainerConfigError');
    const uid = uidOf((await kubelet.pod('nonroot')) ?? {});
    const named = `nonroot-${kubelet.nodeName}_default(${uid})`;
    expect(message).toBe(
      `container has runAsNonRoot and image will run as root (pod: "${named}", container: main)`,
    );
  });

  test('runAsUser sets the user', async () => {
    const over = { securityContext: { runAsNonRoot: true, runAsUser: 65_534, runAsGroup: 65_534 } };
    own.write('nobody', withMain('nobody', over, 'id -u; id -g; exec sleep 2147483647'));
    const pod = await untilRunning(kubelet, 'nobody');
    expect(await untilLogged(kubelet, pod, 2)).toEqual(['65534', '65534']);
  });

  test('a missing program yields RunContainerError, then a crash loop with the start error', async () => {
    own.write('absent', withMain('absent', { command: ['/no/such/program'] }));
    const { message } = await untilWaiting('absent', 'RunContainerError');
    expect(message).toContain('/no/such/program');
    await untilWaiting('absent', 'CrashLoopBackOff');
    const pod = await kubelet.pod('absent');
    expect(containerStatus(pod ?? {})).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 128, reason: 'StartError' } },
    });
  });

  test('a missing program under restartPolicy Never fails the pod', async () => {
    const main = container('main', '', { command: ['/no/such/program'] });
    own.write('failed', manifest('failed', { restartPolicy: 'Never', containers: [main] }));
    const pod = await untilPod(kubelet, 'failed', 'Failed', ({ phase }) => phase === 'Failed');
    expect(containerStatus(pod).state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(containerStatus(pod).state?.terminated?.message).toContain('/no/such/program');
  });

  test('a container that cannot start does not prevent others from starting', async () => {
    const bad = container('bad', '', {
      image: rig.registry.add('team/none:1', image),
      imagePullPolicy: 'Never',
    });
    own.write('half', manifest('half', { containers: [bad, container('good')] }));
    await untilWaiting('half', 'ErrImageNeverPull', 'bad');
    const pod = await untilContainer(kubelet, 'half', 'ready', ({ ready }) => ready, 'good');
    expect(containerIdOf(pod, 'good')).toMatch(/^[0-9a-f]{64}$/);
    expect(pod.status?.phase).toBe('Pending');
  });
});
