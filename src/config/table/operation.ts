// Settings of logging, shutdown, registration and the runtime: logging … userNamespaces, in upstream's order.
import { missing, noneYet, partly } from '../effect.ts';
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
    doc: `In the ${format} format, write errors to stderr and the rest to stdout.`,
  }),
  infoBufferSize: quantity({
    keepsZero: true,
    flag: `log-${format}-info-buffer-size`,
    gate: 'LoggingAlphaOptions',
    effect: noneYet(missing.logOutput),
    doc: `In the ${format} format with split streams, how many bytes of information may wait in a buffer.`,
  }),
});

const taintFields = {
  key: text({ required: true, doc: 'Key of the taint.' }),
  value: text({ doc: 'Value of the taint.' }),
  effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], {
    required: true,
    doc: 'What the taint does.',
  }),
  timeAdded: optional(timestamp({ doc: 'Must not be set here.' })),
};

export const operation = {
  logging: object(
    {
      format: choice(['text', 'json'], {
        default: 'text',
        flag: 'logging-format',
        doc: 'Form of the log. json needs the gate LoggingBetaOptions, which is on.',
      }),
      flushFrequency: time({
        default: '5s',
        keepsZero: false,
        required: true,
        flag: { name: 'log-flush-frequency', deprecated: false },
        effect: noneYet(missing.logOutput),
        doc: 'Longest time between two flushes of buffered lines. A bare number is nanoseconds.',
      }),
      verbosity: uint32({
        required: true,
        max: 2147483647,
        flag: { name: 'v', short: 'v', type: 'level', deprecated: false },
        doc: 'How much is logged; higher is more.',
      }),
      vmodule: objects(
        {
          filePattern: text({ required: true, doc: 'Name of a source file without its suffix, or a glob.' }),
          verbosity: uint32({ required: true, max: 2147483647, doc: 'Verbosity for the files that match.' }),
        },
        {
          flag: { name: 'vmodule', type: 'vmodule', deprecated: false },
          effect: noneYet('log verbosity by file'),
          doc: 'Verbosity by file, only for the text format.',
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
    { doc: 'What the kubelet logs, and how.' },
  ),
  enableSystemLogHandler: boolean({
    default: true,
    keepsZero: true,
    doc: 'Serve the files under /var/log at /logs/.',
  }),
  enableSystemLogQuery: boolean({
    keepsZero: true,
    gate: 'NodeLogQuery',
    doc: "Answer queries for the logs of the node's services at /logs/. Needs enableSystemLogHandler.",
  }),
  shutdownGracePeriod: duration({
    gate: 'GracefulNodeShutdown',
    effect: noneYet(missing.shutdown),
    doc: 'How long a shutdown of the node is held up so that pods can end. 0s is off; otherwise at least 1s.',
  }),
  shutdownGracePeriodCriticalPods: duration({
    gate: 'GracefulNodeShutdown',
    effect: noneYet(missing.shutdown),
    doc: 'The part of shutdownGracePeriod, at its end, that is kept for critical pods.',
  }),
  shutdownGracePeriodByPodPriority: objects(
    {
      priority: int32({ required: true, doc: 'Pods of this priority and up, to the next entry.' }),
      shutdownGracePeriodSeconds: int64({ required: true, doc: 'Seconds these pods get.' }),
    },
    {
      gate: 'GracefulNodeShutdownBasedOnPodPriority',
      effect: noneYet(missing.shutdown),
      doc: 'Shutdown periods by pod priority, instead of the two periods above.',
    },
  ),
  crashLoopBackOff: object(
    {
      maxContainerRestartPeriod: optional(
        duration({
          gate: 'KubeletCrashLoopBackOffMax',
          defaultNote: '5m0s when the gate is on',
          doc: 'Longest pause before a crashing container is started again, 1s to 300s.',
        }),
      ),
    },
    { doc: 'Restarts of crashing containers.' },
  ),
  reservedMemory: objects(
    {
      numaNode: int32({ required: true, doc: 'Number of the NUMA node.' }),
      limits: quantityMap({ required: true, doc: 'Amount by type: memory or hugepages-<size>.' }),
    },
    {
      flag: { name: 'reserved-memory', type: 'reserved-memory' },
      effect: noneYet(missing.memoryManager),
      doc: 'Memory that the memory manager leaves alone on each NUMA node. The sum must equal what systemReserved, kubeReserved and the hard memory threshold keep.',
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
    doc: 'Let the log verbosity be changed at /debug/flags/v.',
  }),
  seccompDefault: boolean({
    keepsZero: true,
    doc: 'Run containers that ask for no seccomp profile under RuntimeDefault.',
  }),
  memoryThrottlingFactor: float({
    default: 0.9,
    keepsZero: true,
    actsWith: 'MemoryQoS',
    doc: 'Share of the memory limit, above 0 up to 1, at which the kernel begins to throttle a container.',
  }),
  registerWithTaints: objects(taintFields, {
    flag: { name: 'register-with-taints', type: 'taints' },
    doc: 'Taints the Node gets when the kubelet registers it for the first time.',
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
            doc: 'Traces begun here that are kept, per million. Unset follows the caller and begins none.',
          }),
        ),
      },
      { effect: noneYet(missing.tracing), doc: 'Where traces are sent. Unset is nowhere.' },
    ),
  ),
  localStorageCapacityIsolation: boolean({
    default: true,
    keepsZero: true,
    flag: 'local-storage-capacity-isolation',
    effect: partly('the capacity is reported, but pods that exceed their limits are not evicted'),
    doc: 'Count and limit the local storage of pods. Switch off where the usage of the root file system cannot be measured.',
  }),
  containerRuntimeEndpoint: text({
    default: 'unix:///run/containerd/containerd.sock',
    flag: 'container-runtime-endpoint',
    doc: "Address of the container runtime's CRI socket.",
  }),
  imageServiceEndpoint: text({
    flag: 'image-service-endpoint',
    defaultNote: 'empty means containerRuntimeEndpoint',
    doc: 'Address of the CRI image service, where it is another one.',
  }),
  failCgroupV1: boolean({
    keepsZero: true,
    flag: { name: 'fail-cgroupv1', deprecated: false },
    doc: 'Refuse to start on a host with cgroup v1.',
  }),
  userNamespaces: optional(
    object(
      {
        idsPerPod: optional(
          int64({
            defaultNote: '65536',
            doc: 'User and group IDs each pod with its own user namespace gets: a multiple of 65536 below 2^32.',
          }),
        ),
      },
      { actsWith: 'UserNamespacesSupport', doc: 'User namespaces of pods.' },
    ),
  ),
};
