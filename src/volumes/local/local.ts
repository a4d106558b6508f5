// local: a directory of this machine that a PersistentVolume names, bound into the pod's directory. Upstream: pkg/volume/local.
// Invariant: what is in it is never removed: the directory of the bind is removed only when it is empty.
import { KubeletError } from '../../base/errors.ts';
import { mountedStats } from '../mounted-stats.ts';
import { applyFsGroup, type OwnershipDeps } from '../ownership.ts';
import { plainPlugin, type VolumePlugin } from '../plugin.ts';

export interface LocalDeps extends OwnershipDeps {
  /** Whether another pod on this node has this persistent volume mounted. */
  readonly isMountedElsewhere: (persistentVolume: string, uid: string) => boolean;
}

export function localPlugin(deps: LocalDeps): VolumePlugin {
  const { host } = deps;
  return {
    ...plainPlugin,
    name: 'kubernetes.io/local-volume',
    // Its files may be given to a group, and there may be millions of them.
    deadlineMs: Number.POSITIVE_INFINITY,
    canServe: ({ source }) => source.local !== undefined,
    // The group of its files is set by the first pod that mounts it, so two must not do it at once.
    deviceKey: ({ source }) => source.local?.path,
    async setUp(request, signal) {
      const { pod, spec, path } = request;
      const source = spec.source.local?.path ?? '';
      const done = { place: { kind: 'path', path }, readOnly: spec.readOnly, managed: true } as const;
      const isMine = !spec.readOnly && !deps.isMountedElsewhere(spec.directoryName, pod.metadata?.uid ?? '');
      if ((await host.mountsBelow(path)).some((mount) => mount.path === path)) {
        // The root of the walk comes last: as long as it does not fit, a walk that was cut off is to be finished.
        if (isMine) await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch: true }, signal);
        return done;
      }
      if (!source.startsWith('/') || source.split('/').includes('..'))
        throw new KubeletError('invalid', 'FailedMount', `invalid path: ${source}`);
      if ((await host.kindOf(source)) !== 'directory')
        throw new KubeletError('invalid', 'FailedMount', `local volume path "${source}" is not a directory`);
      await host.makeDirectory(path, 0o750);
      try {
        await host.bind(source, path, { readOnly: spec.readOnly });
      } catch (err) {
        await host.removeEmpty(path);
        throw err;
      }
      const { onlyOnRootMismatch } = request.owner;
      if (isMine) await applyFsGroup(deps, request, { readOnly: false, onlyOnRootMismatch }, signal);
      return done;
    },
    async tearDown({ path }) {
      await host.unmount(path);
      await host.removeEmpty(path);
    },
    stats: async (path) => await mountedStats(host, path),
  };
}
