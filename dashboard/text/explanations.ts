// What every number of the page means: the tooltips of labels and the list in the help dialog.

interface Explanation {
  readonly about: 'Node' | 'Pods' | 'Kubelet';
  readonly title: string;
  readonly text: string;
}

export const explanations = {
  ready: {
    about: 'Node',
    title: 'Ready',
    text: 'The Ready condition that the kubelet reports. While it is false the scheduler places no pods on this node.',
  },
  nodeCpu: {
    about: 'Node',
    title: 'CPU',
    text: 'Cores in use by everything on the node, since the sample before.',
  },
  nodeMemory: {
    about: 'Node',
    title: 'Memory',
    text: 'The working set: memory in use that the kernel cannot free at once. Page cache that is not in active use is not counted.',
  },
  disk: {
    about: 'Node',
    title: 'Disk',
    text: 'Used bytes of a file system: nodefs holds the kubelet and its volumes, imagefs the images, containerfs the writable layers.',
  },
  inodes: {
    about: 'Node',
    title: 'Inodes',
    text: 'Used file entries of the file system. Without free ones no file can be created, whatever the space.',
  },
  threshold: {
    about: 'Node',
    title: 'Eviction threshold',
    text: 'A mark on a bar. When less than this is available, the kubelet evicts pods: at once for a hard threshold (solid), after a grace period for a soft one (dashed).',
  },
  pressure: {
    about: 'Node',
    title: 'Pressure',
    text: 'Pressure conditions that are true. While there is one, the kubelet rejects new pods that are not critical.',
  },
  processes: {
    about: 'Node',
    title: 'Processes',
    text: 'Processes and threads on the node, of the most that the kernel allows.',
  },
  pods: {
    about: 'Node',
    title: 'Pods',
    text: 'Running pods, pods in all, and the most that the kubelet accepts (maxPods).',
  },
  runtime: {
    about: 'Node',
    title: 'Runtime',
    text: 'The container runtime and whether it answers.',
  },
  certificates: {
    about: 'Node',
    title: 'Certificates',
    text: 'Days until each certificate of the kubelet expires. Rotation usually replaces one well before.',
  },
  configuration: {
    about: 'Node',
    title: 'Configuration',
    text: 'Whether the kubelet runs with the configuration on disk, and which changes wait for a restart.',
  },
  status: {
    about: 'Pods',
    title: 'Status',
    text: 'As the STATUS column of kubectl get pods.',
  },
  readyContainers: {
    about: 'Pods',
    title: 'Ready',
    text: 'Containers that pass their readiness probe, of all containers of the pod.',
  },
  restarts: {
    about: 'Pods',
    title: 'Restarts',
    text: 'How often containers of the pod were restarted, and how long ago the last time was.',
  },
  age: { about: 'Pods', title: 'Age', text: 'Time since the pod was created.' },
  source: {
    about: 'Pods',
    title: 'Source',
    text: 'Where the kubelet has the pod from: api (the API server), file or http (static pods).',
  },
  podCpu: {
    about: 'Pods',
    title: 'CPU',
    text: 'Thousandths of a core since the sample before, as kubectl top: 250m is a quarter of a core. The plot shows the last minute.',
  },
  podMemory: {
    about: 'Pods',
    title: 'Memory',
    text: 'The working set of all containers, which counts against their limits. The plot shows the last minute.',
  },
  why: {
    about: 'Pods',
    title: 'Why',
    text: 'The kubelet’s own account of the state of the pod, as GET /explain gives it.',
  },
  loopDelay: {
    about: 'Kubelet',
    title: 'Event-loop delay',
    text: 'How late the kubelet’s one thread runs what is due. Above 100 ms probes and answers are late.',
  },
  calls: {
    about: 'Kubelet',
    title: 'Calls in flight',
    text: 'Calls to other programs that have not been answered. One that is older than 10 s is probably hanging.',
  },
  loops: {
    about: 'Kubelet',
    title: 'Loops',
    text: 'The kubelet’s queues: keys (mostly pods) that run now, wait for a worker, or wait after a failure.',
  },
  heap: {
    about: 'Kubelet',
    title: 'Memory and heap',
    text: 'Resident memory of the kubelet, and the part of it that JavaScript objects use.',
  },
  openFiles: {
    about: 'Kubelet',
    title: 'Open files',
    text: 'File descriptors of the kubelet, with sockets.',
  },
  viewers: {
    about: 'Kubelet',
    title: 'Viewers',
    text: 'Open pages and commands that follow this node. Without any, nothing is sampled.',
  },
} as const satisfies Readonly<Record<string, Explanation>>;

export type Explained = keyof typeof explanations;
