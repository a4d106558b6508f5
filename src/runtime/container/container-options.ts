// What a container's configuration needs from elsewhere: environment, mounts, the files the kubelet keeps for it.
// Upstream: GenerateRunContainerOptions in kubelet_pods.go and makeMounts in kuberuntime_container.go.
import { dirname, resolve } from 'node:path/posix';
import type { Device, Mount } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, Service } from '../../api/k8s/types.ts';
import { expandVariables } from '../../api/pod/expand.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { containerDirectory, podDirectory } from '../paths.ts';
import type { PodInputs, PodRuntimeDeps, RuntimeNode } from '../runtime-deps.ts';
import { nodeHostsFile, podHostsFile } from '../sandbox/hosts-file.ts';
import { byFamilyOf } from '../sandbox/pod-addresses.ts';
import { podHostname } from '../sandbox/sandbox-config.ts';
import { containerEnvironment, type Environment, environmentTexts } from './container-env.ts';

export interface ContainerOptions {
  readonly env: Environment;
  readonly mounts: readonly CriRequest<Mount>[];
  readonly devices: readonly CriRequest<Device>[];
}

interface OptionsInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  /** The pod's addresses; the node's on the node's network. */
  readonly podIps: readonly string[];
  /** Of messageMount, which needs no address and so is made while there is none yet. */
  readonly message: readonly CriRequest<Mount>[];
}

const hostsPath = '/etc/hosts';
/** Of a path on Linux. */
const longestPathBytes = 4_096;
/** How long the start of a pod that did not come from the API server waits for that server's services. */
const staticServicesMs = 100;

interface OptionsDeps extends Pick<PodRuntimeDeps, 'clock'> {
  readonly inputs: Pick<PodInputs, 'objects' | 'volumes'>;
  readonly node: OptionsNode;
}

type OptionsNode = Pick<RuntimeNode, 'files' | 'settings'>;

export async function containerOptions(
  deps: OptionsDeps,
  input: OptionsInput,
  signal: AbortSignal,
): Promise<ContainerOptions> {
  const { container, message, pod, podIps, restartCount } = input;
  const { objects, volumes } = deps.inputs;
  const { settings } = deps.node;
  const hostIps = settings.hostIps();
  const environment = async (): Promise<Environment> => {
    const place = { podIps: byFamilyOf(hostIps, podIps), hostIps };
    const services = await knownServices(deps, pod, signal);
    const allocatable = settings.allocatable();
    return await containerEnvironment(objects, { pod, container, place, allocatable, services }, signal);
  };
  const [env, hosts] = await Promise.all([environment(), hostsMount(deps.node, input)]);
  const texts = environmentTexts(env);
  const { mounts, devices } = await volumes.containerMounts(
    pod,
    container,
    { restartCount, expand: (text) => expandKnown(text, texts) },
    signal,
  );
  return { env, mounts: [...mounts, ...hosts, ...message], devices };
}

/** A pod that came from the API server waits for the services, one from elsewhere runs without an API server as well. */
async function knownServices(
  { clock, inputs: { objects } }: OptionsDeps,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly Service[]> {
  const source = pod.metadata?.annotations?.['kubernetes.io/config.source'] ?? 'api';
  if (source === 'api') return await objects.services(signal);
  const enough = new AbortController();
  const timer = clock.setTimer(staticServicesMs, () => enough.abort());
  try {
    return await objects.services(AbortSignal.any([signal, enough.signal]));
  } catch (err) {
    if (signal.aborted) throw err;
    return [];
  } finally {
    timer.cancel();
  }
}

/** Sub-paths are taken from variables that have a value; a missing one must not become a directory called `$(X)`. */
function expandKnown(text: string, texts: ReadonlyMap<string, string>): string {
  const missing = new Set<string>();
  const get = (name: string): string => {
    const value = texts.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  };
  const expanded = expandVariables(text, { get }, longestPathBytes, () => {
    const message = `subPathExpr expands to more than ${longestPathBytes} bytes`;
    return new KubeletError('invalid', 'CreateContainerConfigError', message);
  });
  if (missing.size > 0) {
    const names = [...missing].toSorted((a, b) => (a < b ? -1 : 1)).join(', ');
    throw new KubeletError('invalid', 'CreateContainerConfigError', `missing value for ${names}`);
  }
  return expanded;
}

/** Our own hosts file, unless the container mounts one itself or the pod has no address to write down. */
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

/** An empty file that everybody may write, for the words a container leaves when it ends. */
export async function messageMount(
  { files, settings }: OptionsNode,
  { container, pod, restartCount }: Pick<OptionsInput, 'container' | 'pod' | 'restartCount'>,
): Promise<readonly CriRequest<Mount>[]> {
  const { terminationMessagePath = '' } = container;
  if (terminationMessagePath === '') return [];
  const directory = containerDirectory(settings.rootDir, podUid(pod), container.name);
  const path = `${directory}/${terminationFileName(pod, container, restartCount)}`;
  // From above: the one above it is missing, too, when it is the pod's first.
  await files.makeDirectory(dirname(directory), 0o750);
  await files.makeDirectory(directory, 0o750);
  await files.writeText(path, '', 0o666);
  const containerPath = resolve('/', terminationMessagePath);
  return [{ hostPath: path, containerPath, selinuxRelabel: settings.selinux }];
}

/** One per instance of the container. The same for a start that is made again in its place, so that nothing piles up. */
function terminationFileName(pod: Pod, container: Container, restartCount: number): string {
  const hash = fnv1a32(`${podUid(pod)}/${container.name}/${restartCount}`);
  return hash.toString(16).padStart(8, '0');
}
