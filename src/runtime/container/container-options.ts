// Gathers the environment, the mounts and the devices of a container, and writes the files that the kubelet mounts into it.
// Upstream: GenerateRunContainerOptions in kubelet_pods.go and makeMounts in kuberuntime_container.go.
import { dirname, resolve } from 'node:path/posix';
import type { Device, ImageSpec, Mount } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, Service } from '../../api/k8s/types.ts';
import { expandVariables } from '../../api/pod/expand.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { VolumeFileRequest } from '../../api/pod/pod-volumes.ts';
import type { DeviceGrants } from '../../api/ports/exclusive-resources.ts';
import { KubeletError } from '../../base/errors.ts';
import { containerDirectory, podDirectory } from '../paths.ts';
import type { PodInputs, PodRuntimeDeps, RuntimeNode, RuntimeReports } from '../runtime-deps.ts';
import { nodeHostsFile, podHostsFile } from '../sandbox/hosts-file.ts';
import { byFamilyOf } from '../sandbox/pod-addresses.ts';
import { podHostname } from '../sandbox/sandbox-config.ts';
import { containerEnvironment, type Environment, environmentTexts } from './container-env.ts';

export interface ContainerOptions {
  readonly env: Environment;
  readonly mounts: readonly CriRequest<Mount>[];
  readonly devices: readonly CriRequest<Device>[];
}

export interface OptionsInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  /** The pod's addresses; with hostNetwork, the node's. */
  readonly podIps: readonly string[];
  /** The images of the image volumes that the container mounts, by volume. */
  readonly imageVolumes: ReadonlyMap<string, CriRequest<ImageSpec>>;
  /** The devices of the container, with what their plugins add. */
  readonly grants: DeviceGrants;
  /** The result of messageMount, which runs while the pod has no address yet. */
  readonly message: readonly CriRequest<Mount>[];
}

const hostsPath = '/etc/hosts';
/** Linux' limit on a path. */
const maxPathBytes = 4_096;
/** How long the start of a static pod waits for the list of services. */
const staticServicesMs = 100;

interface OptionsDeps extends Pick<PodRuntimeDeps, 'clock'> {
  readonly inputs: Pick<PodInputs, 'objects' | 'volumes'>;
  readonly report: Pick<RuntimeReports, 'log'>;
  readonly node: OptionsNode;
}

type OptionsNode = Pick<RuntimeNode, 'files' | 'settings'>;

export async function containerOptions(
  deps: OptionsDeps,
  input: OptionsInput,
  signal: AbortSignal,
): Promise<ContainerOptions> {
  const { container, grants, imageVolumes, message, pod, podIps, restartCount } = input;
  const { objects, volumes } = deps.inputs;
  const { settings } = deps.node;
  const hostIps = settings.hostIps();
  const environment = async (): Promise<Environment> => {
    const addresses = { podIps: byFamilyOf(hostIps, podIps), hostIps };
    const services = await listServices(deps, pod, signal);
    const allocatable = settings.allocatable();
    const files = {
      read: (request: VolumeFileRequest) => volumes.readFile(pod, request, signal),
      log: deps.report.log.with({ pod: podRef(pod), container: container.name }),
    };
    const from = { pod, container, addresses, allocatable, services, files };
    const own = await containerEnvironment(objects, from, signal);
    return grants.env.size === 0 ? own : withDeviceEnv(own, grants);
  };
  const [env, hosts] = await Promise.all([environment(), hostsMount(deps.node, input)]);
  const texts = environmentTexts(env);
  const { mounts, devices } = await volumes.containerMounts(
    pod,
    container,
    { restartCount, imageVolumes, expand: (text) => expandSubPath(text, texts) },
    signal,
  );
  return {
    env,
    mounts: [...deviceMounts(grants), ...mounts, ...hosts, ...message],
    devices: [...grants.devices, ...devices],
  };
}

/** A variable of the container overrides that of a device plugin. */
function withDeviceEnv(own: Environment, { env }: DeviceGrants): Environment {
  const encoder = new TextEncoder();
  return new Map([...[...env].map(([name, value]) => [name, encoder.encode(value)] as const), ...own]);
}

function deviceMounts({ mounts }: DeviceGrants): readonly CriRequest<Mount>[] {
  return mounts.map(({ containerPath, hostPath, readOnly }) => ({
    hostPath,
    containerPath,
    readonly: readOnly,
  }));
}

/** An API pod waits for the list of services. A static pod starts without it if the API server does not answer. */
async function listServices(
  { clock, inputs: { objects } }: OptionsDeps,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly Service[]> {
  const source = pod.metadata?.annotations?.['kubernetes.io/config.source'] ?? 'api';
  if (source === 'api') return await objects.services(signal);
  const timeout = new AbortController();
  const timer = clock.setTimer(staticServicesMs, () => timeout.abort());
  try {
    return await objects.services(AbortSignal.any([signal, timeout.signal]));
  } catch (err) {
    if (signal.aborted) throw err;
    return [];
  } finally {
    timer.cancel();
  }
}

/** A variable in a subPathExpr must have a value: a missing one must not become a directory named `$(X)`. */
function expandSubPath(text: string, texts: ReadonlyMap<string, string>): string {
  const missing = new Set<string>();
  const get = (name: string): string => {
    const value = texts.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  };
  const expanded = expandVariables(text, { get }, maxPathBytes, () => {
    const message = `subPathExpr expands to more than ${maxPathBytes} bytes`;
    return new KubeletError('invalid', 'CreateContainerConfigError', message);
  });
  if (missing.size > 0) {
    const names = [...missing].toSorted((a, b) => (a < b ? -1 : 1)).join(', ');
    throw new KubeletError('invalid', 'CreateContainerConfigError', `missing value for ${names}`);
  }
  return expanded;
}

/** The managed hosts file, unless the container mounts its own or the pod has no address. */
async function hostsMount(
  { files, settings }: OptionsNode,
  { container, pod, podIps }: OptionsInput,
): Promise<readonly CriRequest<Mount>[]> {
  const onHost = pod.spec?.hostNetwork === true;
  if (podIps.length === 0 && !onHost) return [];
  if ((container.volumeMounts ?? []).some(({ mountPath }) => mountPath === hostsPath)) return [];
  const aliases = pod.spec?.hostAliases ?? [];
  const text = onHost
    ? nodeHostsFile(await files.readText(hostsPath), aliases)
    : podHostsFile({ podIps, aliases, ...podHostname(pod, settings) });
  const path = `${podDirectory(settings.rootDir, podUid(pod))}/etc-hosts`;
  await files.writeText(path, text, 0o644);
  return [{ hostPath: path, containerPath: hostsPath, selinuxRelabel: settings.selinux }];
}

/** An empty, world-writable file for the container's termination message. */
export async function messageMount(
  { files, settings }: OptionsNode,
  { container, pod, restartCount }: Pick<OptionsInput, 'container' | 'pod' | 'restartCount'>,
): Promise<readonly CriRequest<Mount>[]> {
  const { terminationMessagePath = '' } = container;
  if (terminationMessagePath === '') return [];
  const directory = containerDirectory(settings.rootDir, podUid(pod), container.name);
  const path = `${directory}/${terminationFileName(pod, container, restartCount)}`;
  // The parent first: it is missing, too, for the pod's first container.
  await files.makeDirectory(dirname(directory), 0o750);
  await files.makeDirectory(directory, 0o750);
  await files.writeText(path, '', 0o666);
  const containerPath = resolve('/', terminationMessagePath);
  return [{ hostPath: path, containerPath, selinuxRelabel: settings.selinux }];
}

/** One file per instance of the container; a repeated start of the same instance uses the same file. */
function terminationFileName(pod: Pod, container: Container, restartCount: number): string {
  const hash = fnv1a32(`${podUid(pod)}/${container.name}/${restartCount}`);
  return hash.toString(16).padStart(8, '0');
}
