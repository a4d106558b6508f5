// The fields containerLogMaxSize to kernelMemcgNotification, in upstream's order: container logs, reserved resources, sysctls.
import { noneYet } from '../effect.ts';
import { boolean, choice, duration, int32, stringMap, strings, text } from '../schema.ts';

export const reserved = {
  containerLogMaxSize: text({
    default: '10Mi',
    flag: 'container-log-max-size',
    doc: 'Size at which a container log is rotated. Negative disables rotation.',
  }),
  containerLogMaxFiles: int32({
    default: 5,
    keepsZero: true,
    flag: 'container-log-max-files',
    min: 2,
    doc: 'Maximum number of log files of a container, including the current one.',
  }),
  containerLogMaxWorkers: int32({
    default: 1,
    keepsZero: true,
    min: 1,
    doc: 'How many logs are rotated in parallel.',
  }),
  containerLogMonitorInterval: duration({
    default: '10s',
    keepsZero: true,
    atLeast: '3s',
    doc: 'How often the sizes of container logs are checked.',
  }),
  configMapAndSecretChangeDetectionStrategy: choice(['Watch', 'Cache', 'Get'], {
    default: 'Watch',
    doc: 'How changes of ConfigMaps and Secrets are detected: Watch watches them, Cache reads them through a cache with a TTL, Get reads them each time.',
  }),
  systemReserved: stringMap({
    flag: 'system-reserved',
    doc: 'Resources reserved for system processes outside Kubernetes: cpu, memory, ephemeral-storage, pid.',
  }),
  kubeReserved: stringMap({
    flag: 'kube-reserved',
    doc: 'Resources reserved for Kubernetes components: cpu, memory, ephemeral-storage, pid.',
  }),
  reservedSystemCPUs: text({
    flag: 'reserved-cpus',
    doc: 'CPUs reserved for the system and Kubernetes, such as 0-1,4. Overrides the cpu of systemReserved and kubeReserved; cannot be combined with their cgroups.',
  }),
  showHiddenMetricsForVersion: text({
    effect: noneYet('hiding of metrics by version'),
    doc: 'Show the metrics that were hidden since the previous minor version. Only that version is allowed.',
  }),
  systemReservedCgroup: text({
    flag: 'system-reserved-cgroup',
    doc: 'Absolute name of the cgroup in which systemReserved is enforced.',
  }),
  kubeReservedCgroup: text({
    flag: 'kube-reserved-cgroup',
    doc: 'Absolute name of the cgroup in which kubeReserved is enforced.',
  }),
  enforceNodeAllocatable: strings({
    default: ['pods'],
    flag: {
      name: 'enforce-node-allocatable',
      completes: [
        'none',
        'pods',
        'system-reserved',
        'kube-reserved',
        'system-reserved-compressible',
        'kube-reserved-compressible',
      ],
    },
    doc: 'What is limited to its share: pods, system-reserved, kube-reserved, or the latter two with -compressible (CPU only); or none alone. The reserved ones need their cgroup, all need cgroupsPerQOS.',
  }),
  allowedUnsafeSysctls: strings({
    flag: 'allowed-unsafe-sysctls',
    doc: 'Unsafe sysctls that pods may set. A trailing * matches any suffix.',
  }),
  defaultPodSysctls: stringMap({
    gate: 'DefaultPodSysctls',
    effect: noneYet('default sysctls of pods'),
    doc: 'Sysctls of every pod that does not set them itself.',
  }),
  volumePluginDir: text({
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    path: true,
    flag: { name: 'volume-plugin-dir', completes: 'directory' },
    doc: 'Directory of FlexVolume drivers.',
  }),
  providerID: text({
    flag: { name: 'provider-id', deprecated: false },
    doc: "ID of this machine at its cloud provider, written to the Node's spec.",
  }),
  kernelMemcgNotification: boolean({
    flag: 'kernel-memcg-notification',
    doc: 'Use kernel notifications of memory thresholds, in addition to polling.',
  }),
};
