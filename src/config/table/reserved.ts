// Settings of container logs and reserved resources: containerLogMaxSize … kernelMemcgNotification, in upstream's order.
import { missing, noneYet } from '../effect.ts';
import { boolean, choice, duration, int32, stringMap, strings, text } from '../schema.ts';

export const reserved = {
  containerLogMaxSize: text({
    default: '10Mi',
    flag: 'container-log-max-size',
    effect: noneYet(missing.logRotation),
    doc: 'Size at which a container log is rotated. Negative switches rotation off.',
  }),
  containerLogMaxFiles: int32({
    default: 5,
    keepsZero: true,
    flag: 'container-log-max-files',
    min: 2,
    effect: noneYet(missing.logRotation),
    doc: 'How many log files a container may have, the current one included.',
  }),
  containerLogMaxWorkers: int32({
    default: 1,
    keepsZero: true,
    min: 1,
    effect: noneYet(missing.logRotation),
    doc: 'How many logs are rotated at the same time.',
  }),
  containerLogMonitorInterval: duration({
    default: '10s',
    keepsZero: true,
    atLeast: '3s',
    effect: noneYet(missing.logRotation),
    doc: 'How often the sizes of container logs are looked at.',
  }),
  configMapAndSecretChangeDetectionStrategy: choice(['Watch', 'Cache', 'Get'], {
    default: 'Watch',
    doc: 'How changes of ConfigMaps and Secrets are found: Watch by watches, Cache by a cache with a lifetime, Get by asking each time.',
  }),
  systemReserved: stringMap({
    flag: 'system-reserved',
    doc: 'Resources kept for the system outside Kubernetes: cpu, memory, ephemeral-storage, pid.',
  }),
  kubeReserved: stringMap({
    flag: 'kube-reserved',
    doc: 'Resources kept for Kubernetes itself: cpu, memory, ephemeral-storage, pid.',
  }),
  reservedSystemCPUs: text({
    flag: 'reserved-cpus',
    doc: 'CPUs kept for system and Kubernetes, such as 0-1,4. Overrides the cpu of systemReserved and kubeReserved; not together with their cgroups.',
  }),
  showHiddenMetricsForVersion: text({
    effect: noneYet('hiding of metrics by version'),
    doc: 'Also show the metrics that the previous minor version hid. Only that version may be named.',
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
    flag: 'enforce-node-allocatable',
    doc: 'What is held to its share: pods, system-reserved, kube-reserved, or their -compressible forms (CPU only); or none alone. The reserved ones need their cgroup, all need cgroupsPerQOS.',
  }),
  allowedUnsafeSysctls: strings({
    flag: 'allowed-unsafe-sysctls',
    doc: 'Unsafe sysctls that pods may set, a trailing * matching the rest.',
  }),
  volumePluginDir: text({
    default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/',
    path: true,
    flag: 'volume-plugin-dir',
    effect: noneYet('FlexVolume'),
    doc: 'Directory of FlexVolume drivers.',
  }),
  providerID: text({
    flag: { name: 'provider-id', deprecated: false },
    doc: "Identity of this machine with its cloud provider, written to the Node's spec.",
  }),
  kernelMemcgNotification: boolean({
    flag: 'kernel-memcg-notification',
    effect: noneYet(missing.eviction),
    doc: 'Learn from the kernel at once when memory crosses a threshold, beside the periodic look.',
  }),
};
