// Volumes on a kubelet that has none: pods without any go on, a pod with one says which it waits for.
import type { PodVolumes } from '../api/pod-volumes.ts';
import { KubeletError } from '../base/errors.ts';

export const noVolumes: PodVolumes = {
  async mount(pod) {
    const names = (pod.spec?.volumes ?? []).map(({ name }) => name);
    if (names.length === 0) return;
    const message = `this kubelet cannot mount volumes: ${names.join(', ')}`;
    throw new KubeletError('invalid', 'FailedMount', message);
  },
  containerMounts: () => Promise.resolve({ mounts: [], devices: [] }),
  unmount: () => Promise.resolve(),
};
