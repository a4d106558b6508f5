// Flags that cAdvisor registers on the upstream kubelet's command line. They are parsed, checked and shown by /flagz.
// Upstream: addCadvisorFlags in cmd/kubelet/app/options/globalflags_linux.go.
import { noneHere, noneUpstream, noneYet } from '../effect.ts';
import { boolean, duration, int64, text } from '../schema.ts';

const deprecated =
  'This is a cadvisor flag that was mistakenly registered with the Kubelet. Due to legacy concerns, it will follow the standard CLI deprecation timeline before being removed.';
const noCadvisor = noneHere('this kubelet does not contain cAdvisor');
const unusedUpstream = noneUpstream('the kubelet does not use this part of cAdvisor');

export const cadvisorFlags = {
  housekeepingInterval: duration({
    default: '10s',
    flag: { name: 'housekeeping-interval', deprecated: false },
    effect: noneYet('configurable interval of collecting statistics'),
    doc: 'How often container statistics are collected.',
  }),
  applicationMetricsCountLimit: int64({
    default: 100,
    flag: { name: 'application-metrics-count-limit', deprecated },
    effect: unusedUpstream,
    doc: 'Maximum number of application metrics per container.',
  }),
  bootIdFile: text({
    default: '/proc/sys/kernel/random/boot_id',
    flag: { name: 'boot-id-file', deprecated },
    effect: noCadvisor,
    doc: 'Files that contain the boot ID.',
  }),
  containerHints: text({
    default: '/etc/cadvisor/container_hints.json',
    flag: { name: 'container-hints', deprecated },
    effect: noCadvisor,
    doc: 'Location of the container hints file.',
  }),
  containerd: text({
    default: '/run/containerd/containerd.sock',
    flag: { name: 'containerd', deprecated },
    effect: noCadvisor,
    doc: 'Address of containerd.',
  }),
  containerdNamespace: text({
    default: 'k8s.io',
    flag: { name: 'containerd-namespace', deprecated },
    effect: noCadvisor,
    doc: 'Namespace of containerd.',
  }),
  enableLoadReader: boolean({
    flag: { name: 'enable-load-reader', deprecated },
    effect: noCadvisor,
    doc: 'Enable the CPU load reader.',
  }),
  eventStorageAgeLimit: text({
    default: 'default=0',
    flag: { name: 'event-storage-age-limit', deprecated },
    effect: unusedUpstream,
    doc: 'How long cAdvisor keeps events, by type.',
  }),
  eventStorageEventLimit: text({
    default: 'default=0',
    flag: { name: 'event-storage-event-limit', deprecated },
    effect: unusedUpstream,
    doc: 'How many events cAdvisor keeps, by type.',
  }),
  globalHousekeepingInterval: duration({
    default: '1m',
    flag: { name: 'global-housekeeping-interval', deprecated },
    effect: noCadvisor,
    doc: 'Interval between global housekeepings.',
  }),
  logCadvisorUsage: boolean({
    flag: { name: 'log-cadvisor-usage', deprecated },
    effect: noCadvisor,
    doc: 'Log the resource usage of cAdvisor.',
  }),
  machineIdFile: text({
    default: '/etc/machine-id,/var/lib/dbus/machine-id',
    flag: { name: 'machine-id-file', deprecated },
    effect: noCadvisor,
    doc: 'Files that contain the machine ID.',
  }),
  storageDriverBufferDuration: duration({
    default: '1m',
    flag: { name: 'storage-driver-buffer-duration', deprecated },
    effect: unusedUpstream,
    doc: 'How long statistics are buffered before they are written to the storage driver.',
  }),
  storageDriverDb: text({
    default: 'cadvisor',
    flag: { name: 'storage-driver-db', deprecated },
    effect: unusedUpstream,
    doc: 'Database name of the storage driver.',
  }),
  storageDriverHost: text({
    default: 'localhost:8086',
    flag: { name: 'storage-driver-host', deprecated },
    effect: unusedUpstream,
    doc: 'Database host of the storage driver.',
  }),
  storageDriverPassword: text({
    default: 'root',
    flag: { name: 'storage-driver-password', deprecated },
    effect: unusedUpstream,
    doc: 'Database password of the storage driver.',
  }),
  storageDriverSecure: boolean({
    flag: { name: 'storage-driver-secure', deprecated },
    effect: unusedUpstream,
    doc: 'Use TLS for the connection to the database.',
  }),
  storageDriverTable: text({
    default: 'stats',
    flag: { name: 'storage-driver-table', deprecated },
    effect: unusedUpstream,
    doc: 'Table name of the storage driver.',
  }),
  storageDriverUser: text({
    default: 'root',
    flag: { name: 'storage-driver-user', deprecated },
    effect: unusedUpstream,
    doc: 'Database user of the storage driver.',
  }),
};
