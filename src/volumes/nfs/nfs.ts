// The nfs plugin: mounts an export by the node's mount command. Upstream: pkg/volume/nfs.
// Invariants: an unresponsive server blocks a separate process, never a thread of the kubelet; user data is never removed, and
// the mount point only when it is empty.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';
import { mountedStats } from '../stats/mounted-stats.ts';

interface NfsDeps {
  readonly host: VolumeHost;
  readonly clock: Clock;
}

/** Deadline for the server to respond before its file system is measured. */
const serverTimeoutMs = 2_000;

export function nfsPlugin({ host, clock }: NfsDeps): VolumePlugin {
  const isMounted = async (path: string): Promise<boolean> =>
    (await host.mountsBelow(path)).some((mount) => mount.path === path);
  return {
    ...pluginDefaults,
    name: 'kubernetes.io/nfs',
    supportsMountOptions: true,
    isRemote: true,
    canServe: ({ source }) => source.nfs !== undefined,
    async setUp({ spec, path }, signal) {
      const { server = '', path: exported = '' } = spec.source.nfs ?? {};
      const done = { location: { kind: 'path', path }, readOnly: spec.readOnly, managed: false } as const;
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
      const isResponsive = await withDeadline(
        { clock, ms: serverTimeoutMs, signal, what: `wait for the server of ${path}` },
        async (within) => await host.isResponsive(path, within),
      ).catch(() => false);
      return isResponsive ? await mountedStats(host, path) : undefined;
    },
  };
}
