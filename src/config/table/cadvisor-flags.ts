// Flags that cAdvisor once put on the kubelet's command line. They are read and checked; the statistics here need only the first.
import { boolean, duration, int64, text } from '../schema.ts';

const deprecated = 'It belonged to cAdvisor and has no effect here.';

export const cadvisorFlags = {
  housekeepingInterval: duration({
    default: '10s',
    flag: { name: 'housekeeping-interval', deprecated: false },
    doc: 'How often the statistics of a container are taken.',
  }),
  applicationMetricsCountLimit: int64({
    default: 100,
    flag: { name: 'application-metrics-count-limit', deprecated },
    doc: 'Application metrics kept per container.',
  }),
  bootIdFile: text({
    default: '/proc/sys/kernel/random/boot_id',
    flag: { name: 'boot-id-file', deprecated },
    doc: 'Files to read the boot ID from.',
  }),
  containerHints: text({
    default: '/etc/cadvisor/container_hints.json',
    flag: { name: 'container-hints', deprecated },
    doc: 'File of container hints.',
  }),
  containerd: text({
    default: '/run/containerd/containerd.sock',
    flag: { name: 'containerd', deprecated },
    doc: 'Socket of containerd.',
  }),
  containerdNamespace: text({
    default: 'k8s.io',
    flag: { name: 'containerd-namespace', deprecated },
    doc: 'Namespace of pods in containerd.',
  }),
  enableLoadReader: boolean({
    flag: { name: 'enable-load-reader', deprecated },
    doc: 'Measure the CPU load of containers.',
  }),
  eventStorageAgeLimit: text({
    default: 'default=0',
    flag: { name: 'event-storage-age-limit', deprecated },
    doc: 'How long events are kept, by type.',
  }),
  eventStorageEventLimit: text({
    default: 'default=0',
    flag: { name: 'event-storage-event-limit', deprecated },
    doc: 'How many events are kept, by type.',
  }),
  globalHousekeepingInterval: duration({
    default: '1m',
    flag: { name: 'global-housekeeping-interval', deprecated },
    doc: 'How often new containers are looked for.',
  }),
  logCadvisorUsage: boolean({
    flag: { name: 'log-cadvisor-usage', deprecated },
    doc: 'Log what cAdvisor itself uses.',
  }),
  machineIdFile: text({
    default: '/etc/machine-id,/var/lib/dbus/machine-id',
    flag: { name: 'machine-id-file', deprecated },
    doc: 'Files to read the machine ID from.',
  }),
  storageDriverBufferDuration: duration({
    default: '1m',
    flag: { name: 'storage-driver-buffer-duration', deprecated },
    doc: 'How long statistics wait before they are written out.',
  }),
  storageDriverDb: text({
    default: 'cadvisor',
    flag: { name: 'storage-driver-db', deprecated },
    doc: 'Database for statistics.',
  }),
  storageDriverHost: text({
    default: 'localhost:8086',
    flag: { name: 'storage-driver-host', deprecated },
    doc: 'Database server for statistics.',
  }),
  storageDriverPassword: text({
    default: 'root',
    flag: { name: 'storage-driver-password', deprecated },
    doc: 'Password at the database.',
  }),
  storageDriverSecure: boolean({
    flag: { name: 'storage-driver-secure', deprecated },
    doc: 'Reach the database over TLS.',
  }),
  storageDriverTable: text({
    default: 'stats',
    flag: { name: 'storage-driver-table', deprecated },
    doc: 'Table for statistics.',
  }),
  storageDriverUser: text({
    default: 'root',
    flag: { name: 'storage-driver-user', deprecated },
    doc: 'User at the database.',
  }),
};
