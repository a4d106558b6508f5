// The fields logging to userNamespaces, in upstream's order: logging, shutdown, registration, tracing and the container runtime.
import { missing, noneYet } from '../effect.ts';
import {
  boolean,
  choice,
  duration,
  float,
  int32,
  int64,
  object,
  objects,
  optional,
  quantity,
  quantityMap,
  text,
  time,
  timestamp,
  uint32,
} from '../schema.ts';

const outputRouting = (format: 'text' | 'json') => ({
  splitStream: boolean({
    flag: `log-${format}-split-stream`,
    gate: 'LoggingAlphaOptions',
    effect: noneYet(missing.logOutput),
    doc: `In the ${format} format, write errors to stderr and info messages to stdout.`,
  }),
  infoBufferSize: quantity({
    keepsZero: true,
    flag: `log-${format}-info-buffer-size`,
    gate: 'LoggingAlphaOptions',
    effect: noneYet(missing.logOutput),
    doc: `In the ${format} format with split streams, the size of the buffer for info messages.`,
  }),
});

const taintFields = {
  key: text({ required: true, doc: 'Key of the taint.' }),
  value: text({ doc: 'Value of the taint.' }),
  effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], {
    required: true,
    doc: 'Effect of the taint.',
  }),
  timeAdded: optional(timestamp({ doc: 'Must not be set here.' })),
};

export const operation = {
  logging: object(
    {
      format: choice(['text', 'json'], {
        default: 'text',
        flag: 'logging-format',
        doc: 'Format of the log. json needs the gate LoggingBetaOptions, which is on by default.',
      }),
      flushFrequency: time({
        default: '5s',
        keepsZero: false,
        required: true,
        flag: { name: 'log-flush-frequency', deprecated: false },
        effect: noneYet(missing.logOutput),
        doc: 'Maximum time between flushes of buffered lines. A bare number means nanoseconds.',
      }),
      verbosity: uint32({
        required: true,
        max: 2147483647,
        flag: { name: 'v', short: 'v', type: 'level', deprecated: false },
        applies: 'now',
        doc: 'Log verbosity; higher numbers log more.',
      }),
      vmodule: objects(
        {
          filePattern: text({
            required: true,
            doc: 'Name of a source file without suffix, or a glob pattern.',
          }),
          verbosity: uint32({ required: true, max: 2147483647, doc: 'Verbosity for the files that match.' }),
        },
        {
          flag: { name: 'vmodule', type: 'vmodule', deprecated: false },
          effect: noneYet('log verbosity by file'),
          doc: 'Log verbosity by file, for the text format only.',
        },
      ),
      options: object(
        {
          text: object(outputRouting('text'), { doc: 'Options of the text format.' }),
          json: object(outputRouting('json'), { doc: 'Options of the json format.' }),
        },
        { doc: 'Options by format.' },
      ),
    },
    { doc: 'Logging.' },
  ),
  enableSystemLogHandler: boolean({
    default: true,
    keepsZero: true,
    doc: 'Serve the files under /var/log at /logs/.',
  }),
  enableSystemLogQuery: boolean({
    keepsZero: true,
    gate: 'NodeLogQuery',
    doc: 'Serve queries of the logs of node services at /logs/. Needs enableSystemLogHandler.',
  }),
  shutdownGracePeriod: duration({
    gate: 'GracefulNodeShutdown',
    applies: 'now',
    doc: 'How long a node shutdown is delayed so that pods can terminate. 0s disables this; otherwise at least 1s.',
  }),
  shutdownGracePeriodCriticalPods: duration({
    gate: 'GracefulNodeShutdown',
    applies: 'now',
    doc: 'The part at the end of shutdownGracePeriod that is reserved for critical pods.',
  }),
  shutdownGracePeriodByPodPriority: objects(
    {
      priority: int32({ required: true, doc: 'Pods with at least this priority, up to the next entry.' }),
      shutdownGracePeriodSeconds: int64({
        required: true,
        doc: 'Seconds that these pods have to terminate.',
      }),
    },
    {
      applies: 'now',
      gate: 'GracefulNodeShutdownBasedOnPodPriority',
      doc: 'Shutdown grace periods by pod priority, instead of the two fields above.',
    },
  ),
  crashLoopBackOff: object(
    {
      maxContainerRestartPeriod: optional(
        duration({
          gate: 'KubeletCrashLoopBackOffMax',
          defaultNote: '5m0s when the gate is on',
          applies: 'now',
          doc: 'Maximum back-off before a crashing container is restarted, 1s to 300s.',
        }),
      ),
    },
    { doc: 'Back-off of crashing containers.' },
  ),
  reservedMemory: objects(
    {
      numaNode: int32({ required: true, doc: 'Number of the NUMA node.' }),
      limits: quantityMap({ required: true, doc: 'Amount by resource: memory or hugepages-<size>.' }),
    },
    {
      flag: { name: 'reserved-memory', type: 'reserved-memory' },
      doc: 'Memory that the memory manager reserves on each NUMA node. The sum must equal systemReserved plus kubeReserved plus the hard memory threshold.',
    },
  ),
  enableProfilingHandler: boolean({
    default: true,
    keepsZero: true,
    doc: 'Serve profiles at /debug/pprof/.',
  }),
  enableDebugFlagsHandler: boolean({
    default: true,
    keepsZero: true,
    doc: 'Allow changing the log verbosity at /debug/flags/v.',
  }),
  seccompDefault: boolean({
    keepsZero: true,
    applies: 'new-pods',
    doc: 'Run containers without a seccomp profile under RuntimeDefault.',
  }),
  memoryThrottlingFactor: optional(
    float({
      actsWith: 'MemoryQoS',
      applies: 'new-pods',
      doc: 'Fraction of the memory limit, above 0 up to 1, at which the kernel throttles a container. Unset means that containers are not throttled.',
    }),
  ),
  memoryReservationPolicy: choice(['None', 'TieredReservation'], {
    default: 'None',
    actsWith: 'MemoryQoS',
    doc: 'TieredReservation protects the requested memory of Guaranteed pods from reclaim (memory.min), and that of Burstable pods as long as possible (memory.low).',
  }),
  registerWithTaints: objects(taintFields, {
    flag: { name: 'register-with-taints', type: 'taints' },
    doc: 'Taints of the Node when the kubelet registers it for the first time.',
  }),
  registerNode: boolean({
    default: true,
    keepsZero: true,
    flag: 'register-node',
    doc: 'Register this node with the API server.',
  }),
  tracing: optional(
    object(
      {
        endpoint: optional(
          text({
            defaultNote: 'localhost:4317',
            doc: 'Address of the OTLP collector, reached over gRPC without TLS.',
          }),
        ),
        samplingRatePerMillion: optional(
          int32({
            min: 0,
            max: 1000000,
            doc: 'Sampling rate of traces that start here, per million. Unset samples only traces of callers that are sampled.',
          }),
        ),
      },
      { doc: 'Export of traces. Unset disables it.' },
    ),
  ),
  localStorageCapacityIsolation: boolean({
    default: true,
    keepsZero: true,
    flag: 'local-storage-capacity-isolation',
    doc: 'Account for and limit the local storage of pods. Disable where the usage of the root file system cannot be measured.',
  }),
  containerRuntimeEndpoint: text({
    default: 'unix:///run/containerd/containerd.sock',
    flag: 'container-runtime-endpoint',
    doc: "Address of the container runtime's CRI socket.",
  }),
  imageServiceEndpoint: text({
    flag: 'image-service-endpoint',
    defaultNote: 'empty means containerRuntimeEndpoint',
    doc: 'Address of the CRI image service, if it differs.',
  }),
  failCgroupV1: boolean({
    default: true,
    keepsZero: true,
    flag: { name: 'fail-cgroupv1', deprecated: false },
    doc: 'Fail to start on a host with cgroup v1.',
  }),
  userNamespaces: optional(
    object(
      {
        idsPerPod: optional(
          int64({
            defaultNote: '65536',
            doc: 'Number of user and group IDs of each pod with a user namespace: a multiple of 65536 below 2^32.',
          }),
        ),
      },
      { actsWith: 'UserNamespacesSupport', doc: 'User namespaces of pods.' },
    ),
  ),
};
