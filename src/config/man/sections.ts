// The sections of the manual page that no table has. Data only.

export const description: readonly string[] = [
  'The kubelet is the node agent of Kubernetes. It watches the API server (--kubeconfig), a directory of manifests (staticPodPath) and a URL (staticPodURL) for the pods of this node, runs them with a container runtime that implements the Container Runtime Interface (CRI) v1, and reports their status. It does not manage containers that Kubernetes did not create.',
  'Without --kubeconfig it runs in standalone mode, with static pods only.',
  'Most settings belong in a configuration file (--config), a KubeletConfiguration of kubelet.config.k8s.io/v1beta1, with optional drop-ins (--config-dir). The flags for them are deprecated; they still work and take precedence over the files.',
];

export const files: readonly (readonly [path: string, text: string])[] = [
  ['/var/lib/kubelet', 'The root directory (--root-dir): pods, volumes, plugins and checkpoints.'],
  ['/var/lib/kubelet/pki', 'The certificates that the kubelet obtains or creates (--cert-dir).'],
  [
    '/var/lib/kubelet/device-plugins',
    'The sockets of device plugins and their checkpoint (--device-plugin-dir).',
  ],
  ['/var/log/pods', 'The logs of containers (podLogsDir).'],
  ['/var/log/containers', 'Symbolic links to the logs of containers, for log collectors.'],
];

export const exitStatus: readonly (readonly [status: string, text: string])[] = [
  [
    '0',
    'The kubelet was stopped by a signal, --runonce ended with every pod run, or the command did what it was called for.',
  ],
  ['1', 'A setting is invalid, the node does not meet a requirement, or the kubelet or the command failed.'],
  ['2', 'A command was called with arguments that it does not have.'],
];

export const signals: readonly (readonly [names: string, text: string])[] = [
  [
    'SIGTERM, SIGINT',
    'Stop the kubelet. Containers keep running, and the next start of the kubelet takes them over.',
  ],
  ['SIGUSR1', 'Ignored. It does not open the debugger of Node.js.'],
];

export const seeAlso: readonly (readonly [page: string, section: string])[] = [
  ['containerd', '8'],
  ['crictl', '1'],
  ['journalctl', '1'],
  ['kubectl', '1'],
  ['systemctl', '1'],
];
