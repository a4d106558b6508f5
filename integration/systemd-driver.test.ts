// With cgroupDriver systemd the slices of pods are systemd units, requested over a real D-Bus daemon from a fake
// systemd, since the machine's own must not be touched. The cgroups of the slices are real; the containers run beside
// them, since the runtime's own driver is not systemd here.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeSystemd } from '../test/fakes/fake-systemd.ts';
import { cgroupFolders, removeCgroups } from './rig/cgroups.ts';
import { fixedCgroupDriverReason } from './rig/installed-containerd.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { rigUnavailableReason } from './rig/prerequisites.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { busUnavailableReason, DbusDaemon } from './support/dbus-daemon.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, uidOf } from './support/pod-state.ts';
import { TestPods } from './support/test-pods.ts';

const why = rigUnavailableReason() ?? busUnavailableReason() ?? fixedCgroupDriverReason();

describe.skipIf(why !== undefined)(
  `slices of systemd${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const bus = new DbusDaemon();
    const systemd = new FakeSystemd();
    let leave: () => void = () => undefined;
    let rig: Rig;
    let kubelet: Kubelet;
    const own = new TestPods(() => kubelet);
    /** The rig's name as a slice, without dashes, which would be another level. */
    let top: string;

    beforeAll(async () => {
      await bus.start();
      leave = await systemd.join(bus.address);
      rig = await startRig();
      top = rig.workspace.name.replaceAll('-', '_');
      kubelet = await rig.kubelet({
        config: { cgroupDriver: 'systemd', podPidsLimit: 200 },
        env: { DBUS_SYSTEM_BUS_ADDRESS: bus.address },
      });
    });
    afterEach(() => own.removeAll());
    afterAll(async () => {
      await rig.stop();
      removeCgroups(`/${top}.slice`);
      leave();
      await bus.close();
    });

    /** The cgroup path in the OCI spec of a container. */
    async function cgroupsPathOf(containerId: string): Promise<string | undefined> {
      const { info } = await rig.cri.containerStatus({ containerId, verbose: true });
      const seen = JSON.parse(info['info'] ?? '{}') as {
        readonly runtimeSpec?: { readonly linux?: { readonly cgroupsPath?: string } };
      };
      return seen.runtimeSpec?.linux?.cgroupsPath;
    }

    test('all pods and the classes are slices below the cgroup root', () => {
      const kubepods = `${top}-kubepods.slice`;
      expect(systemd.units.get(kubepods)).toMatchObject({
        Wants: [`${top}.slice`],
        DefaultDependencies: false,
      });
      for (const name of ['burstable', 'besteffort'])
        expect(systemd.units.get(`${top}-kubepods-${name}.slice`)).toMatchObject({ Wants: [kubepods] });
    });

    test('a pod is a slice with its limits that its container names, and the slice is removed with the pod', async () => {
      const amounts = { cpu: '250m', memory: '32Mi' };
      const resources = { requests: { cpu: '100m' }, limits: amounts };
      const pod = await own.start(
        'one',
        manifest('one', { containers: [container('main', undefined, { resources })] }),
      );
      const unit = `${top}-kubepods-burstable-pod${uidOf(pod).replaceAll('-', '_')}.slice`;
      const kernel = await KernelCgroups.find();
      expect(systemd.units.get(unit)).toMatchObject({
        Wants: [`${top}-kubepods-burstable.slice`],
        CPUQuotaPerSecUSec: 250_000n,
        TasksMax: 200n,
        ...(kernel.version === 2
          ? { CPUWeight: 4n, MemoryMax: 33_554_432n }
          : { CPUShares: 102n, MemoryLimit: 33_554_432n }),
      });
      const path = `/${top}.slice/${top}-kubepods.slice/${top}-kubepods-burstable.slice/${unit}`;
      const id = containerIdOf(pod);
      // The form for runtimes that create a systemd scope per container: slice, prefix, name.
      expect(await cgroupsPathOf(id)).toBe(`${unit}:cri-containerd:${id}`);
      expect(kernel.amount(path, 'cpu.cfs_quota_us')).toBe('25000');
      own.remove('one');
      await waitFor(() => !systemd.units.has(unit), 'the unit to be stopped');
      await waitFor(() => cgroupFolders(path).length === 0, 'its cgroups to be removed');
    });

    test('reconnects to a restarted bus', async () => {
      leave();
      await bus.stop();
      await bus.start();
      leave = await systemd.join(bus.address);
      const before = systemd.units.size;
      own.write('two', manifest('two', { containers: [container('main')] }));
      await waitFor(() => systemd.units.size > before, 'the slice of another pod');
      expect([...systemd.units.keys()].at(-1)).toMatch(`${top}-kubepods-besteffort-pod`);
    });
  },
);
