// The image plugin: names an image or artifact that the container runtime mounts itself. Upstream: pkg/volume/image.
// The kubelet creates no directory, so there is nothing to unmount or remove.
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';

export const imagePlugin: VolumePlugin = {
  ...pluginDefaults,
  name: 'kubernetes.io/image',
  canServe: ({ source }) => source.image !== undefined,
  setUp: () => Promise.resolve({ location: { kind: 'image' }, readOnly: true, managed: false }),
};
