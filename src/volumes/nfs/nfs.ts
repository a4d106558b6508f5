// nfs: a directory of a server, mounted by the machine's own mount command. Upstream: pkg/volume/nfs.
// Invariants: a server that does not answer holds up a process of its own, never a thread of ours; nothing of the server is
// ever removed: the directory of the mount is removed only when it is empty.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { plainPlugin, type VolumePlugin } from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';

interface NfsDeps {
  readonly host: VolumeHost;
  readonly clock: Clock;
}

const answerWithinMs = 2_000;

export function nfsPlugin({ host, clock }: NfsDeps): VolumePlugin {
  const isMounted = async (path: string): Promise<boolean> =>
    (await host.mountsBelow(path)).some((mount) => mount.path === path);
  return {
    ...plainPlugin,
    name: 'kubernetes.io/nfs',
    isRemote: true,
    canServe: ({ source }) => source.nfs !== undefined,
    async setUp({ spec, path }, signal) {
      const { server = '', path: exported = '' } = spec.source.nfs ?? {};
      const done = { place: { kind: 'path', path }, readOnly: spec.readOnly, managed: false } as const;
      if (await isMounted(path)) return done;
      await host.makeDirectory(path, 0o750);
      const options = [...new Set([...spec.mountOptions, ...(spec.readOnly ? ['ro'] : [])])];
      const request = { fsType: 'nfs', source: `${server}:${exported}`, target: path, options };
      try {
        await host.mountWithHelper(request, signal);
      } catch (err) {
        if (!(await isMounted(path))) await host.removeEmpty(path);
        throw err;
      }
      return done;
    },
    async tearDown({ path }, signal) {
      await host.unmountWithHelper(path, signal);
      await host.removeEmpty(path);
    },
    async stats(path, signal) {
      const answers = await withDeadline(
        { clock, ms: answerWithinMs, signal, what: `ask the server of ${path}` },
        async (soon) => await host.answers(path, soon),
      ).catch(() => false);
      return answers ? await mountedStats(host, path) : undefined;
    },
  };
}
