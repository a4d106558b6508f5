// The gitRepo plugin, which upstream has disabled for good: containers could run programs of the node through it.
// Upstream: pkg/volume/git_repo, and the gate GitRepoVolumeDriver, which is locked.
import { KubeletError } from '../../base/errors.ts';
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';

export const gitRepoPlugin: VolumePlugin = {
  ...pluginDefaults,
  name: 'kubernetes.io/git-repo',
  canServe: ({ source }) => source.gitRepo !== undefined,
  setUp: () =>
    Promise.reject(
      new KubeletError(
        'invalid',
        'FailedMount',
        'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`',
      ),
    ),
};
