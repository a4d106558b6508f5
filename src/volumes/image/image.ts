// image: the files of an image or artifact, mounted by the runtime itself. Upstream: pkg/volume/image.
// The kubelet only says which: there is no directory, nothing to unmount and nothing to remove.
import { plainPlugin, type VolumePlugin } from '../plugin.ts';

export const imagePlugin: VolumePlugin = {
  ...plainPlugin,
  name: 'kubernetes.io/image',
  canServe: ({ source }) => source.image !== undefined,
  setUp: ({ spec }) => {
    const { reference = '', pullPolicy = 'IfNotPresent' } = spec.source.image ?? {};
    return Promise.resolve({
      place: { kind: 'image', reference, pullPolicy },
      readOnly: true,
      managed: false,
    });
  },
};
