import { beforeEach, describe, expect, test } from 'vitest';
import { aPod } from '../../../test/builders/builders.ts';
import { aSetUpRequest, noOwner } from '../../../test/builders/volume-requests.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { type FakeCommands, FakeFlexDrivers } from '../../../test/fakes/fake-flex-drivers.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import type { FlexVolumeSource, Secret } from '../../api/k8s/types.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { SetUpRequest, VolumePlugin } from '../plugin.ts';
import { FlexDrivers } from './drivers.ts';
import { flexVolumePlugin } from './flex-volume.ts';

const name = 'vendor/driver';
const signal = new AbortController().signal;
const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const path = '/root/pods/uid-p/volumes/vendor~driver/v';
const device = '/root/plugins/kubernetes.io/flexvolume/vendor/driver/mounts/v';
const volume = { uid: 'uid-p', directoryName: 'v', path };
const ok = { status: 'Success' };
const failure = { status: 'Failure', message: 'broken' };
const plain = { init: { ...ok, capabilities: { attach: false } } };

describe('flexVolumePlugin', () => {
  let files: FakeFlexDrivers;
  let host: FakeVolumeHost;
  let drivers: FlexDrivers;
  let plugin: VolumePlugin;
  let secrets: Map<string, Secret>;
  let attach: { isByKubelet: boolean; nodeName: string };

  /** A call-out that mounts something on its first argument. */
  const mounting = (): object & ((args: readonly string[]) => object) => {
    return ([target = '']: readonly string[]) => {
      host.mounts.push({ path: target, fsType: 'fuse', options: target });
      return ok;
    };
  };
  const unmounting = ([target = '']: readonly string[]): object => {
    host.mounts.splice(0, host.mounts.length, ...host.mounts.filter((each) => each.path !== target));
    return ok;
  };
  const install = async (commands: FakeCommands, driver = name): Promise<void> => {
    files.install(driver, commands);
    await drivers.use(driver, signal);
    files.calls.length = 0;
  };
  const request = (
    over: Parameters<typeof aSetUpRequest>[2] & { readonly source?: Partial<FlexVolumeSource> } = {},
  ): SetUpRequest => {
    const flexVolume = { driver: name, ...over.source };
    const given = aSetUpRequest('x', { flexVolume }, over);
    return { ...given, path: given.path.replace('kubernetes.io~x', flexVolume.driver.replaceAll('/', '~')) };
  };
  const setUp = async (given: SetUpRequest = request()): Promise<string> =>
    await plugin.setUp(given, signal).then(
      ({ managed, readOnly }) => `${readOnly ? 'ro' : 'rw'} ${managed ? 'managed' : 'unmanaged'}`,
      (err: unknown) => describeError(err),
    );
  const failureOf = async (work: Promise<unknown>): Promise<string> =>
    await work.then(
      () => 'done',
      (err: unknown) => describeError(err),
    );
  const mountedPaths = (): readonly string[] => host.mounts.map((mount) => mount.path);

  beforeEach(() => {
    files = new FakeFlexDrivers();
    host = new FakeVolumeHost(layout.podsDir);
    secrets = new Map();
    attach = { isByKubelet: false, nodeName: 'node1' };
    const common = { programs: files.programs, clock: new FakeClock(), log: silentLogger };
    drivers = new FlexDrivers({ directory: '/exec', files, ...common });
    plugin = flexVolumePlugin({
      host,
      layout,
      drivers,
      attach,
      events: { pod: () => undefined, node: () => undefined },
      secrets: {
        volumeSecret: (namespace, secret) => {
          const found = secrets.get(`${namespace}/${secret}`);
          if (found !== undefined) return Promise.resolve(found);
          return Promise.reject(new KubeletError('not-found', 'NotFound', `secrets "${secret}" not found`));
        },
      },
      ...common,
    });
  });

  describe('a driver that attaches nothing', () => {
    test('mounts with the options of the pod, and once only', async () => {
      await install({ ...plain, mount: mounting(), unmount: unmounting });
      const pod = aPod({ serviceAccountName: 'sa' });
      expect(await setUp(request({ pod, source: { fsType: 'xfs', options: { share: 'a' } } }))).toBe(
        'rw managed',
      );
      expect(await setUp(request({ pod }))).toBe('rw managed');
      expect(files.calls).toEqual([`mount ${path} {}`]);
      expect(files.programs.runs.at(-1)?.args[2]).toBe(
        '{"kubernetes.io/fsType":"xfs","kubernetes.io/pod.name":"p","kubernetes.io/pod.namespace":"default","kubernetes.io/pod.uid":"uid-p","kubernetes.io/pvOrVolumeName":"v","kubernetes.io/readwrite":"rw","kubernetes.io/serviceAccount.name":"sa","share":"a"}',
      );
      expect(plugin.deviceKey(request().spec)).toBeUndefined();
      expect(plugin.attachName(request().spec)).toBeUndefined();
    });

    test('is unmounted by the driver, which may remove the directory', async () => {
      await install({ ...plain, mount: mounting(), unmount: unmounting });
      await setUp();
      await plugin.tearDown(volume, signal);
      expect(files.calls).toEqual([`mount ${path} {}`, `unmount ${path}`]);
      expect(host.entries.has(path)).toBe(false);
      await plugin.tearDown(volume, signal);
      expect(files.calls).toHaveLength(2);
    });

    test('is unmounted by the kubelet if the driver does not support it', async () => {
      await install({ ...plain, mount: mounting() });
      await setUp();
      await plugin.tearDown(volume, signal);
      expect(mountedPaths()).toEqual([]);
      expect(host.entries.has(path)).toBe(false);
    });

    test('a mount that the driver only pretends to have removed is reported', async () => {
      await install({ ...plain, mount: mounting(), unmount: ok });
      await setUp();
      expect(await failureOf(plugin.tearDown(volume, signal))).toBe(`${path} is still mounted after unmount`);
      expect(mountedPaths()).toEqual([path]);
    });

    test('a failed mount leaves no directory', async () => {
      await install({ ...plain, mount: failure });
      expect(await setUp()).toBe('mount command failed, status: Failure, reason: broken');
      expect(host.entries.has(path)).toBe(false);
    });

    test('a mount that failed halfway is undone and repeated', async () => {
      let fails = true;
      const mount = (args: readonly string[]): object => {
        mounting()(args);
        return fails ? failure : ok;
      };
      await install({ ...plain, mount, unmount: unmounting });
      expect(await setUp()).toBe('mount command failed, status: Failure, reason: broken');
      fails = false;
      expect(await setUp()).toBe('rw managed');
      expect(files.calls).toEqual([`mount ${path} {}`, `unmount ${path}`, `mount ${path} {}`]);
      expect(mountedPaths()).toEqual([path]);
    });

    test('a mount of an earlier kubelet process is adopted without a call', async () => {
      await install(plain);
      host.mounts.push({ path, fsType: 'fuse', options: 'x' });
      expect(await setUp()).toBe('rw managed');
      expect(files.calls).toEqual([]);
    });

    test('is refused if the driver does not support mount: there is nothing to bind', async () => {
      await install(plain);
      expect(await setUp()).toBe(
        `FlexVolume driver vendor/driver does not support mount, and nothing is mounted on ${device}`,
      );
      expect(mountedPaths()).toEqual([]);
    });

    test('a command that is not supported is called once per executable', async () => {
      await install(plain);
      await setUp();
      await setUp();
      expect(files.calls).toEqual([`mount ${path} {}`]);
      files.install(name, { ...plain, mount: mounting() });
      expect(await setUp()).toBe('rw managed');
    });
  });

  describe('a driver that attaches', () => {
    const attaching = (): FakeCommands => ({
      waitforattach: ([given = '']: readonly string[]) => ({
        ...ok,
        device: given === '' ? '/dev/sdx' : given,
      }),
      mountdevice: mounting(),
      unmountdevice: unmounting,
      expandfs: ok,
    });

    test('mounts the device once for all pods and binds it into each', async () => {
      await install(attaching());
      expect(await setUp()).toBe('rw managed');
      const other = request({ pod: aPod({ name: 'q' }) });
      expect(await setUp(other)).toBe('rw managed');
      expect(files.calls).toEqual([
        'getvolumename {}',
        'waitforattach  {}',
        `mountdevice ${device} /dev/sdx {}`,
        `mount ${path} {}`,
        'waitforattach  {}',
      ]);
      expect(host.mounts.map((mount) => [mount.path, mount.options])).toEqual([
        [device, device],
        [path, device],
        [other.path, device],
      ]);
      expect(files.programs.runs.find(({ args }) => args[0] === 'waitforattach')?.timeoutMs).toBe(600_000);
      expect(plugin.attachName(request().spec)).toBe('vendor/driver/v');
      expect(plugin.deviceKey(request().spec)).toBe('vendor/driver/v');
    });

    test('gets the device path of the controller', async () => {
      await install(attaching());
      await setUp({ ...request(), devicePath: '/dev/vdb' });
      expect(files.calls.slice(1, 3)).toEqual([
        'waitforattach /dev/vdb {}',
        `mountdevice ${device} /dev/vdb {}`,
      ]);
    });

    const defaults: readonly (readonly [string, FakeCommands, string, readonly string[]])[] = [
      [
        'mounts the file system of the device without mountdevice',
        { waitforattach: { ...ok, device: '/dev/sdx' } },
        'rw managed',
        [`${device} /dev/sdx`, `${path} ${device}`],
      ],
      [
        'refuses a device that is not a path without mountdevice',
        { waitforattach: { ...ok, device: 'foo' } },
        'FlexVolume driver vendor/driver does not support mountdevice, and its device "foo" is not a path',
        [],
      ],
      [
        'mounts no device if there is none, and leaves the rest to mount',
        { mount: () => mounting()([path]) },
        'rw managed',
        [`${path} ${path}`],
      ],
      [
        'refuses a driver that mounts nothing at all',
        {},
        `FlexVolume driver vendor/driver does not support mount, and nothing is mounted on ${device}`,
        [],
      ],
      [
        'names the call that failed',
        { getvolumename: failure },
        'GetVolumeName failed from getDeviceMountPath: getvolumename command failed, status: Failure, reason: broken',
        [],
      ],
      [
        'reports a failed attachment',
        { waitforattach: failure },
        'waitforattach command failed, status: Failure, reason: broken',
        [],
      ],
      [
        'reports a failed mount of the device',
        { mountdevice: failure },
        'mountdevice command failed, status: Failure, reason: broken',
        [],
      ],
    ];
    for (const [title, commands, want, mounts] of defaults)
      test(title, async () => {
        await install(commands);
        expect(await setUp()).toBe(want);
        expect(host.mounts.map((mount) => `${mount.path} ${mount.options}`)).toEqual(mounts);
      });

    test('names the step of a failure for the event', async () => {
      await install({ waitforattach: failure });
      await expect(plugin.setUp(request(), signal)).rejects.toMatchObject({
        details: { step: 'WaitForAttach' },
      });
      await install({ mountdevice: failure });
      await expect(plugin.setUp(request(), signal)).rejects.toMatchObject({
        details: { step: 'MountDevice' },
      });
    });

    test('a device mount that failed halfway is undone and repeated', async () => {
      let fails = true;
      const mountdevice = (args: readonly string[]): object => {
        mounting()(args);
        return fails ? failure : ok;
      };
      await install({ ...attaching(), mountdevice });
      await setUp();
      fails = false;
      files.calls.length = 0;
      expect(await setUp()).toBe('rw managed');
      expect(files.calls.slice(1)).toEqual([
        `unmountdevice ${device}`,
        `mountdevice ${device} /dev/sdx {}`,
        `mount ${path} {}`,
      ]);
    });

    test('refuses another pod’s volume of the same name with other options', async () => {
      await install(attaching());
      await setUp(request({ source: { options: { share: 'a' } } }));
      const pod = aPod({ name: 'q' });
      expect(await setUp(request({ pod, source: { options: { share: 'b' } } }))).toBe(
        'another pod of this node has a volume "v" of FlexVolume driver vendor/driver mounted, with other options',
      );
      expect(await setUp(request({ pod, source: { options: { share: 'a' }, readOnly: true } }))).toBe(
        'ro unmanaged',
      );
    });

    test('releases the device by the driver, only when nothing else refers to it', async () => {
      await install(attaching());
      await setUp();
      await plugin.tearDown(volume, signal);
      const devices = plugin.nodeDevices;
      expect(await devices?.list()).toEqual(['vendor/driver/v']);
      host.mounts.push({ path: '/mnt/admin', fsType: 'fuse', options: device });
      expect(await failureOf(devices?.release('vendor/driver/v', signal) ?? Promise.resolve())).toBe(
        `GetDeviceMountRefs check failed for volume "v" : the device mount path "${device}" is still mounted by other references [/mnt/admin]`,
      );
      host.mounts.pop();
      await devices?.release('vendor/driver/v', signal);
      expect(files.calls.at(-1)).toBe(`unmountdevice ${device}`);
      expect(await devices?.list()).toEqual([]);
      expect(mountedPaths()).toEqual([]);
    });

    test('unmounts the device itself if the driver does not support it', async () => {
      await install({ mountdevice: mounting() });
      await setUp();
      await plugin.tearDown(volume, signal);
      await plugin.nodeDevices?.release('vendor/driver/v', signal);
      expect(mountedPaths()).toEqual([]);
    });

    test('finds devices and their volumes on disk, without touching the mounts', async () => {
      for (const each of [
        'vendor/driver/mounts/a',
        'vendor/driver/mounts/mounts',
        'plain/mounts/b',
        'x/y/z/mounts/c',
      ])
        await host.makeDirectory(`/root/plugins/kubernetes.io/flexvolume/${each}`);
      host.calls.length = 0;
      const keys = ['vendor/driver/a', 'vendor/driver/mounts', 'plain/b', 'x/y/z/c'];
      expect((await plugin.nodeDevices?.list())?.toSorted()).toEqual(keys.toSorted());
      const found = { ...volume, directoryName: 'a', path: path.replace(/v$/, 'a') };
      expect(await plugin.nodeDevices?.keyOf(found)).toBe('vendor/driver/a');
      expect(await plugin.nodeDevices?.keyOf(volume)).toBeUndefined();
      expect(host.calls.filter((call) => !call.startsWith('listDirectories'))).toEqual([]);
      expect(plugin.nodeDevices?.attachName?.('vendor/driver/a')).toBe('vendor/driver/a');
    });

    test('is attached and detached by the kubelet if the controller does not', async () => {
      attach.isByKubelet = true;
      await install({ ...attaching(), attach: { ...ok, device: '/dev/sdy' }, detach: ok });
      await setUp();
      await setUp(request({ pod: aPod({ name: 'q' }) }));
      await plugin.tearDown(volume, signal);
      await plugin.tearDown({ ...volume, uid: 'uid-q', path: path.replace('uid-p', 'uid-q') }, signal);
      await plugin.nodeDevices?.release('vendor/driver/v', signal);
      expect(files.calls.filter((call) => /^(?:attach|waitforattach|detach)/.test(call))).toEqual([
        'attach {} node1',
        'waitforattach /dev/sdy {}',
        'waitforattach /dev/sdy {}',
        'detach v node1',
      ]);
    });

    test('a driver replaced by one that attaches is called with the lock of the device only', async () => {
      await install(plain);
      files.install(name, attaching());
      expect(await setUp()).toBe('FlexVolume driver vendor/driver was replaced');
      expect(await setUp()).toBe('rw managed');
    });
  });

  describe('a driver that was removed', () => {
    const removed = 'driver not found: no FlexVolume driver vendor/driver in /exec';

    test('a bind mount of its device is unmounted without it, the device waits for it', async () => {
      await install({ mountdevice: mounting(), unmount: ok });
      await setUp();
      files.remove(name);
      await plugin.tearDown(volume, signal);
      expect(mountedPaths()).toEqual([device]);
      const release = plugin.nodeDevices?.release('vendor/driver/v', signal) ?? Promise.resolve();
      expect(await failureOf(release)).toBe(
        `${device} stays mounted until FlexVolume driver vendor/driver can be called: ${removed}`,
      );
      files.install(name, { unmountdevice: unmounting });
      await plugin.nodeDevices?.release('vendor/driver/v', signal);
      expect(mountedPaths()).toEqual([]);
    });

    test('a mount of its own stays until it can be called', async () => {
      await install({ ...plain, mount: mounting(), unmount: unmounting });
      await setUp();
      files.remove(name);
      expect(await failureOf(plugin.tearDown(volume, signal))).toBe(
        `${path} stays mounted until FlexVolume driver vendor/driver can be called: ${removed}`,
      );
      expect(mountedPaths()).toEqual([path]);
      files.install(name, { ...plain, unmount: unmounting });
      await plugin.tearDown(volume, signal);
      expect(mountedPaths()).toEqual([]);
    });

    test('a mount is unmounted without it if it is known not to unmount', async () => {
      await install({ ...plain, mount: mounting() });
      await setUp();
      await setUp(request({ pod: aPod({ name: 'q' }) }));
      await plugin.tearDown({ ...volume, uid: 'uid-q', path: path.replace('uid-p', 'uid-q') }, signal);
      files.remove(name);
      await plugin.tearDown(volume, signal);
      expect(mountedPaths()).toEqual([]);
    });

    test('an empty directory is removed without it', async () => {
      await host.makeDirectory(path);
      await plugin.tearDown(volume, signal);
      expect(host.entries.has(path)).toBe(false);
    });

    test('its volumes are still found, but not directories of other plugins', async () => {
      const served = (directory: string): boolean => plugin.servesDirectory?.(directory) === true;
      expect(['vendor~driver', 'driver', 'a~b~c'].map(served)).toEqual([true, true, true]);
      expect(['kubernetes.io~csi', 'kubernetes.io~glusterfs', 'kubernetes.io~lvm', '.x'].map(served)).toEqual(
        [false, false, false, false],
      );
      await install({}, 'kubernetes.io/lvm');
      files.remove('kubernetes.io/lvm');
      expect(served('kubernetes.io~lvm')).toBe(true);
      expect(plugin.directoryOf?.(request().spec)).toBe('vendor~driver');
    });
  });

  describe('capabilities', () => {
    const owner = { ...noOwner, fsGroup: 7 };
    const cases: readonly (readonly [string, object, Partial<FlexVolumeSource>, string, number])[] = [
      ['fsGroup is applied and passed on', {}, {}, 'rw managed', 1],
      ['fsGroup is left to the driver', { fsGroup: false }, {}, 'rw managed', 0],
      ['a read-only volume keeps its group', {}, { readOnly: true }, 'ro unmanaged', 0],
      ['files are not relabelled', { selinuxRelabel: false }, {}, 'rw unmanaged', 1],
    ];
    for (const [title, capabilities, source, want, walks] of cases)
      test(title, async () => {
        const init = { ...ok, capabilities: { attach: false, ...capabilities } };
        await install({ init, mount: mounting() });
        expect(await setUp(request({ owner, source }))).toBe(want);
        expect(host.owned.map(({ fsGroup }) => fsGroup)).toEqual(Array(walks).fill(7));
        const options = JSON.parse(files.programs.runs.at(-1)?.args[2] ?? '') as Record<string, string>;
        expect(options['kubernetes.io/mounterArgs.FsGroup']).toBe('7');
        expect(options['kubernetes.io/readwrite']).toBe(want.slice(0, 2));
        // Completed walks are not repeated by this process.
        await setUp(request({ owner, source }));
        expect(host.owned).toHaveLength(walks);
      });

    test('an interrupted walk of an earlier process is completed if the root differs', async () => {
      await install(plain);
      host.mounts.push({ path, fsType: 'fuse', options: 'x' });
      await setUp(request({ owner }));
      expect(host.owned).toMatchObject([{ path, fsGroup: 7, onlyOnRootMismatch: true }]);
    });

    test('usage is measured if the driver supports it and its server responds', async () => {
      await install(plain);
      expect(await plugin.stats(path, signal)).toBeUndefined();
      await install({ init: { ...ok, capabilities: { attach: false, supportsMetrics: true } } });
      expect(await plugin.stats(path, signal)).toMatchObject({ capacityBytes: 1_000 });
      host.injectFault('isResponsive', () => Promise.reject(new Error('hangs')));
      expect(await plugin.stats(path, signal)).toBeUndefined();
    });
  });

  describe('secrets', () => {
    const source = { secretRef: { name: 's' } };
    const put = (namespace: string, type: string): void => {
      secrets.set(`${namespace}/s`, { type, data: { password: Buffer.from('hunter2').toString('base64') } });
    };

    test('reach the driver in base64, and no error, whatever it prints', async () => {
      put('default', name);
      for (const answer of [
        { status: 'Failure', message: 'login with hunter2 or aHVudGVyMg== failed' },
        { status: 'hunter2' },
        'hunter2',
        '{"status":"Success","device":{"password":"hunter2"}}',
        `${'x'.repeat(70_000)} hunter2`,
      ]) {
        await install({ ...plain, mount: answer });
        const text = await setUp(request({ source }));
        expect(text).toContain('mount command failed');
        expect(text).not.toMatch(/hunter2|aHVudGVyMg/);
      }
      const run = files.programs.runs.at(-1);
      expect(run?.args[2]).toContain('"kubernetes.io/secret/password":"aHVudGVyMg=="');
      expect(run?.sensitive).toEqual(expect.arrayContaining(['hunter2', 'aHVudGVyMg==', run?.args[2] ?? '']));
    });

    test('of a persistent volume are in the namespace that it names', async () => {
      put('storage', name);
      await install({ ...plain, mount: mounting() });
      const flexVolume = { driver: name, secretRef: { name: 's', namespace: 'storage' } };
      expect(await setUp(request({ spec: { persistent: { spec: { flexVolume } } } }))).toBe('rw managed');
    });

    const refused: readonly (readonly [string, string | undefined, string])[] = [
      ['that do not exist', undefined, `couldn't get secret default/s err: secrets "s" not found`],
      ['of another type', 'Opaque', `couldn't get secret default/s err: cannot get secret of type ${name}`],
    ];
    for (const [title, type, want] of refused)
      test(`${title} fail the mount before the driver is called`, async () => {
        if (type !== undefined) put('default', type);
        await install({ ...plain, mount: mounting() });
        expect(await setUp(request({ source }))).toBe(want);
        expect(files.calls).toEqual([]);
        expect(host.entries.has(path)).toBe(false);
      });
  });

  describe('hostile drivers', () => {
    const answers: readonly (readonly [string, string, string])[] = [
      ['nothing', '', 'the answer is malformed: it is empty'],
      ['text', 'hello', 'the answer is malformed: it is not JSON'],
      ['10 MB', 'x'.repeat(10_000_000), 'the answer has more than 65536 bytes'],
      ['a prototype', '{"__proto__":{"status":"Success"}}', ', status: , reason:'],
      [
        'a long message',
        JSON.stringify({ status: 'Failure', message: 'm'.repeat(60_000) }),
        ', status: Failure, reason: m',
      ],
    ];
    for (const [title, answer, want] of answers)
      test(`${title} is a failed call with a short error`, async () => {
        await install({ ...plain, mount: answer });
        const text = await setUp();
        expect(text).toContain(want);
        expect(text.length).toBeLessThan(2_200);
      });

    test('success with another exit code is a failure, and stderr is read only if stdout is empty', async () => {
      await install(plain);
      const program = (result: object) => () => result;
      const run = `/exec/vendor~driver/driver`;
      files.programs.programs.set(run, program({ code: 3, stdout: JSON.stringify(ok) }));
      expect(await setUp()).toBe(
        'mount command failed: the driver reported Success, but ended with exit status 3',
      );
      files.programs.programs.set(
        run,
        program({ code: 1, stdout: JSON.stringify(failure), stderr: 'warning' }),
      );
      expect(await setUp()).toBe('mount command failed, status: Failure, reason: broken');
      files.programs.programs.set(run, program({ stdout: JSON.stringify(ok), stderr: 'warning' }));
      expect(await setUp()).toBe('rw managed');
      files.programs.programs.set(run, program({ code: undefined, stderr: JSON.stringify(ok) }));
      expect(await failureOf(plugin.tearDown(volume, signal))).toBe(
        'unmount command failed: the driver reported Success, but ended with a signal',
      );
    });
  });

  describe('expansion', () => {
    const expand = async (over: object = {}): Promise<string> => {
      const { pod, spec } = request({
        spec: {
          persistent: { spec: { flexVolume: { driver: name, fsType: 'ext4' } } },
          claim: { status: { capacity: { storage: '1Gi' } } },
          ...over,
        },
      });
      const work = plugin.expansion?.expand({ pod, spec, path, sizeBytes: 2n ** 31n }, signal);
      return await (work ?? Promise.resolve(0n)).then(String, (err: unknown) =>
        err instanceof KubeletError ? `${String(err.details['expansion'])}: ${err.message}` : 'other',
      );
    };
    const device2 = { waitforattach: { ...ok, device: '/dev/sdx' } };
    const cases: readonly (readonly [string, FakeCommands, string, readonly string[]])[] = [
      [
        'calls expandfs with the device, the path and both sizes',
        { ...device2, expandfs: ok },
        '2147483648',
        ['waitforattach  {}', `expandfs {} /dev/sdx ${path} 2147483648 1073741824`],
      ],
      ['grows the file system without expandfs', device2, '2147483648', [`growFileSystem ${path}`]],
      [
        'has nothing to grow without a device',
        plain,
        'unsupported: FlexVolume driver vendor/driver does not support expandfs, and the volume has no device',
        [],
      ],
      [
        'fails as the driver does',
        { ...plain, expandfs: failure },
        'final: expandfs command failed, status: Failure, reason: broken',
        [],
      ],
      [
        'does nothing if the driver requires nothing',
        { init: { ...ok, capabilities: { requiresFSResize: false } } },
        'unsupported: FlexVolume driver vendor/driver does not require an expansion on the node',
        [],
      ],
    ];
    for (const [title, commands, want, calls] of cases)
      test(title, async () => {
        await install(commands);
        expect(await expand()).toBe(want);
        expect([...files.calls, ...host.calls]).toEqual(expect.arrayContaining([...calls]));
      });

    test('applies to persistent volumes whose driver requires it', async () => {
      await install({});
      const spec = { persistent: { spec: { flexVolume: { driver: name } } } };
      expect(plugin.expansion?.applies?.(request({ spec }).spec)).toBe(true);
      expect(plugin.expansion?.applies?.(request().spec)).toBe(false);
      await install({ init: { ...ok, capabilities: { requiresFSResize: false } } });
      expect(plugin.expansion?.applies?.(request({ spec }).spec)).toBe(false);
    });
  });

  test('waits for its driver, and reports a name that can never be one at once', async () => {
    expect(plugin.prerequisite?.missing(request().spec)).toBe(
      'the first scan of /exec for FlexVolume drivers',
    );
    const bad = request({ source: { driver: '../evil' } });
    expect(plugin.prerequisite?.missing(bad.spec)).toBeUndefined();
    expect(await setUp(bad)).toBe('"../evil" is not a valid name of a FlexVolume driver');
    expect(await setUp()).toBe('driver not found: no FlexVolume driver vendor/driver in /exec');
    expect(plugin.label?.(request().spec)).toBe(name);
  });
});
