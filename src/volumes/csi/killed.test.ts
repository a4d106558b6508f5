// Kills the kubelet at every call to the host and to the driver, before and after its effect, and lets another process continue.
import { describe, expect, test } from 'vitest';
import { aCsiRequest, aCsiSpec, CsiRig, csiLayout, csiOnDisk } from '../../../test/builders/csi-rig.ts';
import type { CsiDriverClient } from '../../api/ports/csi.ts';
import { silentLogger } from '../../base/log/log.ts';
import { setUpDevice, tearDownDevice } from '../devices/device-steps.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';

const { signal } = new AbortController();
const key = 'kubernetes.io/csi/d.csi^h';

interface Kill {
  /** The call at which the process dies. */
  readonly at: number;
  /** Whether the call has its effect. */
  readonly isDone: boolean;
}

/** Counts the calls of all its wrappers; from the fatal one on, nothing has an effect. */
class MortalProcess {
  calls = 0;
  readonly #kill: Kill;

  constructor(kill: Kill) {
    this.#kill = kill;
  }

  wrap<T extends object>(object: T): T {
    return new Proxy(object, {
      get: (from, name) => {
        const member: unknown = Reflect.get(from, name, from);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]) =>
          this.#call(() => Reflect.apply(member, from, args) as unknown);
      },
    });
  }

  async #call(effect: () => unknown): Promise<unknown> {
    this.calls += 1;
    const { at, isDone } = this.#kill;
    if (this.calls < at) return await effect();
    if (this.calls === at && isDone) await effect();
    throw new Error('killed');
  }
}

const steps = (spec: VolumeSpec) => {
  const deps = (rig: CsiRig) => ({ host: rig.host, layout: csiLayout });
  return {
    setUp: async (rig: CsiRig, plugin: VolumePlugin, host = rig.host): Promise<unknown> =>
      spec.isBlock
        ? await setUpDevice({ ...deps(rig), host }, plugin, aCsiRequest(spec), signal)
        : await plugin.setUp(aCsiRequest(spec), signal),
    tearDown: async (rig: CsiRig, plugin: VolumePlugin, host = rig.host): Promise<void> => {
      const volume = csiOnDisk(spec);
      if (!spec.isBlock) await plugin.tearDown(volume, signal);
      else {
        const unlinked = (await plugin.block?.findUnlinked?.(volume.uid)) ?? [];
        const isLinked = rig.host.links.has(volume.path);
        if (isLinked || unlinked.length > 0)
          await tearDownDevice({ ...deps(rig), host }, plugin, volume, signal);
      }
    },
    release: async (plugin: VolumePlugin): Promise<void> => {
      for (const each of (await plugin.nodeDevices?.list()) ?? [])
        await plugin.nodeDevices?.release(each, signal);
    },
  };
};

/** A plugin whose every call to the host and the driver may be its last. */
function mortalPlugin(rig: CsiRig, kill: Kill) {
  const life = new MortalProcess(kill);
  const host = life.wrap(rig.host);
  const wrapped = new Map<CsiDriverClient, CsiDriverClient>();
  const get = (name: string): CsiDriverClient | undefined => {
    const client = rig.drivers.get(name);
    if (client === undefined) return undefined;
    const mortal = wrapped.get(client) ?? life.wrap(client);
    wrapped.set(client, mortal);
    return mortal;
  };
  const { changed } = rig.drivers;
  const refreshAllocatable = (): Promise<void> => Promise.resolve();
  const drivers = { get, names: () => rig.drivers.names(), changed, refreshAllocatable };
  const events = { pod: () => undefined, node: () => undefined };
  const plugin = rig.plugin({ drivers, ownership: { host, events, clock: rig.clock, log: silentLogger } });
  return { plugin, host, life };
}

const specs = [
  ['a mounted volume', aCsiSpec(), { stage: true }],
  ['a mounted volume that is not staged', aCsiSpec(), {}],
  ['a block volume', aCsiSpec({ pv: { volumeMode: 'Block' } }), { stage: true }],
  ['a block volume that is not staged', aCsiSpec({ pv: { volumeMode: 'Block' } }), {}],
] as const;
/** More than any sequence has. */
const mostCalls = 80;

for (const [name, spec, capabilities] of specs)
  describe(name, () => {
    const { release, setUp, tearDown } = steps(spec);
    const kills = [false, true].flatMap((isDone) =>
      Array.from({ length: mostCalls }, (_, index) => ({ at: index + 1, isDone })),
    );
    /** Runs a sequence that is killed. False when it ended before. */
    const runs = async (
      kill: Kill,
      work: (mortal: ReturnType<typeof mortalPlugin>) => Promise<unknown>,
      rig: CsiRig,
    ) => {
      const mortal = mortalPlugin(rig, kill);
      return await work(mortal).then(
        () => false,
        () => true,
      );
    };

    test('killed at any call of a set-up: the next process tears it down and leaves nothing', async () => {
      let killed = 0;
      for (const kill of kills) {
        const rig = new CsiRig(capabilities);
        if (!(await runs(kill, ({ host, plugin }) => setUp(rig, plugin, host), rig))) continue;
        killed += 1;
        const next = rig.plugin();
        await tearDown(rig, next);
        await release(next);
        expect([
          kill,
          rig.remains(),
          [...rig.driver.published.keys()],
          [...rig.driver.staged.keys()],
        ]).toEqual([kill, [], [], []]);
      }
      expect(killed).toBeGreaterThan(8);
    });

    test('killed at any call of a set-up: the next process completes it, and removes it in the end', async () => {
      for (const kill of kills) {
        const rig = new CsiRig(capabilities);
        if (!(await runs(kill, ({ host, plugin }) => setUp(rig, plugin, host), rig))) continue;
        const next = rig.plugin();
        await setUp(rig, next);
        expect([kill, rig.driver.published.size]).toEqual([kill, 1]);
        expect(rig.host.mounts.length).toBe(new Set(rig.host.mounts.map(({ path }) => path)).size);
        expect(await next.nodeDevices?.keyOf(csiOnDisk(spec))).toBe(key);
        await tearDown(rig, next);
        await next.nodeDevices?.release(key, signal);
        expect([kill, rig.remains(), rig.driver.staged.size]).toEqual([kill, [], 0]);
      }
    });

    test('killed at any call of a tear-down or release: the next process finishes it', async () => {
      let killed = 0;
      for (const kill of kills) {
        const rig = new CsiRig(capabilities);
        await setUp(rig, rig.plugin());
        const work = async ({ host, plugin }: ReturnType<typeof mortalPlugin>): Promise<void> => {
          await tearDown(rig, plugin, host);
          await plugin.nodeDevices?.release(key, signal);
        };
        if (!(await runs(kill, work, rig))) continue;
        killed += 1;
        const next = rig.plugin();
        await tearDown(rig, next);
        await release(next);
        expect([kill, rig.remains(), rig.driver.published.size, rig.driver.staged.size]).toEqual([
          kill,
          [],
          0,
          0,
        ]);
      }
      expect(killed).toBeGreaterThan(8);
    });

    test('killed at any call of a tear-down: the next pod of the volume can be set up', async () => {
      for (const kill of kills) {
        const rig = new CsiRig(capabilities);
        await setUp(rig, rig.plugin());
        if (!(await runs(kill, ({ host, plugin }) => tearDown(rig, plugin, host), rig))) continue;
        const next = rig.plugin();
        await setUp(rig, next);
        expect([kill, rig.driver.published.size]).toEqual([kill, 1]);
      }
    });
  });
