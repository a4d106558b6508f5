// What every number of the page means: the tooltips of labels and the list in the help dialog.

export const explanations = {
  ready: {
    title: 'Ready',
    text: 'The Ready condition that the kubelet reports. While it is false the scheduler places no pods on this node.',
  },
  nodeCpu: {
    title: 'CPU',
    text: 'Cores in use by everything on the node, since the sample before. The mark on the bar is what pods may request (allocatable).',
  },
  nodeMemory: {
    title: 'Memory',
    text: 'The working set: memory in use that the kernel cannot free at once. Page cache that is not in active use is not counted.',
  },
  disk: {
    title: 'Disk',
    text: 'Used bytes of a file system: nodefs holds the kubelet and its volumes, imagefs the images, containerfs the writable layers.',
  },
  inodes: {
    title: 'Inodes',
    text: 'Used file entries of the file system. Without free ones no file can be created, whatever the space.',
  },
  threshold: {
    title: 'Eviction threshold',
    text: 'A mark on a bar. When less than this is available, the kubelet evicts pods: at once for a hard threshold (solid), after a grace period for a soft one (dashed).',
  },
  pressure: {
    title: 'Pressure',
    text: 'Pressure conditions that are true. While there is one, the kubelet rejects new pods that are not critical.',
  },
  processes: {
    title: 'Processes',
    text: 'Processes and threads on the node, of the most that the kernel allows.',
  },
  pods: {
    title: 'Pods',
    text: 'Running pods, pods in all, and the most that the kubelet accepts (maxPods).',
  },
  runtime: {
    title: 'Runtime',
    text: 'The container runtime and whether it answers.',
  },
  certificates: {
    title: 'Certificates',
    text: 'Days until each certificate of the kubelet expires. Rotation usually replaces one well before.',
  },
  configuration: {
    title: 'Configuration',
    text: 'Whether the kubelet runs with the configuration on disk, and which changes wait for a restart.',
  },
  status: {
    title: 'Status',
    text: 'As the STATUS column of kubectl get pods.',
  },
  readyContainers: {
    title: 'Ready',
    text: 'Containers that pass their readiness probe, of all containers of the pod.',
  },
  restarts: {
    title: 'Restarts',
    text: 'How often containers of the pod were restarted, and how long ago the last time was.',
  },
  age: { title: 'Age', text: 'Time since the pod was created.' },
  source: {
    title: 'Source',
    text: 'Where the kubelet has the pod from: api (the API server), file or http (static pods).',
  },
  podCpu: {
    title: 'CPU',
    text: 'Thousandths of a core since the sample before, as kubectl top: 250m is a quarter of a core. The plot shows the last minute.',
  },
  podMemory: {
    title: 'Memory',
    text: 'The working set of all containers, which counts against their limits. The plot shows the last minute.',
  },
  why: {
    title: 'Why',
    text: 'The kubelet’s own account of the state of the pod, as GET /explain gives it.',
  },
  loopDelay: {
    title: 'Event-loop delay',
    text: 'How late the kubelet’s one thread runs what is due. Above 100 ms probes and answers are late.',
  },
  calls: {
    title: 'Calls in flight',
    text: 'Calls to other programs that have not been answered. One that is older than 10 s is probably hanging.',
  },
  loops: {
    title: 'Loops',
    text: 'The kubelet’s queues: keys (mostly pods) that run now, wait for a worker, or wait after a failure.',
  },
  heap: {
    title: 'Memory and heap',
    text: 'Resident memory of the kubelet, and the part of it that JavaScript objects use.',
  },
  openFiles: { title: 'Open files', text: 'File descriptors of the kubelet, with sockets.' },
  viewers: {
    title: 'Viewers',
    text: 'Open pages and commands that follow this node. Without any, nothing is sampled.',
  },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly text: string }>>;

export type Explained = keyof typeof explanations;
