// The flags that are no fields of KubeletConfiguration. Upstream: cmd/kubelet/app/options (KubeletFlags and global flags).
import { noneYet } from '../effect.ts';
import { boolean, duration, type InferConfig, int32, stringMap, text } from '../schema.ts';
import { cadvisorFlags } from './cadvisor-flags.ts';

const goneWithEviction = 'Eviction thresholds (evictionHard, evictionSoft) replace it.';

export const kubeletFlags = {
  allowGetStreams: boolean({
    flag: { name: 'allow-get-streams', deprecated: false, own: true },
    doc: "Let GET requests run commands, attach and forward ports with the verb get on nodes/proxy, as upstream's kubelet does. Otherwise they need the verb create.",
  }),
  bootstrapKubeconfig: text({
    flag: { name: 'bootstrap-kubeconfig', deprecated: false },
    doc: 'Kubeconfig with which a client certificate is requested when --kubeconfig does not exist yet. The result is written to --kubeconfig, its key and certificate to --cert-dir.',
  }),
  certDir: text({
    default: '/var/lib/kubelet/pki',
    flag: { name: 'cert-dir', deprecated: false },
    doc: 'Directory of certificates that the kubelet obtains or makes.',
  }),
  cloudProvider: text({
    flag: { name: 'cloud-provider', deprecated: false },
    doc: 'external, when a cloud controller manager finishes the Node; empty when there is no cloud.',
  }),
  config: text({
    flag: { name: 'config', deprecated: false },
    doc: 'Configuration file (KubeletConfiguration, YAML or JSON). Flags on the command line win over it.',
  }),
  configDir: text({
    flag: { name: 'config-dir', deprecated: false },
    doc: 'Directory of drop-ins: every *.conf file in it, in lexical order, is merged over --config.',
  }),
  enableHeapSnapshots: boolean({
    flag: { name: 'enable-heap-snapshots', deprecated: false, own: true },
    doc: 'Serve heap snapshots of the kubelet at /debug/pprof/heap to clients with the verb create on nodes/proxy. A snapshot contains every secret that the kubelet holds, in plain text.',
  }),
  exitOnLockContention: boolean({
    flag: { name: 'exit-on-lock-contention', deprecated: false },
    doc: 'Exit when another process touches --lock-file.',
  }),
  experimentalAllocatableIgnoreEviction: boolean({
    flag: {
      name: 'experimental-allocatable-ignore-eviction',
      deprecated: 'It goes away without replacement.',
    },
    doc: 'Leave hard eviction thresholds out of the computation of allocatable.',
  }),
  experimentalMounterPath: text({
    flag: { name: 'experimental-mounter-path', deprecated: 'It goes away; CSI drivers replace it.' },
    effect: noneYet('mounting by an external program'),
    doc: 'Program to use instead of mount.',
  }),
  hostnameOverride: text({
    flag: { name: 'hostname-override', deprecated: false },
    doc: 'Name of the node, instead of the host name.',
  }),
  imageCredentialProviderBinDir: text({
    flag: { name: 'image-credential-provider-bin-dir', deprecated: false },
    doc: 'Directory of the credential provider programs.',
  }),
  imageCredentialProviderConfig: text({
    flag: { name: 'image-credential-provider-config', deprecated: false },
    doc: 'CredentialProviderConfig file, or a directory of them (.json, .yaml, .yml, in lexical order).',
  }),
  kubeconfig: text({
    flag: { name: 'kubeconfig', deprecated: false },
    doc: 'How to reach the API server. Without it the kubelet runs alone, on static pods.',
  }),
  lockFile: text({
    flag: { name: 'lock-file', deprecated: false },
    doc: 'File that only one kubelet at a time may hold.',
  }),
  maximumDeadContainers: int32({
    default: -1,
    flag: { name: 'maximum-dead-containers', deprecated: goneWithEviction },
    doc: 'How many dead containers are kept on the node in total. Negative is no limit.',
  }),
  maximumDeadContainersPerContainer: int32({
    default: 1,
    flag: { name: 'maximum-dead-containers-per-container', deprecated: goneWithEviction },
    doc: 'How many dead instances of each container are kept.',
  }),
  minimumContainerTTLDuration: duration({
    flag: { name: 'minimum-container-ttl-duration', deprecated: goneWithEviction },
    doc: 'A container dead for less than this is kept.',
  }),
  nodeIP: text({
    flag: { name: 'node-ip', deprecated: false },
    doc: 'IP address of the node, or two of different families separated by a comma. 0.0.0.0 or :: prefers that family.',
  }),
  nodeLabels: stringMap({
    flag: { name: 'node-labels', type: 'labels', deprecated: false },
    doc: 'Labels the Node gets when it is registered. In the kubernetes.io and k8s.io namespaces only the well-known node labels and those under kubelet.kubernetes.io and node.kubernetes.io are allowed.',
  }),
  podInfraContainerImage: text({
    flag: {
      name: 'pod-infra-container-image',
      deprecated: 'The container runtime is asked for its sandbox image.',
    },
    doc: 'Sandbox image that image collection leaves alone.',
  }),
  rootDir: text({
    default: '/var/lib/kubelet',
    flag: { name: 'root-dir', deprecated: false },
    doc: "Directory of the kubelet's own files: pods, volumes, plugins, checkpoints.",
  }),
  runtimeCgroups: text({
    flag: { name: 'runtime-cgroups', deprecated: false },
    doc: 'Absolute name of the cgroup the container runtime runs in.',
  }),
  seccompDefault: boolean({
    flag: { name: 'seccomp-default', shownType: 'RuntimeDefault', deprecated: false },
    doc: 'Run containers that ask for no seccomp profile under RuntimeDefault, whatever the file says.',
  }),
  version: text({
    flag: { name: 'version', type: 'version', deprecated: false },
    doc: 'Print the version and exit; =raw prints all that is known about the build.',
  }),
  help: boolean({
    flag: { name: 'help', short: 'h', deprecated: false },
    doc: 'Print this text and exit.',
  }),
  ...cadvisorFlags,
};

export type KubeletFlags = InferConfig<typeof kubeletFlags>;
