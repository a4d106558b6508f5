// Settings of cgroups, resource managers, pods and the API client: kubeletCgroups … maxParallelImagePulls, in upstream's order.
import { missing, noneUpstream, noneYet, partly } from '../effect.ts';
import { boolean, choice, duration, int32, int64, optional, stringMap, text } from '../schema.ts';

export const resources = {
  kubeletCgroups: text({ flag: 'kubelet-cgroups', doc: 'Absolute name of the cgroup the kubelet runs in.' }),
  systemCgroups: text({
    flag: 'system-cgroups',
    doc: 'Absolute name of the cgroup for processes that are in none. Needs cgroupRoot; undone only by a reboot.',
  }),
  cgroupRoot: text({
    flag: 'cgroup-root',
    doc: "Cgroup under which pods live. Empty is the runtime's default.",
  }),
  cgroupsPerQOS: boolean({
    default: true,
    keepsZero: true,
    flag: 'cgroups-per-qos',
    doc: 'Keep a cgroup for each QoS class and put pods below it.',
  }),
  cgroupDriver: text({
    default: 'cgroupfs',
    flag: 'cgroup-driver',
    doc: "Who makes cgroups: systemd, or cgroupfs for the kubelet itself. The runtime's own answer wins where it gives one.",
  }),
  cpuManagerPolicy: choice(['none', 'static'], {
    default: 'none',
    flag: 'cpu-manager-policy',
    effect: partly('the kubelet refuses to start with static'),
    doc: 'static gives whole CPUs to Guaranteed pods that request whole CPUs.',
  }),
  singleProcessOOMKill: optional(
    boolean({
      defaultNote: 'false on cgroup v2, true on v1',
      doc: 'Let the kernel kill one process of a container that is out of memory, not all of them. On cgroup v1 only true is possible.',
    }),
  ),
  cpuManagerPolicyOptions: stringMap({
    flag: { name: 'cpu-manager-policy-options', type: 'pair' },
    effect: noneYet(missing.cpuManager),
    doc: 'Options that refine the CPU manager policy.',
  }),
  cpuManagerReconcilePeriod: duration({
    default: '10s',
    flag: 'cpu-manager-reconcile-period',
    effect: noneYet(missing.cpuManager),
    doc: 'How often the CPU sets of running containers are compared with what was assigned.',
  }),
  memoryManagerPolicy: choice(['None', 'Static'], {
    default: 'None',
    flag: 'memory-manager-policy',
    effect: partly('the kubelet refuses to start with Static'),
    doc: 'Static binds the memory of Guaranteed pods to as few NUMA nodes as possible.',
  }),
  topologyManagerPolicy: choice(['none', 'best-effort', 'restricted', 'single-numa-node'], {
    default: 'none',
    flag: 'topology-manager-policy',
    effect: noneYet(missing.topologyManager),
    doc: 'How strongly CPUs, memory and devices of a pod must sit on the same NUMA nodes.',
  }),
  topologyManagerScope: choice(['container', 'pod'], {
    default: 'container',
    flag: 'topology-manager-scope',
    effect: noneYet(missing.topologyManager),
    doc: 'Whether alignment is sought for each container or for the pod as a whole.',
  }),
  topologyManagerPolicyOptions: stringMap({
    flag: 'topology-manager-policy-options',
    effect: noneYet(missing.topologyManager),
    doc: 'Options that refine the topology manager policy.',
  }),
  qosReserved: stringMap({
    flag: 'qos-reserved',
    actsWith: 'QOSReserved',
    doc: 'Percent of a resource kept for the better QoS classes, such as memory=50%. Only memory is supported.',
  }),
  runtimeRequestTimeout: duration({
    default: '2m',
    flag: 'runtime-request-timeout',
    doc: 'Deadline of a call to the container runtime, except pulls, logs, exec and attach.',
  }),
  hairpinMode: choice(['promiscuous-bridge', 'hairpin-veth', 'none'], {
    default: 'promiscuous-bridge',
    flag: 'hairpin-mode',
    effect: noneUpstream('the CNI plugin decides'),
    doc: 'How a pod reaches itself through its own Service.',
  }),
  maxPods: int32({ default: 110, flag: 'max-pods', min: 0, doc: 'How many pods this node may run.' }),
  podCIDR: text({
    flag: 'pod-cidr',
    effect: noneYet('passing the pod CIDR to the container runtime'),
    doc: 'Range of pod addresses when the kubelet runs without an API server; otherwise the Node object has it.',
  }),
  podPidsLimit: int64({
    default: -1,
    keepsZero: true,
    flag: 'pod-max-pids',
    doc: 'How many processes a pod may have. Negative is what the node has to give.',
  }),
  resolvConf: text({
    default: '/etc/resolv.conf',
    keepsZero: true,
    path: true,
    flag: 'resolv-conf',
    doc: 'Resolver file that the DNS settings of pods start from. An empty string is none.',
  }),
  runOnce: boolean({
    flag: 'runonce',
    doc: 'Start the static pods, wait for them and exit. Not together with enableServer.',
  }),
  cpuCFSQuota: boolean({
    default: true,
    keepsZero: true,
    flag: 'cpu-cfs-quota',
    doc: 'Enforce CPU limits by CFS quota.',
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
    doc: 'How many images the node status lists. -1 is all, 0 none.',
  }),
  maxOpenFiles: int64({
    default: 1000000,
    flag: 'max-open-files',
    min: 0,
    doc: 'Limit of open files that the kubelet sets for itself.',
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
    doc: 'Requests to the API server per second, apart from events and heartbeats. 0 is the default.',
  }),
  kubeAPIBurst: int32({
    default: 100,
    flag: 'kube-api-burst',
    min: 0,
    doc: 'Requests to the API server that may go out at once before kubeAPIQPS holds them back.',
  }),
  serializeImagePulls: boolean({
    default: true,
    keepsZero: true,
    defaultNote: 'false where the same file sets maxParallelImagePulls to 2 or more',
    flag: 'serialize-image-pulls',
    doc: 'Pull one image at a time.',
  }),
  maxParallelImagePulls: optional(
    int32({
      min: 1,
      doc: 'How many images are pulled at once. Unset is no limit. Needs serializeImagePulls off when above 1.',
    }),
  ),
};
