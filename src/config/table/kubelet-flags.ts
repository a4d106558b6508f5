// The flags that are not fields of KubeletConfiguration. Upstream: cmd/kubelet/app/options (KubeletFlags and global flags).
import { noneYet } from '../effect.ts';
import {
  boolean,
  choice,
  duration,
  type InferConfig,
  int32,
  quantity,
  stringMap,
  strings,
  text,
} from '../schema.ts';

const useEviction = 'Use evictionHard or evictionSoft instead.';

export const kubeletFlags = {
  allowGetStreams: boolean({
    flag: { name: 'allow-get-streams', deprecated: false, own: true },
    doc: "Allow exec, attach and port-forward by GET requests with the verb get on nodes/proxy, as upstream's kubelet does. Otherwise they need the verb create.",
  }),
  autoReserve: boolean({
    flag: { name: 'auto-reserve', deprecated: false, own: true },
    doc: "Reserve CPU, memory, ephemeral storage and processes for the system according to the machine's size, each unless kubeReserved or systemReserved sets it. The kubelet logs the amounts when it starts.",
  }),
  autonomy: choice(['Off', 'WithoutSecrets', 'WithSecrets'], {
    default: 'Off',
    flag: { name: 'autonomy', deprecated: false, own: true },
    doc: 'Keep the pods of the API server and the objects that they use below --root-dir, so that a node that restarts while the API server cannot be reached runs them again. WithoutSecrets: pods that need a Secret or a token wait for the API server. WithSecrets: those are kept as well, encrypted with a key of this machine. Off: nothing is kept, and what was kept is removed.',
  }),
  bootstrapKubeconfig: text({
    flag: { name: 'bootstrap-kubeconfig', deprecated: false, completes: 'file' },
    doc: 'Kubeconfig for requesting the client certificate if --kubeconfig does not exist. The kubelet writes the resulting kubeconfig to --kubeconfig, and key and certificate to --cert-dir.',
  }),
  certDir: text({
    default: '/var/lib/kubelet/pki',
    flag: { name: 'cert-dir', deprecated: false, completes: 'directory' },
    doc: 'Directory of the certificates that the kubelet obtains or creates.',
  }),
  cloudProvider: text({
    flag: { name: 'cloud-provider', deprecated: false, completes: ['external'] },
    doc: 'external if a cloud controller manager initializes the Node; empty without a cloud provider.',
  }),
  config: text({
    flag: { name: 'config', deprecated: false, completes: 'file' },
    doc: 'Configuration file (KubeletConfiguration, YAML or JSON). Flags take precedence.',
  }),
  configDir: text({
    flag: { name: 'config-dir', deprecated: false, completes: 'directory' },
    doc: 'Directory of drop-ins: every *.conf file in it is merged over --config, in lexical order.',
  }),
  dashboardAddress: text({
    default: '127.0.0.1',
    flag: { name: 'dashboard-address', type: 'ip', deprecated: false, own: true },
    doc: "IP address of --dashboard-port. On a loopback address the page is served without TLS, reading needs no credentials, and acting needs the token of dashboard-token in the root directory. On any other address the port is secured as that of the kubelet's API, which needs authentication and authorization.",
  }),
  dashboardPort: int32({
    flag: { name: 'dashboard-port', formerName: 'cadvisor-port', deprecated: false, own: true },
    min: 0,
    max: 65_535,
    doc: "Port of the node's page, for browsers; 0 disables it. The page is also served at /ui/ of the kubelet's API.",
  }),
  devicePluginDir: text({
    default: '/var/lib/kubelet/device-plugins',
    flag: { name: 'device-plugin-dir', deprecated: false, own: true, completes: 'directory' },
    doc: 'Directory of the sockets of device plugins and of their checkpoint. Device plugins expect the default, whatever --root-dir is.',
  }),
  devicePluginWait: duration({
    default: '2m',
    flag: { name: 'device-plugin-wait', deprecated: false, own: true },
    doc: 'How long a pod waits for the plugin of its devices to register after a restart of the kubelet or of the node, before it is rejected. 0 rejects it at once, as upstream does.',
  }),
  enableHeapSnapshots: boolean({
    flag: { name: 'enable-heap-snapshots', deprecated: false, own: true },
    doc: 'Serve heap snapshots of the kubelet at /debug/pprof/heap to clients with the verb create on nodes/proxy. A snapshot contains every secret that the kubelet holds, in plain text.',
  }),
  evictionMemorySource: choice(['WorkingSet', 'MemAvailable'], {
    default: 'WorkingSet',
    flag: { name: 'eviction-memory-source', deprecated: false, own: true },
    doc: "What memory.available measures. WorkingSet, as upstream: the memory outside the working set, which includes page cache in active use. MemAvailable: the kernel's estimate of what can be allocated without swapping, so that page cache alone evicts no pod.",
  }),
  exitOnLockContention: boolean({
    flag: { name: 'exit-on-lock-contention', deprecated: false },
    doc: 'Exit if another process opens, moves or deletes --lock-file.',
  }),
  experimentalAllocatableIgnoreEviction: boolean({
    flag: {
      name: 'experimental-allocatable-ignore-eviction',
      deprecated: 'It will be removed without replacement.',
    },
    doc: 'Ignore hard eviction thresholds in the computation of allocatable.',
  }),
  experimentalMounterPath: text({
    flag: {
      name: 'experimental-mounter-path',
      deprecated: 'It will be removed; use CSI drivers instead.',
      completes: 'file',
    },
    effect: noneYet('mounting by an external program'),
    doc: 'Path of a program to use instead of mount.',
  }),
  historyLogLines: int32({
    default: 20,
    flag: { name: 'history-log-lines', deprecated: false, own: true },
    min: 0,
    max: 100,
    doc: 'How many of the last log lines of an ended container are kept in the history of /explain/history. 0 keeps none.',
  }),
  historyMaxSize: quantity({
    default: '64Mi',
    flag: { name: 'history-max-size', deprecated: false, own: true },
    doc: 'Size limit of the history of ended containers and pods in the root directory: 0, or at least 1Mi. 0 records nothing and disables /explain/history.',
  }),
  hostnameOverride: text({
    flag: { name: 'hostname-override', deprecated: false },
    doc: 'Node name to use instead of the host name.',
  }),
  housekeepingInterval: duration({
    default: '10s',
    flag: { name: 'housekeeping-interval', deprecated: false },
    effect: noneYet('configurable interval of collecting statistics'),
    doc: 'How often container statistics are collected.',
  }),
  imageCredentialProviderBinDir: text({
    flag: { name: 'image-credential-provider-bin-dir', deprecated: false, completes: 'directory' },
    doc: 'Directory of the credential provider plugins.',
  }),
  imageCredentialProviderConfig: text({
    flag: { name: 'image-credential-provider-config', deprecated: false, completes: 'file' },
    doc: 'CredentialProviderConfig file, or a directory of them (.json, .yaml, .yml, in lexical order).',
  }),
  imageGcKeep: strings({
    flag: { name: 'image-gc-keep', deprecated: false, own: true },
    doc: 'Images that garbage collection never removes: a name (without tag and digest it stands for all of the repository), an ID, or a prefix of names that ends in *.',
  }),
  kubeconfig: text({
    flag: { name: 'kubeconfig', deprecated: false, completes: 'file' },
    doc: 'Kubeconfig of the API server. Without it the kubelet runs in standalone mode, with static pods only.',
  }),
  liveConfig: choice(['Off', 'Apply', 'Restart'], {
    default: 'Off',
    flag: { name: 'live-config', deprecated: false, own: true },
    doc: 'What a change of the files of --config and --config-dir does while the kubelet runs. Off: nothing until the next start. Apply: changes that need no restart take effect, the others are reported as pending. Restart: the kubelet also restarts itself within the process for a change that needs it; containers are not affected. A new configuration is on trial, and the kubelet falls back to the last known good one.',
  }),
  liveConfigWatchPeriod: duration({
    default: '2m',
    flag: { name: 'live-config-watch-period', deprecated: false, own: true },
    doc: 'How long a new configuration is on trial with --live-config. A kubelet that is unhealthy in this time falls back to the last known good configuration.',
  }),
  lockFile: text({
    flag: { name: 'lock-file', deprecated: false, completes: 'file' },
    doc: 'File that the kubelet locks, so that only one kubelet runs at a time.',
  }),
  maximumDeadContainers: int32({
    default: -1,
    flag: { name: 'maximum-dead-containers', deprecated: useEviction },
    doc: 'Maximum number of dead containers on the node. Negative means no limit.',
  }),
  maximumDeadContainersPerContainer: int32({
    default: 1,
    flag: { name: 'maximum-dead-containers-per-container', deprecated: useEviction },
    doc: 'Maximum number of dead instances of each container.',
  }),
  minimumContainerTTLDuration: duration({
    flag: { name: 'minimum-container-ttl-duration', deprecated: useEviction },
    doc: 'Minimum age of a dead container before it is garbage-collected.',
  }),
  nodeIP: text({
    flag: { name: 'node-ip', deprecated: false },
    doc: 'IP address of the node, or two of different families separated by a comma. 0.0.0.0 or :: selects that family.',
  }),
  nodeLabels: stringMap({
    flag: { name: 'node-labels', type: 'labels', deprecated: false },
    doc: 'Labels of the Node when it is registered. In the kubernetes.io and k8s.io namespaces only the well-known node labels and those under kubelet.kubernetes.io and node.kubernetes.io are allowed.',
  }),
  readyRequiresCsiDrivers: strings({
    flag: { name: 'ready-requires-csi-drivers', deprecated: false, own: true },
    doc: 'CSI drivers that must have registered before the node is reported Ready for the first time since it booted; the message of the condition names those that are missing. After that neither the loss of a driver nor a restart of the kubelet makes the node NotReady.',
  }),
  readyRequiresDevicePlugins: strings({
    flag: { name: 'ready-requires-device-plugins', deprecated: false, own: true },
    doc: 'Resources of device plugins, such as example.com/gpu, that must have registered before the node is reported Ready for the first time since it booted, as --ready-requires-csi-drivers.',
  }),
  rootDir: text({
    default: '/var/lib/kubelet',
    flag: { name: 'root-dir', deprecated: false, completes: 'directory' },
    doc: "Directory of the kubelet's own files: pods, volumes, plugins, checkpoints.",
  }),
  runtimeCgroups: text({
    flag: { name: 'runtime-cgroups', deprecated: false },
    doc: 'Absolute name of the cgroup that the container runtime runs in.',
  }),
  seccompDefault: boolean({
    flag: { name: 'seccomp-default', shownType: 'RuntimeDefault', deprecated: false },
    doc: 'Run containers without a seccomp profile under RuntimeDefault. Takes precedence over the field of the same name.',
  }),
  version: text({
    flag: { name: 'version', type: 'version', deprecated: false },
    doc: 'Print the version and exit; --version=raw prints all build information.',
  }),
  help: boolean({
    flag: { name: 'help', short: 'h', deprecated: false },
    doc: 'Print this text and exit.',
  }),
};

export type KubeletFlags = InferConfig<typeof kubeletFlags>;
