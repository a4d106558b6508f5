// The Kubernetes release whose kubelet this one replaces. The next release changes it here.

export const kubernetesRelease = 'v1.37.0';

/** Without the patch number, as in the user agents of probes and hooks. */
export const kubernetesMinor = '1.37';
