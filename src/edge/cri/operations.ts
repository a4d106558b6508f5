// The table of RPCs: name in metrics, deadline, validation of the response.
// Upstream: kuberuntime/instrumented_services.go for the names, cri-client/pkg/remote_{runtime,image}.go for the rest.
// Invariant: the tables have a row for every RPC, or they do not compile.
import type {
  ImageServiceDefinition,
  PodSandboxStatus,
  RuntimeServiceDefinition,
} from '../../api/cri/generated/runtime/v1/api.ts';

export interface Operation<Request = never, Response = never> {
  /** The label `operation_type` of the kubelet_runtime_operations_* metrics. */
  readonly name: string;
  /** Deadline of the call; absent: the request timeout. */
  readonly timeoutMs?: (request: Request, requestTimeoutMs: number) => number;
  /** The runtime handler of a sandbox, a label of its metrics. */
  readonly handler?: (request: Request) => string;
  /** The caller has a fallback: UNIMPLEMENTED is not observed. */
  readonly hasFallback?: true;
  /** What is missing in a response that gRPC accepted. */
  readonly fault?: (response: Response) => string | undefined;
}

type Message<T> = T extends { create(...args: never[]): infer M } ? M : never;
type Rows<D extends { methods: object }> = {
  readonly [K in keyof D['methods']]: D['methods'][K] extends { requestType: infer Q; responseType: infer S }
    ? Operation<Message<Q>, Message<S>>
    : never;
};

/** How long an ExecSync may take beyond the timeout of its command. */
const execSlackMs = 15_000;

const noDeadline = (): number => Number.POSITIVE_INFINITY;
const seconds = (value: bigint): number => Number(value) * 1000;

function missing(fields: Readonly<Record<string, unknown>>): string | undefined {
  const names = Object.keys(fields).filter((name) => !fields[name]);
  return names.length === 0 ? undefined : `${names.join(', ')} not set`;
}

function sandboxFault(status: PodSandboxStatus | undefined): string | undefined {
  if (status === undefined) return undefined;
  const { id, createdAt, metadata } = status;
  return missing({ id, createdAt, name: metadata?.name, namespace: metadata?.namespace, uid: metadata?.uid });
}

/** A streaming list is the same operation as its unary twin. */
function streamedAs(name: string): { readonly name: string; readonly hasFallback: true } {
  return { name, hasFallback: true };
}

export const runtimeOperations: Rows<RuntimeServiceDefinition> = {
  version: {
    name: 'version',
    fault: ({ version, runtimeName, runtimeVersion, runtimeApiVersion }) =>
      missing({ version, runtimeName, runtimeVersion, runtimeApiVersion }) ??
      (runtimeApiVersion === 'v1' ? undefined : `the runtime implements CRI ${runtimeApiVersion}, not v1`),
  },
  status: {
    name: 'status',
    fault: ({ status }) => {
      const types = status?.conditions.map((condition) => condition.type) ?? [];
      return missing({
        RuntimeReady: types.includes('RuntimeReady'),
        NetworkReady: types.includes('NetworkReady'),
      });
    },
  },
  runtimeConfig: { name: 'runtime_config' },
  updateRuntimeConfig: { name: 'update_runtime_config' },
  runPodSandbox: {
    name: 'run_podsandbox',
    timeoutMs: (_request, requestTimeoutMs) => 2 * requestTimeoutMs,
    handler: ({ runtimeHandler }) => runtimeHandler,
    fault: ({ podSandboxId }) => missing({ podSandboxId }),
  },
  stopPodSandbox: { name: 'stop_podsandbox' },
  removePodSandbox: { name: 'remove_podsandbox' },
  podSandboxStatus: { name: 'podsandbox_status', fault: ({ status }) => sandboxFault(status) },
  listPodSandbox: { name: 'list_podsandbox' },
  streamPodSandboxes: streamedAs('list_podsandbox'),
  updatePodSandboxResources: { name: 'update_podsandbox_resources' },
  createContainer: { name: 'create_container', fault: ({ containerId }) => missing({ containerId }) },
  startContainer: { name: 'start_container' },
  stopContainer: {
    name: 'stop_container',
    timeoutMs: (request, requestTimeoutMs) => seconds(request.timeout) + requestTimeoutMs,
  },
  removeContainer: { name: 'remove_container' },
  containerStatus: {
    name: 'container_status',
    fault: ({ status }) => {
      if (status === undefined) return undefined;
      const { id, createdAt, image, imageRef, metadata } = status;
      return missing({ id, createdAt, image, imageRef, name: metadata?.name });
    },
  },
  listContainers: { name: 'list_containers' },
  streamContainers: streamedAs('list_containers'),
  updateContainerResources: { name: 'update_container' },
  reopenContainerLog: { name: 'reopen_container_log' },
  checkpointContainer: {
    name: 'checkpoint_container',
    timeoutMs: (request, requestTimeoutMs) => Math.max(seconds(request.timeout), requestTimeoutMs),
  },
  checkpointPod: { name: 'checkpoint_pod' },
  restorePod: {
    name: 'restore_pod',
    handler: ({ runtimeHandler }) => runtimeHandler,
    fault: ({ podSandboxId }) => missing({ podSandboxId }),
  },
  getContainerEvents: { name: 'get_container_events', timeoutMs: noDeadline },
  execSync: {
    name: 'exec_sync',
    // differs from upstream: the runtime has 15 s beyond the command's own timeout instead of two minutes, so that a
    // probe notices a hung runtime within the order of magnitude of its period. Zero means no deadline, as upstream.
    timeoutMs: (request) => (request.timeout > 0n ? seconds(request.timeout) + execSlackMs : noDeadline()),
  },
  exec: { name: 'exec', fault: ({ url }) => missing({ url }) },
  attach: { name: 'attach', fault: ({ url }) => missing({ url }) },
  portForward: { name: 'port_forward', fault: ({ url }) => missing({ url }) },
  containerStats: { name: 'container_stats' },
  listContainerStats: { name: 'list_container_stats' },
  streamContainerStats: streamedAs('list_container_stats'),
  podSandboxStats: { name: 'podsandbox_stats' },
  listPodSandboxStats: { name: 'list_podsandbox_stats' },
  streamPodSandboxStats: streamedAs('list_podsandbox_stats'),
  listMetricDescriptors: { name: 'list_metric_descriptors' },
  listPodSandboxMetrics: { name: 'list_podsandbox_metrics' },
  streamPodSandboxMetrics: streamedAs('list_podsandbox_metrics'),
};

export const imageOperations: Rows<ImageServiceDefinition> = {
  pullImage: { name: 'pull_image', timeoutMs: noDeadline, fault: ({ imageRef }) => missing({ imageRef }) },
  imageStatus: {
    name: 'image_status',
    fault: ({ image }) => (image === undefined ? undefined : missing({ id: image.id, size: image.size })),
  },
  listImages: { name: 'list_images' },
  streamImages: streamedAs('list_images'),
  removeImage: { name: 'remove_image' },
  imageFsInfo: { name: 'image_fs_info' },
};
