// The fields kubeletCgroups to maxParallelImagePulls, in upstream's order: cgroups, resource managers, pods and the API client.
import { noneUpstream, noneYet } from '../effect.ts';
import { boolean, choice, duration, int32, int64, optional, stringMap, text } from '../schema.ts';

export const resources = {
  kubeletCgroups: text({
    flag: 'kubelet-cgroups',
    doc: 'Absolute name of the cgroup that the kubelet runs in.',
  }),
  systemCgroups: text({
    flag: 'system-cgroups',
    doc: 'Absolute name of the cgroup for non-kernel processes that are in the root cgroup. Needs cgroupRoot; only a reboot reverts it.',
  }),
  cgroupRoot: text({
    flag: 'cgroup-root',
    doc: "Root cgroup of pods. Empty means the container runtime's default.",
  }),
  cgroupsPerQOS: boolean({
    default: true,
    keepsZero: true,
    flag: 'cgroups-per-qos',
    doc: 'Create a cgroup for each QoS class and place pods below it.',
  }),
  cgroupDriver: text({
    default: 'cgroupfs',
    flag: { name: 'cgroup-driver', completes: ['cgroupfs', 'systemd'] },
    doc: 'How cgroups are managed: systemd, or cgroupfs for direct management by the kubelet. The driver that the container runtime reports takes precedence.',
  }),
  cpuManagerPolicy: choice(['none', 'static'], {
    default: 'none',
    flag: 'cpu-manager-policy',
    doc: 'static assigns exclusive CPUs to Guaranteed pods that request whole CPUs.',
  }),
  singleProcessOOMKill: optional(
    boolean({
      defaultNote: 'false on cgroup v2, true on v1',
      doc: 'Let the kernel OOM-kill a single process of a container instead of all of them. On cgroup v1 only true is possible.',
    }),
  ),
  cpuManagerPolicyOptions: stringMap({
    flag: { name: 'cpu-manager-policy-options', type: 'pair' },
    doc: 'Options of the CPU manager policy.',
  }),
  cpuManagerReconcilePeriod: duration({
    default: '10s',
    flag: 'cpu-manager-reconcile-period',
    doc: 'How often the CPU sets of running containers are reconciled.',
  }),
  memoryManagerPolicy: choice(['None', 'Static'], {
    default: 'None',
    flag: 'memory-manager-policy',
    doc: 'Static binds the memory of Guaranteed pods to as few NUMA nodes as possible.',
  }),
  topologyManagerPolicy: choice(['none', 'best-effort', 'restricted', 'single-numa-node'], {
    default: 'none',
    flag: 'topology-manager-policy',
    doc: 'How strictly CPUs, memory and devices of a pod are aligned to NUMA nodes.',
  }),
  topologyManagerScope: choice(['container', 'pod'], {
    default: 'container',
    flag: 'topology-manager-scope',
    doc: 'Whether each container or the whole pod is aligned.',
  }),
  topologyManagerPolicyOptions: stringMap({
    flag: 'topology-manager-policy-options',
    doc: 'Options of the topology manager policy.',
  }),
  qosReserved: stringMap({
    flag: 'qos-reserved',
    actsWith: 'QOSReserved',
    doc: 'Percentage of the requests of a QoS class that is reserved from the classes below it, such as memory=50%. Only memory is supported.',
  }),
  runtimeRequestTimeout: duration({
    default: '2m',
    flag: 'runtime-request-timeout',
    doc: 'Timeout of calls to the container runtime, except for pull, logs, exec and attach.',
  }),
  hairpinMode: choice(['promiscuous-bridge', 'hairpin-veth', 'none'], {
    default: 'promiscuous-bridge',
    flag: 'hairpin-mode',
    effect: noneUpstream('the CNI plugin decides'),
    doc: 'How a pod reaches itself through its Service (hairpin NAT).',
  }),
  maxPods: int32({ default: 110, flag: 'max-pods', min: 0, doc: 'Maximum number of pods on this node.' }),
  podCIDR: text({
    flag: 'pod-cidr',
    effect: noneYet('passing the pod CIDR to the container runtime'),
    doc: 'CIDR of pod IPs in standalone mode. With an API server, the Node object has it.',
  }),
  podPidsLimit: int64({
    default: -1,
    keepsZero: true,
    flag: 'pod-max-pids',
    doc: 'Maximum number of processes in a pod. Negative means what is allocatable on the node.',
  }),
  resolvConf: text({
    default: '/etc/resolv.conf',
    keepsZero: true,
    path: true,
    flag: 'resolv-conf',
    doc: 'Resolver configuration file that the DNS settings of pods are based on. An empty string means none.',
  }),
  runOnce: boolean({
    flag: 'runonce',
    doc: 'Start the static pods, wait for them and exit. Cannot be combined with enableServer.',
  }),
  cpuCFSQuota: boolean({
    default: true,
    keepsZero: true,
    flag: 'cpu-cfs-quota',
    doc: 'Enforce CPU limits with CFS quota.',
  }),
  cpuCFSQuotaPeriod: duration({
    default: '100ms',
    keepsZero: true,
    gate: 'CustomCPUCFSQuotaPeriod',
    flag: 'cpu-cfs-quota-period',
    doc: 'Period of the CFS quota, 1ms to 1s.',
  }),
  nodeStatusMaxImages: int32({
    default: 50,
    keepsZero: true,
    flag: 'node-status-max-images',
    min: -1,
    doc: 'Maximum number of images in the node status. -1 means all, 0 none.',
  }),
  maxOpenFiles: int64({
    default: 1000000,
    flag: 'max-open-files',
    min: 0,
    doc: 'Limit of open files of the kubelet process.',
  }),
  contentType: text({
    default: 'application/vnd.kubernetes.protobuf',
    flag: 'kube-api-content-type',
    effect: noneYet('protobuf and CBOR encoding of API requests'),
    doc: 'Media type of requests to the API server.',
  }),
  kubeAPIQPS: int32({
    default: 50,
    keepsZero: true,
    flag: 'kube-api-qps',
    min: 0,
    doc: 'Requests to the API server per second, except for events and heartbeats. 0 means 5, the default of client-go.',
  }),
  kubeAPIBurst: int32({
    default: 100,
    flag: 'kube-api-burst',
    min: 0,
    doc: 'Burst of requests to the API server above kubeAPIQPS.',
  }),
  serializeImagePulls: boolean({
    default: true,
    keepsZero: true,
    defaultNote: 'false if the same file sets maxParallelImagePulls to 2 or more',
    flag: 'serialize-image-pulls',
    doc: 'Pull one image at a time.',
  }),
  maxParallelImagePulls: optional(
    int32({
      min: 1,
      doc: 'Maximum number of parallel image pulls. Unset means no limit. Above 1, serializeImagePulls must be false.',
    }),
  ),
};
