import { beforeEach, describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import {
  aCsiRequest,
  aCsiSpec,
  anInlineSpec,
  CsiRig,
  csiOnDisk,
  csiRoot,
} from '../../../test/builders/csi-rig.ts';
import { noOwner } from '../../../test/builders/volume-requests.ts';
import { csiError } from '../../../test/fakes/fake-csi-drivers.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { SetUpRequest, VolumePlugin } from '../plugin.ts';
import { attachmentName, inlineHandle } from './names.ts';
import { stagingPaths } from './paths.ts';

const { signal } = new AbortController();
const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const staging = stagingPaths(layout, { driver: 'd.csi', handle: 'h' });
const target = '/root/pods/uid-p/volumes/kubernetes.io~csi/pv';
const attachment = attachmentName({ driver: 'd.csi', handle: 'h' }, 'node-1');

describe('set-up of a csi volume', () => {
  let rig: CsiRig;
  let plugin: VolumePlugin;
  beforeEach(() => {
    rig = new CsiRig();
    plugin = rig.plugin();
  });

  const setUp = async (request: SetUpRequest = aCsiRequest()): Promise<string> =>
    await plugin.setUp(request, signal).then(
      ({ location }) => (location.kind === 'image' ? 'image' : location.path),
      (err: unknown) => describeError(err),
    );
  const failure = async (request: SetUpRequest = aCsiRequest()): Promise<KubeletError> =>
    await plugin.setUp(request, signal).then(
      () => expect.fail('the set-up succeeded'),
      (err: unknown) => err as KubeletError,
    );
  const methods = (): readonly string[] =>
    rig.driver.calls.map(({ method }) => method).filter((method) => method !== 'capabilities');
  const requestOf = (method: 'stage' | 'publish'): unknown => rig.driver.callsOf(method).at(-1)?.request;
  const use = (fresh: CsiRig): void => {
    rig = fresh;
    plugin = rig.plugin();
  };

  describe('requests', () => {
    const full = aCsiSpec({
      csi: {
        fsType: 'xfs',
        volumeAttributes: { a: 'b' },
        nodeStageSecretRef: { namespace: 'ns', name: 'stage' },
        nodePublishSecretRef: { namespace: 'ns', name: 'publish' },
      },
      pv: { mountOptions: ['noatime', 'debug'], accessModes: ['ReadWriteMany'] },
    });
    beforeEach(() => {
      rig.attach('h', { attached: true, attachmentMetadata: { devicePath: '/dev/x' } });
      rig.putSecret('ns/stage', { s: 'S' });
      rig.putSecret('ns/publish', { p: 'P' });
    });

    test('stages with the secrets, flags and attributes of the volume', async () => {
      expect(await setUp(aCsiRequest(full, { owner: { ...noOwner, fsGroup: 7 } }))).toBe(`${target}/mount`);
      expect(requestOf('stage')).toEqual({
        volumeId: 'h',
        publishContext: { devicePath: '/dev/x' },
        stagingTargetPath: staging.mount,
        volumeCapability: {
          mount: { fsType: 'xfs', mountFlags: ['noatime', 'debug'], volumeMountGroup: '' },
          accessMode: { mode: 5 },
        },
        secrets: { s: 'S' },
        volumeContext: { a: 'b' },
      });
    });

    test('publishes with the staging path', async () => {
      await setUp(aCsiRequest({ ...full, readOnly: true }));
      expect(requestOf('publish')).toEqual({
        volumeId: 'h',
        publishContext: { devicePath: '/dev/x' },
        stagingTargetPath: staging.mount,
        targetPath: `${target}/mount`,
        volumeCapability: {
          mount: { fsType: 'xfs', mountFlags: ['noatime', 'debug'], volumeMountGroup: '' },
          accessMode: { mode: 5 },
        },
        readonly: true,
        secrets: { p: 'P' },
        volumeContext: { a: 'b' },
      });
    });

    test('reads the VolumeAttachment once, and no secret for staging if the volume is staged', async () => {
      await setUp(aCsiRequest(full));
      const again = aCsiRequest(full, { podOver: { uid: 'uid-q' } });
      await setUp(again);
      expect(rig.storage.reads).toEqual([
        `volumeattachments.storage.k8s.io ${attachment}`,
        'secrets stage',
        'secrets publish',
        `volumeattachments.storage.k8s.io ${attachment}`,
        'secrets publish',
      ]);
      expect(methods()).toEqual(['stage', 'publish', 'publish']);
    });

    test('a driver that does not stage gets no staging path, and leaves no staging directory', async () => {
      use(new CsiRig({ volumeMountGroup: true }));
      await setUp(aCsiRequest(aCsiSpec(), { owner: { ...noOwner, fsGroup: 7 } }));
      expect(requestOf('publish')).toMatchObject({
        stagingTargetPath: '',
        volumeCapability: { mount: { volumeMountGroup: '7' } },
      });
      expect([methods(), [...rig.host.entries.keys()].filter((path) => path.startsWith(csiRoot))]).toEqual([
        ['publish'],
        [],
      ]);
    });

    test('a volume that needs no attaching has no publish context', async () => {
      rig.storage.attachments.clear();
      rig.putDriver({ attachRequired: false });
      expect(await setUp()).toBe(`${target}/mount`);
      expect(requestOf('stage')).toMatchObject({ publishContext: {} });
    });

    test('writes vol_data.json of the pod and of the node', async () => {
      await setUp();
      expect(JSON.parse(rig.host.ownFiles.get(`${target}/vol_data.json`) ?? '')).toEqual({
        specVolID: 'pv',
        volumeHandle: 'h',
        driverName: 'd.csi',
        nodeName: 'node-1',
        volumeLifecycleMode: 'Persistent',
        attachmentID: attachment,
      });
      expect(JSON.parse(rig.host.ownFiles.get(staging.data) ?? '')).toEqual({
        volumeHandle: 'h',
        driverName: 'd.csi',
      });
    });

    test('both files are on disk before the driver is first called', async () => {
      let seen: readonly (string | undefined)[] = [];
      rig.driver.onWork = () => {
        seen = [rig.host.ownFiles.get(`${target}/vol_data.json`), rig.host.ownFiles.get(staging.data)];
        throw csiError('UNAVAILABLE', 'gone');
      };
      await setUp();
      expect(seen.map((text) => text !== undefined)).toEqual([true, true]);
    });

    test('pod info and tokens go into the volume context, not into the cached objects', async () => {
      rig.putDriver({
        podInfoOnMount: true,
        tokenRequests: [{ audience: 'b' }, { audience: '', expirationSeconds: 700 }],
      });
      await setUp(aCsiRequest(full));
      expect(requestOf('publish')).toMatchObject({
        secrets: { p: 'P' },
        volumeContext: {
          a: 'b',
          'csi.storage.k8s.io/ephemeral': 'false',
          'csi.storage.k8s.io/pod.name': 'p',
          'csi.storage.k8s.io/serviceAccount.tokens':
            '{"":{"token":"token-1","expirationTimestamp":""},"b":{"token":"token-1","expirationTimestamp":""}}',
        },
      });
      expect(requestOf('stage')).toMatchObject({ volumeContext: { a: 'b' } });
      expect(full.persistent?.spec?.csi?.volumeAttributes).toEqual({ a: 'b' });
      expect(rig.objects.tokenRequests.map(({ spec }) => spec)).toEqual([
        { audiences: ['b'], boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' } },
        {
          audiences: [],
          expirationSeconds: 700,
          boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' },
        },
      ]);
    });

    test('tokens go into the secrets if the CSIDriver requests it', async () => {
      rig.putDriver({ tokenRequests: [{ audience: 'b' }], serviceAccountTokenInSecrets: true });
      await setUp(aCsiRequest(full));
      expect(requestOf('publish')).toMatchObject({
        secrets: {
          p: 'P',
          'csi.storage.k8s.io/serviceAccount.tokens': expect.stringContaining('token-1') as string,
        },
        volumeContext: { a: 'b' },
      });
    });

    test('an inline volume is published without being attached or staged', async () => {
      use(new CsiRig({}));
      rig.putDriver({ volumeLifecycleModes: ['Ephemeral'], podInfoOnMount: true });
      rig.putSecret('default/inline', { k: 'v' });
      const spec = anInlineSpec({
        readOnly: true,
        fsType: 'ext4',
        volumeAttributes: { x: 'y' },
        nodePublishSecretRef: { name: 'inline' },
      });
      const done = await plugin.setUp(aCsiRequest(spec), signal);
      expect(done).toMatchObject({ readOnly: true, managed: false });
      expect(requestOf('publish')).toMatchObject({
        volumeId: inlineHandle('uid-p', 'v'),
        publishContext: {},
        stagingTargetPath: '',
        readonly: true,
        secrets: { k: 'v' },
        volumeCapability: { mount: { fsType: 'ext4', mountFlags: [] }, accessMode: { mode: 1 } },
        volumeContext: { x: 'y', 'csi.storage.k8s.io/ephemeral': 'true' },
      });
      expect([methods(), rig.storage.reads]).toEqual([['publish'], ['secrets inline']]);
    });
  });

  describe('failures before the driver is called', () => {
    const withSecret = (field: 'nodeStageSecretRef' | 'nodePublishSecretRef') =>
      aCsiSpec({ csi: { [field]: { namespace: 'ns', name: 's' } } });
    const missing = 'driver name d.csi not found in the list of registered CSI drivers';
    const notFound =
      'kubernetes.io/csi: failed to find the secret s in the namespace ns with error: secrets "s" not found';
    const cases: readonly (readonly [string, () => SetUpRequest, string, string | undefined])[] = [
      [
        'no driver',
        () => {
          rig.drivers.deregister('d.csi');
          return aCsiRequest();
        },
        `kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: ${missing}`,
        'MountDevice',
      ],
      [
        'no driver, inline',
        () => {
          rig.drivers.deregister('d.csi');
          return aCsiRequest(anInlineSpec());
        },
        `kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: ${missing}`,
        undefined,
      ],
      [
        'no VolumeAttachment',
        () => {
          rig.storage.attachments.clear();
          return aCsiRequest();
        },
        `volume h has GET error for volume attachment ${attachment}: volumeattachments.storage.k8s.io "${attachment}" not found`,
        'WaitForAttach',
      ],
      [
        'not attached',
        () => {
          rig.attach('h', { attached: false });
          return aCsiRequest();
        },
        `volume h is not attached for volume attachment ${attachment}`,
        'WaitForAttach',
      ],
      [
        'no secret for staging',
        () => aCsiRequest(withSecret('nodeStageSecretRef')),
        `fetching NodeStageSecretRef ns/s failed: ${notFound}`,
        'MountDevice',
      ],
      [
        'no secret for publishing',
        () => aCsiRequest(withSecret('nodePublishSecretRef')),
        `fetching NodePublishSecretRef ns/s failed: ${notFound}`,
        undefined,
      ],
      [
        'a secret that is not text',
        () => {
          rig.storage.secrets.set('ns/s', { data: { key: '/w==' } });
          return aCsiRequest(withSecret('nodePublishSecretRef'));
        },
        'fetching NodePublishSecretRef ns/s failed: the value of key "key" of secret ns/s is not UTF-8, which is all that CSI drivers can be given',
        undefined,
      ],
      [
        'no token',
        () => {
          rig.putDriver({ tokenRequests: [{ audience: 'a' }] });
          rig.objects.token = new KubeletError('forbidden', 'Forbidden', 'no');
          return aCsiRequest();
        },
        'kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token attributes: no',
        undefined,
      ],
      [
        'an inline volume without a CSIDriver',
        () => aCsiRequest(anInlineSpec()),
        'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: volume mode "Ephemeral" not supported by driver d.csi (no CSIDriver object)',
        undefined,
      ],
      [
        'an empty fsGroupPolicy',
        () => {
          rig.putDriver({ fsGroupPolicy: '' });
          return aCsiRequest();
        },
        'kubernetes.io/csi: mounter.SetupAt failed to check fsGroup policy: kubernetes.io/csi: expected valid fsGroupPolicy, received nil value or empty string',
        undefined,
      ],
      [
        'capabilities that cannot be read',
        () => {
          rig.driver.fail('capabilities', { code: 'UNAVAILABLE', message: 'gone' });
          return aCsiRequest();
        },
        'rpc error: code = Unavailable desc = gone',
        'MountDevice',
      ],
    ];
    for (const [name, arrange, message, step] of cases)
      test(`${name}: nothing is created`, async () => {
        const err = await failure(arrange());
        expect([describeError(err), err.details['step']]).toEqual([message, step]);
        expect([rig.remains(), methods()]).toEqual([[], []]);
      });

    test('without an API server the wait for the CSIDrivers ends', async () => {
      rig.storage.isListed = false;
      const tried = failure();
      await rig.clock.advance(30_000);
      expect(await tried).toMatchObject({ kind: 'timeout' });
      expect(rig.remains()).toEqual([]);
    });
  });

  const stageFiles = [staging.directory, staging.mount, staging.data];
  const targetFiles = [target, `${target}/vol_data.json`];
  const withParents = (...paths: readonly string[]): readonly string[] => [...paths].sort();

  describe('failures of the driver', () => {
    test('a final failure of stage leaves nothing', async () => {
      rig.driver.fail('stage', { code: 'INTERNAL', message: 'no' });
      const err = await failure();
      expect([describeError(err), err.details['step']]).toEqual([
        'rpc error: code = Internal desc = no',
        'MountDevice',
      ]);
      expect(rig.remains()).toEqual([]);
    });

    test('an uncertain failure of stage leaves everything, and the next attempt stages again', async () => {
      rig.driver.fail('stage', { code: 'DEADLINE_EXCEEDED', afterwards: true, times: 1 });
      await setUp();
      expect(rig.remains()).toEqual(withParents(...stageFiles, ...targetFiles, `mount ${staging.mount}`));
      expect(await setUp()).toBe(`${target}/mount`);
      expect(methods()).toEqual(['stage', 'stage', 'publish']);
    });

    test('a final failure after an uncertain one leaves nothing', async () => {
      rig.driver.fail('stage', { code: 'DEADLINE_EXCEEDED', times: 1 });
      await setUp();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp();
      expect(rig.remains()).toEqual([]);
    });

    test('a final failure of stage keeps what an earlier process may have staged', async () => {
      await setUp();
      plugin = rig.plugin();
      const before = rig.remains();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp();
      expect(rig.remains()).toEqual(before);
    });

    test('a final failure of stage keeps what an earlier process may have staged without a mount', async () => {
      rig.driver.onWork = () => undefined;
      rig.driver.fail('publish', { code: 'UNAVAILABLE' });
      await setUp();
      plugin = rig.plugin();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp();
      expect(rig.remains()).toEqual(withParents(...stageFiles, ...targetFiles));
    });

    test('a final failure of stage for another pod keeps the volume of the first, though its process has ended', async () => {
      await setUp();
      plugin = rig.plugin();
      const before = rig.remains();
      rig.driver.fail('stage', { code: 'INTERNAL' });
      await setUp(aCsiRequest(aCsiSpec(), { podOver: { uid: 'uid-q' } }));
      expect(rig.remains()).toEqual(before);
    });

    test('a final failure of publish removes the target, not the stage', async () => {
      rig.driver.fail('publish', { code: 'INTERNAL' });
      const err = await failure();
      expect(err.details['step']).toBeUndefined();
      expect(rig.remains()).toEqual(withParents(...stageFiles, `mount ${staging.mount}`));
      rig.driver.fail('publish', undefined);
      expect(await setUp()).toBe(`${target}/mount`);
      expect(methods()).toEqual(['stage', 'publish', 'publish']);
    });

    test('a final failure of publish removes the empty directory that the driver left', async () => {
      rig.driver.onWork = (method, path) => {
        if (method !== 'publish') return;
        rig.host.entries.set(path, 'directory');
        throw csiError('INTERNAL', 'no');
      };
      await setUp();
      expect(rig.remains()).toEqual(withParents(...stageFiles));
    });

    test('a final failure of publish keeps a target that is mounted or has content, with its vol_data.json', async () => {
      rig.driver.fail('publish', { code: 'INTERNAL', afterwards: true });
      await setUp();
      expect(rig.remains()).toContain(`mount ${target}/mount`);
      expect(rig.remains()).toContain(`${target}/vol_data.json`);
      use(new CsiRig({ stage: true }));
      rig.driver.onWork = (method, path) => {
        if (method !== 'publish') return;
        rig.host.entries.set(path, 'directory').set(`${path}/file`, 'file');
        throw csiError('INTERNAL', 'no');
      };
      await setUp();
      expect(rig.remains()).toEqual(
        withParents(...stageFiles, ...targetFiles, `${target}/mount`, `${target}/mount/file`),
      );
    });

    test('an uncertain failure of publish leaves everything', async () => {
      rig.driver.fail('publish', { code: 'UNAVAILABLE' });
      await setUp();
      expect(rig.remains()).toEqual(withParents(...stageFiles, ...targetFiles, `mount ${staging.mount}`));
    });

    test('an aborted call is uncertain', async () => {
      const abort = new AbortController();
      rig.driver.fail('publish', { code: 'hang' });
      const tried = plugin.setUp(aCsiRequest(), abort.signal).catch(() => undefined);
      await rig.clock.advance(0);
      abort.abort(new Error('enough'));
      await tried;
      expect(rig.remains()).toContain(`${target}/vol_data.json`);
    });

    for (const code of ['INTERNAL', 'UNAVAILABLE'] as const)
      test(`a republish that fails with ${code} leaves the mount alone`, async () => {
        await setUp();
        const before = rig.remains();
        rig.driver.fail('publish', { code });
        await setUp(aCsiRequest(aCsiSpec(), { isRemount: true }));
        expect(rig.remains()).toEqual(before);
        expect(rig.driver.callsOf('stage')).toHaveLength(1);
      });

    test('a republish that fails leaves an unmounted directory of the driver alone', async () => {
      rig.driver.onWork = (method, path) => {
        if (method === 'publish') rig.host.entries.set(path, 'directory');
      };
      await setUp();
      const before = rig.remains();
      rig.driver.fail('publish', { code: 'INTERNAL' });
      await setUp(aCsiRequest(aCsiSpec(), { isRemount: true }));
      expect(rig.remains()).toEqual(before);
    });

    test('after a restart, a volume that is published is staged and published again, and kept if that fails', async () => {
      rig.driver.onWork = (method, path) => {
        if (method === 'publish') rig.host.entries.set(path, 'directory');
      };
      await setUp();
      const before = rig.remains();
      plugin = rig.plugin();
      rig.driver.fail('publish', { code: 'INTERNAL' });
      await setUp();
      expect(rig.remains()).toEqual(before);
      rig.driver.fail('publish', undefined);
      expect(await setUp()).toBe(`${target}/mount`);
      expect(methods()).toEqual(['stage', 'publish', 'stage', 'publish', 'publish']);
    });
  });

  describe('what the driver made of the target', () => {
    const cases = [
      ['nothing', () => undefined, 'does not exist'],
      ['a link', (path: string) => rig.host.entries.set(path, 'link'), 'is a symbolic link'],
      ['a file', (path: string) => rig.host.entries.set(path, 'file'), 'is a file, not a directory'],
    ] as const;
    for (const [name, make, problem] of cases)
      test(`${name}: it is unpublished and refused`, async () => {
        rig.driver.onWork = (method, path) => {
          if (method === 'publish') make(path);
          if (method === 'unpublish') rig.host.entries.delete(path);
        };
        expect(await setUp()).toBe(`the CSI driver d.csi reported success, but ${target}/mount ${problem}`);
        expect(methods()).toEqual(['stage', 'publish', 'unpublish']);
        expect(rig.remains()).toEqual(withParents(...stageFiles));
      });

    test('a republish that made a link of it is refused, but not unpublished', async () => {
      await setUp();
      rig.driver.onWork = (_, path) => {
        rig.host.mounts.splice(
          rig.host.mounts.findIndex((mount) => mount.path === path),
          1,
        );
        rig.host.entries.set(path, 'link');
      };
      expect(await setUp(aCsiRequest(aCsiSpec(), { isRemount: true }))).toContain('is a symbolic link');
      expect(methods()).not.toContain('unpublish');
    });

    test('a mounted target is not accessed, since its server may not respond', async () => {
      await setUp();
      expect(rig.host.calls.filter((call) => /^(?:kindOf|isLink) .*\/mount$/.test(call))).toEqual([]);
    });

    test('another volume mounted there is not replaced', async () => {
      await setUp();
      rig.attach('i');
      plugin = rig.plugin();
      const other = aCsiSpec({ csi: { volumeHandle: 'i' } });
      expect(await setUp(aCsiRequest(other))).toBe(
        `${target}/mount is mounted, but ${target}/vol_data.json: it does not name this volume`,
      );
    });

    test('another volume that may have been published there is unpublished first', async () => {
      rig.driver.fail('publish', { code: 'UNAVAILABLE', times: 1 });
      await setUp();
      rig.attach('i');
      expect(await setUp(aCsiRequest(aCsiSpec({ csi: { volumeHandle: 'i' } })))).toBe(`${target}/mount`);
      expect(methods()).toEqual(['stage', 'publish', 'unpublish', 'stage', 'publish']);
    });
  });

  describe('fsGroup', () => {
    const owner = { ...noOwner, fsGroup: 7 };
    const spec = aCsiSpec({ csi: { fsType: 'ext4' } });

    test('is applied to the mount, again on a republish, and only if needed after a restart', async () => {
      await setUp(aCsiRequest(spec, { owner }));
      await setUp(aCsiRequest(spec, { owner, isRemount: true }));
      plugin = rig.plugin();
      await setUp(aCsiRequest(spec, { owner }));
      const seen = rig.host.owned.map(({ onlyOnRootMismatch, path }) => [path, onlyOnRootMismatch]);
      expect(seen).toEqual([
        [`${target}/mount`, false],
        [`${target}/mount`, false],
        [`${target}/mount`, true],
      ]);
    });

    test('that cannot be applied keeps the volume, so that it is unmounted', async () => {
      rig.host.injectFault('changeOwnership', () =>
        Promise.reject(new KubeletError('internal', 'EIO', 'broken')),
      );
      expect(await setUp(aCsiRequest(spec, { owner }))).toBe('applyFSGroup failed for vol h: broken');
      expect(rig.remains()).toContain(`mount ${target}/mount`);
    });
  });

  describe('SELinux', () => {
    const aPodOf = (name: string, level: string) =>
      aPod({
        name,
        securityContext: { seLinuxOptions: { level } },
        containers: [aContainer({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      });
    const requestOfPod = (name: string, level: string): SetUpRequest =>
      aCsiRequest(aCsiSpec(), { pod: aPodOf(name, level) });
    const flag = 'context="system_u:object_r:container_file_t:s0:c1"';
    const waiting =
      'waiting for unmount of volume "kubernetes.io/csi/d.csi^h", because it is already mounted to a different pod with a different SELinux label';
    beforeEach(() => {
      rig.seLinux = { isEnabled: () => Promise.resolve(true), everyAccessMode: true };
      rig.putDriver({ seLinuxMount: true });
      plugin = rig.plugin();
    });

    test('the label is a mount flag of stage and publish, and is remembered on disk', async () => {
      expect(await plugin.setUp(requestOfPod('p', 's0:c1'), signal)).toMatchObject({ managed: false });
      for (const method of ['stage', 'publish'] as const)
        expect(requestOf(method)).toMatchObject({ volumeCapability: { mount: { mountFlags: [flag] } } });
      const label = { seLinuxMountContext: 'system_u:object_r:container_file_t:s0:c1' };
      expect(JSON.parse(rig.host.ownFiles.get(staging.data) ?? '')).toMatchObject(label);
      expect(JSON.parse(rig.host.ownFiles.get(`${target}/vol_data.json`) ?? '')).toMatchObject(label);
    });

    test('a pod with the same label shares the volume', async () => {
      await setUp(requestOfPod('p', 's0:c1'));
      expect(await setUp(requestOfPod('q', 's0:c1'))).toContain('uid-q');
    });

    for (const when of ['in this process', 'after a restart'])
      test(`a pod with another label waits until the volume is released, ${when}`, async () => {
        await setUp(requestOfPod('p', 's0:c1'));
        if (when === 'after a restart') plugin = rig.plugin();
        const other = requestOfPod('q', 's0:c2');
        expect(await setUp(other)).toBe(waiting);
        expect(rig.remains().filter((path) => path.includes('uid-q'))).toEqual([]);
        await plugin.tearDown(csiOnDisk(aCsiSpec(), aPodOf('p', '')), signal);
        await plugin.nodeDevices?.release('kubernetes.io/csi/d.csi^h', signal);
        expect(await setUp(other)).toContain('uid-q');
      });

    test('a running pod keeps the label that its volume has, also if the driver begins to support labels', async () => {
      rig.putDriver({});
      await setUp(requestOfPod('p', 's0:c1'));
      rig.putDriver({ seLinuxMount: true });
      plugin = rig.plugin();
      expect(await setUp(requestOfPod('p', 's0:c1'))).toBe(`${target}/mount`);
      expect(requestOf('publish')).toMatchObject({ volumeCapability: { mount: { mountFlags: [] } } });
    });
  });
});
