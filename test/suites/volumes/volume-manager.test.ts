// The volume manager on a host in memory and the fake clock: missing and changing objects, hung mount helpers, claims,
// tear-down, usage, many pods.
import { setMaxListeners } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Pod, Volume } from '../../../src/api/k8s/types.ts';
import { asPodUid, podUid } from '../../../src/api/pod/pod-ref.ts';
import type { EventText } from '../../../src/api/ports/events.ts';
import type { Volumes, VolumesInput } from '../../../src/assemble/volumes.ts';
import { startComponent } from '../../../src/base/component.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { Verbosity } from '../../../src/base/log/log.ts';
import { textLogger } from '../../../src/base/log/log-text.ts';
import { defaultGates } from '../../../src/config/gates/feature-gates.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakePodObjects } from '../../fakes/fake-pod-objects.ts';
import { FakeVolumeHost } from '../../fakes/fake-volume-host.ts';
import { testVolumes } from '../../simulate/test-volumes.ts';

const pods = '/root/pods';
let clock: FakeClock;
let host: FakeVolumeHost;
let objects: FakePodObjects;
let events: EventText[];
let log: string[];
let volumes: Volumes;
let ending: boolean;
let syncFrequencyMs: number;
const signal = new AbortController().signal;
setMaxListeners(0, signal);

const gates = { ...defaultGates, ImageVolume: true };
const quotas = { ...gates, LocalStorageCapacityIsolationFSQuotaMonitoring: true };

/** Starts the volume manager of a kubelet on this host: the first one, or one after a restart. */
function begin(over: Partial<VolumesInput> = {}): Volumes {
  return testVolumes({
    gates,
    ...over,
    get syncFrequencyMs() {
      return syncFrequencyMs;
    },
    lifecycles: { get: () => ({ state: ending ? 'terminating' : 'syncing' }) },
    host: () => host,
    objects,
    events: {
      pod: (_, event) => void events.push(event),
      node: () => undefined,
      object: () => undefined,
    },
    clock,
    log: textLogger({ write: (line) => void log.push(line), clock, verbosity: new Verbosity(4), pid: 1 }),
  });
}

beforeEach(async () => {
  clock = new FakeClock();
  host = new FakeVolumeHost(pods);
  objects = new FakePodObjects();
  events = [];
  log = [];
  ending = false;
  syncFrequencyMs = 60_000;
  volumes = begin();
  for (const component of volumes.components) await startComponent(component, signal);
});

function podWith(volume: Omit<Volume, 'name'>, over: Parameters<typeof aPod>[0] = {}): Pod {
  const containers = [aContainer({ volumeMounts: [{ name: 'v', mountPath: '/v' }] })];
  return aPod({ volumes: [{ name: 'v', ...volume }], containers, serviceAccountName: 'sa', ...over });
}
const dir = (plugin: string, uid = 'uid-p'): string => `${pods}/${uid}/volumes/kubernetes.io~${plugin}/v`;
const tried = async (pod: Pod): Promise<string> =>
  await clock.until(
    volumes.manager.mount(pod, signal).then(
      () => 'mounted',
      (err: KubeletError) => err.message,
    ),
  );

describe('a ConfigMap that is missing, appears, changes and disappears', () => {
  const pod = podWith({ configMap: { name: 'cm' } });
  const file = (): string | undefined => host.text(dir('configmap'), 'k');

  test('missing: the pod gets upstream’s event, and nothing is left on disk', async () => {
    expect(await tried(pod)).toBe(
      'unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: ' +
        'MountVolume.SetUp failed for volume "v" : configmap "cm" not found',
    );
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'FailedMount',
        message: 'MountVolume.SetUp failed for volume "v" : configmap "cm" not found',
      },
    ]);
    expect(host.entries.size).toBe(0);
  });

  test('missing for long: the number of attempts is upstream’s', async () => {
    const wake = volumes.manager.wake.subscribe(
      () => void volumes.manager.mount(pod, signal).catch(() => undefined),
    );
    await tried(pod);
    await clock.advance(40_000);
    expect(events).toHaveLength(7);
    // A sync in between gets the same error without another event.
    expect(await tried(pod)).toContain('configmap "cm" not found');
    expect(events).toHaveLength(7);
    wake();
  });

  test('appears: the pod is woken at once, regardless of its back-off', async () => {
    await tried(pod);
    const woken: string[] = [];
    volumes.manager.wake.subscribe((uid) => woken.push(uid));
    objects.putConfigMap('cm', { k: '1' });
    expect(woken).toEqual(['uid-p']);
    expect(await tried(pod)).toBe('mounted');
    expect(file()).toBe('1');
  });

  test('changes: the file follows the notification at once', async () => {
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    objects.putConfigMap('cm', { k: '2' });
    await clock.advance(0);
    expect(file()).toBe('2');
  });

  test('changes without a notification: the file follows within syncFrequency', async () => {
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    objects.putConfigMap('cm', { k: '2' }, true);
    await clock.advance(60_000);
    expect(file()).toBe('2');
    objects.putConfigMap('cm', { k: '3' }, true);
    await clock.advance(60_000);
    expect(file()).toBe('3');
  });

  test('changes without a notification after syncFrequency was shortened: the file follows within the new one', async () => {
    syncFrequencyMs = 3_600_000;
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    objects.putConfigMap('cm', { k: '2' }, true);
    await clock.advance(60_000);
    expect(file()).toBe('1');
    syncFrequencyMs = 10_000;
    volumes.manager.scheduleUpdates();
    await clock.advance(10_000);
    expect(file()).toBe('2');
  });

  test('disappears: the file stays, the pod gets an event, its next sync proceeds', async () => {
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    objects.putConfigMap('cm', undefined);
    await clock.advance(1_000);
    expect(file()).toBe('1');
    expect(events[0]?.message).toContain('configmap "cm" not found');
    expect(await tried(pod)).toBe('mounted');
    objects.putConfigMap('cm', { k: '4' });
    await clock.advance(0);
    expect(file()).toBe('4');
  });

  test('disappears while the pod terminates: the file stays without an event, and follows when the object reappears', async () => {
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    ending = true;
    objects.putConfigMap('cm', undefined);
    await clock.advance(120_000);
    expect(file()).toBe('1');
    expect(events).toEqual([]);
    expect(log.filter((line) => /^[WE]/.test(line))).toEqual([]);
    expect(volumes.manager.activities(podUid(pod))).toEqual([]);
    objects.putConfigMap('cm', { k: '2' });
    await clock.advance(60_000);
    expect(file()).toBe('2');
  });

  test('another kind or namespace: the pod is not woken', async () => {
    objects.putConfigMap('cm', { k: '1' });
    await tried(pod);
    const before = host.calls.length;
    objects.changed.push({ kind: 'Secret', namespace: 'default', name: 'cm' });
    objects.changed.push({ kind: 'ConfigMap', namespace: 'other', name: 'cm' });
    await clock.advance(0);
    expect(host.calls).toHaveLength(before);
  });
});

describe('content', () => {
  const cases: readonly (readonly [string, Omit<Volume, 'name'>, string, Record<string, string>])[] = [
    [
      'items',
      { configMap: { name: 'cm', items: [{ key: 'k', path: 'a/b', mode: 0o400 }] } },
      'configmap',
      { 'a/b': '256 v' },
    ],
    [
      'default mode',
      { configMap: { name: 'cm', defaultMode: 0o440 } },
      'configmap',
      { k: '288 v', l: '288 w' },
    ],
    ['optional and missing', { configMap: { name: 'none', optional: true } }, 'configmap', {}],
    [
      'a missing optional key',
      { configMap: { name: 'cm', optional: true, items: [{ key: 'x', path: 'x' }] } },
      'configmap',
      {},
    ],
    ['a secret', { secret: { secretName: 's' } }, 'secret', { user: '420 me' }],
    [
      'projected: the later source wins',
      {
        projected: {
          defaultMode: 0o600,
          sources: [
            { configMap: { name: 'cm', items: [{ key: 'k', path: 'same' }] } },
            { secret: { name: 's', items: [{ key: 'user', path: 'same' }] } },
            { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
            { serviceAccountToken: { path: 'token', audience: 'vault' } },
          ],
        },
      },
      'projected',
      { same: '384 me', name: '384 p', token: '384 token-1' },
    ],
  ];
  for (const [name, volume, plugin, want] of cases)
    test(name, async () => {
      objects.putConfigMap('cm', { k: 'v', l: 'w' });
      objects.putSecret('s', { user: 'me' });
      expect(await tried(podWith(volume))).toBe('mounted');
      const files = [...(host.contents.get(dir(plugin)) ?? [])];
      const got = files.map(([path, { data, mode }]) => [path, `${mode} ${Buffer.from(data).toString()}`]);
      expect(Object.fromEntries(got)).toEqual(want);
    });

  test('a missing key is named, and so are all failed sources', async () => {
    objects.putConfigMap('cm', {});
    expect(await tried(podWith({ configMap: { name: 'cm', items: [{ key: 'x', path: 'x' }] } }))).toContain(
      'configmap references non-existent config key: x',
    );
    const sources = [{ configMap: { name: 'a' } }, { secret: { name: 'b' } }];
    const message = await tried(podWith({ projected: { sources } }, { uid: 'other' }));
    expect(message).toContain('configmap "a" not found');
    expect(message).toContain('secret "b" not found');
  });

  test('secrets, tokens and downward API files are in memory, ConfigMaps are not', async () => {
    objects.putConfigMap('cm', {});
    objects.putSecret('s', { password: 'hunter2' });
    await tried(podWith({ configMap: { name: 'cm' } }, { uid: 'a' }));
    await tried(podWith({ secret: { secretName: 's' } }, { uid: 'b' }));
    await tried(podWith({ projected: { sources: [] } }, { uid: 'c' }));
    await tried(podWith({ downwardAPI: {} }, { uid: 'd' }));
    expect(host.mounts.map(({ path, fsType, options }) => [path, fsType, options])).toEqual([
      [dir('secret', 'b'), 'tmpfs', 'size=1073741824'],
      [dir('projected', 'c'), 'tmpfs', 'size=1073741824'],
      [dir('downward-api', 'd'), 'tmpfs', 'size=1073741824'],
    ]);
    host.injectFault('writeContent', () =>
      Promise.reject(new KubeletError('unavailable', 'ENOSPC', 'no space left')),
    );
    objects.putSecret('s', { password: 'hunter3' });
    await clock.advance(5_000);
    expect(events.at(-1)?.message).toContain('no space left');
    expect(JSON.stringify([log, events])).not.toMatch(/hunter|aHVudGVy/);
  });

  test('a volume gets a directory for the mount point of a nested volume', async () => {
    const volumeMounts = [
      { name: 'v', mountPath: '/etc/app' },
      { name: 'w', mountPath: '/etc/app/sub/dir' },
      { name: 'w', mountPath: '/etc/app/sub/dir/deeper' },
    ];
    objects.putConfigMap('cm', { k: 'v' });
    const pod = podWith({ configMap: { name: 'cm' } }, { containers: [aContainer({ volumeMounts })] });
    expect(await tried(pod)).toBe('mounted');
  });
});

describe('tokens', () => {
  const pod = podWith(
    { projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] } },
    { securityContext: { runAsUser: 1000 } },
  );

  test('are requested for the pod, owned by its user, and renewed', async () => {
    expect(await tried(pod)).toBe('mounted');
    expect(objects.tokenRequests[0]?.spec).toEqual({
      audiences: [],
      expirationSeconds: 600,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-p' },
    });
    expect(host.contents.get(dir('projected'))?.get('token')).toMatchObject({ mode: 0o600, owner: 1000 });
    objects.token = 'token-2';
    await clock.advance(60_000);
    expect(host.text(dir('projected'), 'token')).toBe('token-2');
  });

  test('a failed request delays the pod; a failed renewal keeps the old token', async () => {
    objects.token = new KubeletError('unavailable', 'ServiceUnavailable', 'the API server is down');
    expect(await tried(pod)).toContain('the API server is down');
    objects.token = 'token-1';
    await clock.advance(500);
    expect(await tried(pod)).toBe('mounted');
    objects.token = new KubeletError('unavailable', 'ServiceUnavailable', 'down again');
    await clock.advance(120_000);
    expect(host.text(dir('projected'), 'token')).toBe('token-1');
    expect(await tried(pod)).toBe('mounted');
    objects.token = 'token-3';
    await clock.advance(180_000);
    expect(host.text(dir('projected'), 'token')).toBe('token-3');
  });
});

test('a changed label reaches the file when the pod’s new object is synced', async () => {
  const items = [{ path: 'l', fieldRef: { fieldPath: "metadata.labels['a']" } }];
  await tried(podWith({ downwardAPI: { items } }, { labels: { a: '1' } }));
  await tried(podWith({ downwardAPI: { items } }, { labels: { a: '2' } }));
  await clock.advance(0);
  expect(host.text(dir('downward-api'), 'l')).toBe('2');
});

describe('claims', () => {
  const claim = (over: object = {}): object => ({
    metadata: { namespace: 'default', name: 'c', uid: 'claim-uid' },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
    ...over,
  });
  const persistent = (spec: object): object => ({
    metadata: { name: 'pv' },
    spec: { claimRef: { uid: 'claim-uid' }, ...spec },
  });

  test('bind a local directory, set its group, and never remove it', async () => {
    host.entries.set('/mnt/disk', 'directory');
    objects.claims.set('c', claim());
    objects.volumes.set('pv', persistent({ local: { path: '/mnt/disk' } }));
    const securityContext = { fsGroup: 7, fsGroupChangePolicy: 'OnRootMismatch' };
    const pod = podWith({ persistentVolumeClaim: { claimName: 'c' } }, { securityContext });
    expect(await tried(pod)).toBe('mounted');
    const path = `${pods}/uid-p/volumes/kubernetes.io~local-volume/pv`;
    expect(host.mounts).toEqual([{ path, fsType: 'ext4', options: '/mnt/disk' }]);
    expect(host.owned).toMatchObject([{ path, fsGroup: 7, onlyOnRootMismatch: true, readOnly: false }]);
    // Another pod shares the volume: its files are not walked again.
    expect(await tried({ ...pod, metadata: { ...pod.metadata, uid: 'two' } })).toBe('mounted');
    expect(host.owned).toHaveLength(1);
    await clock.until(volumes.manager.unmount(asPodUid('uid-p'), signal));
    expect(host.mounts.map((each) => each.path)).toEqual([path.replace('uid-p', 'two')]);
    expect(
      host.calls.filter((call) => call.startsWith('removeTree') && call.includes('local-volume')),
    ).toEqual([]);
    expect(host.entries.get('/mnt/disk')).toBe('directory');
  });

  test('a change of ownership may take longer than a mount, and is completed after a restart', async () => {
    host.entries.set('/mnt/disk', 'directory');
    objects.claims.set('c', claim());
    objects.volumes.set('pv', persistent({ local: { path: '/mnt/disk' } }));
    const pod = podWith({ persistentVolumeClaim: { claimName: 'c' } }, { securityContext: { fsGroup: 7 } });
    host.injectFault('changeOwnership', () => clock.sleep(600_000));
    void volumes.manager.mount(pod, signal);
    await clock.advance(300_000);
    expect(events).toEqual([]);
    // Killed meanwhile: the directory is bound, but its ownership is not complete.
    host.injectFault('changeOwnership', undefined);
    volumes = begin();
    expect(await tried(pod)).toBe('mounted');
    expect(host.owned).toMatchObject([{ fsGroup: 7, onlyOnRootMismatch: true }]);
    expect(host.mounts).toHaveLength(1);
  });

  test('mount NFS read-only with mount options', async () => {
    objects.claims.set('c', claim());
    objects.volumes.set('pv', persistent({ nfs: { server: 's', path: '/e' }, mountOptions: ['vers=4.2'] }));
    await tried(podWith({ persistentVolumeClaim: { claimName: 'c', readOnly: true } }));
    expect(host.mounts).toMatchObject([{ fsType: 'nfs4', options: 'vers=4.2,ro' }]);
  });

  test('of generic ephemeral volumes are used only if they were created for this pod', async () => {
    objects.volumes.set('pv', persistent({ hostPath: { path: '/data' } }));
    const owner = { controller: true, uid: 'uid-p', apiVersion: 'v1', kind: 'Pod', name: 'p' };
    objects.claims.set(
      'p-v',
      claim({ metadata: { uid: 'claim-uid', ownerReferences: [{ ...owner, uid: 'x' }] } }),
    );
    const pod = podWith({ ephemeral: {} });
    expect(await tried(pod)).toContain('was not created for pod default/p (pod is not owner)');
    objects.claims.set('p-v', claim({ metadata: { uid: 'claim-uid', ownerReferences: [owner] } }));
    await clock.advance(500);
    expect(await tried(pod)).toBe('mounted');
  });

  const rejections = [
    [
      'a missing claim',
      undefined,
      {},
      'error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found',
    ],
    ['an unbound claim', claim({ status: { phase: 'Pending' } }), {}, 'PVC is not bound'],
    ['a claim under deletion', claim({ metadata: { deletionTimestamp: 'now' } }), {}, 'PVC is being deleted'],
    [
      'a claim bound to the volume of another claim',
      claim({ metadata: { uid: 'z' } }),
      {},
      'found PV object pv but its pv.Spec.ClaimRef.UID claim-uid does not point to claim.UID z',
    ],
    [
      'a block volume in volumeMounts',
      claim(),
      { volumeMode: 'Block' },
      'has volumeMode Block, but is specified in volumeMounts',
    ],
    ['an unknown plugin', claim(), { glusterfs: { endpoints: 'e', path: 'p' } }, 'no volume plugin matched'],
  ] as const;
  for (const [name, object, spec, why] of rejections)
    test(`rejects ${name}`, async () => {
      if (object !== undefined) objects.claims.set('c', object);
      objects.volumes.set('pv', persistent(spec));
      expect(await tried(podWith({ persistentVolumeClaim: { claimName: 'c' } }))).toContain(why);
    });

  test('a missing claim emits upstream’s event', async () => {
    const failure =
      'unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC default/c: ' +
      'failed to fetch PVC from API server: persistentvolumeclaims "c" not found';
    expect(await tried(podWith({ persistentVolumeClaim: { claimName: 'c' } }))).toBe(failure);
    const message = `Unable to attach or mount volumes: ${failure}`;
    expect(events).toEqual([{ type: 'Warning', reason: 'FailedMount', message }]);
  });
});

describe('an unresponsive server', () => {
  const hanging = podWith({ nfs: { server: 'dead', path: '/' } });

  test('delays only its own pod, which can still end', async () => {
    host.injectFault('mountWithHelper', () => new Promise(() => undefined));
    const waiting = volumes.manager.mount(hanging, signal).then(
      () => 'mounted',
      (err: Error) => err.name,
    );
    expect(await tried(podWith({ emptyDir: {} }, { uid: 'other' }))).toBe('mounted');
    await clock.until(volumes.manager.unmount(asPodUid('uid-p'), signal));
    expect(await waiting).not.toBe('mounted');
    expect([...host.entries.keys()].filter((path) => path.includes('uid-p/volumes'))).toEqual([]);
    expect(events).toEqual([]);
  });

  test('is given up after two minutes, reported, and retried', async () => {
    host.injectFault('mountWithHelper', () => new Promise(() => undefined));
    expect(await tried(hanging)).toContain('mounting volume "v" did not finish within 123000 ms');
    host.injectFault('mountWithHelper', undefined);
    await clock.advance(500);
    expect(await tried(hanging)).toBe('mounted');
  });

  test('an aborted sync leaves the attempt in flight, and the next sync joins it', async () => {
    let answer = (): void => undefined;
    host.injectFault('mountWithHelper', () => new Promise((resolve) => (answer = resolve)));
    const impatient = new AbortController();
    const first = volumes.manager.mount(hanging, impatient.signal).catch((err: Error) => err.message);
    await clock.advance(10);
    impatient.abort(new Error('aborted'));
    expect(await first).toBe('aborted');
    const second = volumes.manager.mount(hanging, signal);
    await clock.advance(10);
    answer();
    await clock.until(second);
    expect(host.calls.filter((call) => call.startsWith('mountWithHelper'))).toHaveLength(1);
  });
});

describe('tear-down', () => {
  test('retries a busy mount for a while, then fails', async () => {
    await tried(podWith({ emptyDir: { medium: 'Memory' } }));
    host.injectFault('unmount', () => Promise.reject(new KubeletError('conflict', 'EBUSY', 'in use')));
    const end = clock.until(
      volumes.manager.unmount(asPodUid('uid-p'), signal).catch((err: Error) => err.message),
    );
    expect(await end).toContain('UnmountVolume.TearDown failed for volume "v" : in use');
    expect(host.mounts).toHaveLength(1);
    expect(await tried(podWith({ emptyDir: { medium: 'Memory' } }))).toContain('being unmounted');
    host.injectFault('unmount', undefined);
    await clock.until(volumes.manager.unmount(asPodUid('uid-p'), signal));
    expect(host.mounts).toEqual([]);
  });

  test('waits for a mount in flight, which would outlive the tear-down, but not for one that hangs', async () => {
    const pod = podWith({ emptyDir: { medium: 'Memory' } });
    const unmountDuring = async (mount: Promise<void>): Promise<number> => {
      host.injectFault('mountTmpfs', () => mount);
      const mounting = volumes.manager.mount(pod, signal).catch(() => undefined);
      await clock.advance(100);
      const startedMs = clock.now();
      await clock.until(volumes.manager.unmount(asPodUid('uid-p'), signal), 60_000);
      await mounting;
      return clock.now() - startedMs;
    };
    expect(await unmountDuring(clock.sleep(2_000))).toBeGreaterThan(1_500);
    expect(host.calls).toContain(`mountTmpfs ${pods}/uid-p/volumes/kubernetes.io~empty-dir/v`);
    await clock.advance(60_000);
    expect(host.mounts).toEqual([]);
    expect(await unmountDuring(new Promise(() => undefined))).toBeLessThan(6_000);
  });

  test('finds and unmounts the volumes of an earlier kubelet on disk', async () => {
    objects.putSecret('s', { k: 'v' });
    await tried(podWith({ secret: { secretName: 's' } }));
    const next = begin();
    await clock.until(next.manager.unmount(asPodUid('uid-p'), signal));
    expect(host.mounts).toEqual([]);
    expect([...host.entries.keys()].filter((path) => path.includes('volumes'))).toEqual([]);
  });

  test('a set-up interrupted between mount and ready file is completed after a restart, without a second mount', async () => {
    objects.putSecret('s', { k: 'v' });
    host.injectFault('writeContent', () => new Promise(() => undefined));
    void volumes.manager.mount(podWith({ secret: { secretName: 's' } }), signal).catch(() => undefined);
    await clock.advance(10);
    expect(host.mounts).toHaveLength(1);
    host.injectFault('writeContent', undefined);
    volumes = begin();
    expect(await tried(podWith({ secret: { secretName: 's' } }))).toBe('mounted');
    expect(host.mounts).toHaveLength(1);
    expect(host.text(dir('secret'), 'k')).toBe('v');
  });

  test('uses complete content after a restart while the API server is down, and updates it later', async () => {
    const pod = podWith({ projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } });
    await clock.until(begin().manager.mount(pod, signal));
    objects.token = new KubeletError('unavailable', 'ServiceUnavailable', 'down');
    expect(await tried(pod)).toBe('mounted');
    expect(host.text(dir('projected'), 'token')).toBe('token-1');
    objects.token = 'token-2';
    await clock.advance(60_000);
    expect(host.text(dir('projected'), 'token')).toBe('token-2');
    // Incomplete content, or content lost in a reboot, does not count as mounted.
    objects.token = new KubeletError('unavailable', 'ServiceUnavailable', 'down');
    host.mounts.length = 0;
    volumes = begin();
    expect(await tried(pod)).toContain('down');
  });

  test('does not change the mode of a complete directory after a restart', async () => {
    await tried(podWith({ emptyDir: {} }));
    volumes = begin();
    expect(await tried(podWith({ emptyDir: {} }))).toBe('mounted');
    expect(host.calls.filter((call) => call.startsWith('setMode'))).toEqual([]);
    host.entries.delete(`${pods}/uid-p/plugins/kubernetes.io~empty-dir/v/ready`);
    volumes = begin();
    await tried(podWith({ emptyDir: {} }));
    expect(host.calls.filter((call) => call.startsWith('setMode'))).toEqual([`setMode ${dir('empty-dir')}`]);
  });

  test('leaves the volume of an unknown plugin and names it', async () => {
    await host.makeDirectory(`${pods}/uid-p/volumes/kubernetes.io~glusterfs/pv`);
    const end = volumes.manager.unmount(asPodUid('uid-p'), signal).catch((err: Error) => err.message);
    expect(await clock.until(end)).toContain('no volume plugin matched directory kubernetes.io~glusterfs');
    expect(host.entries.has(`${pods}/uid-p/volumes/kubernetes.io~glusterfs/pv`)).toBe(true);
  });

  test('200 pods with five volumes each leave nothing behind', async () => {
    objects.putConfigMap('cm', { k: 'v' });
    objects.putSecret('s', { k: 'v' });
    const kinds: readonly Volume[] = [
      { name: 'a', emptyDir: {} },
      { name: 'b', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      { name: 'c', configMap: { name: 'cm' } },
      { name: 'd', secret: { secretName: 's' } },
      { name: 'e', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ];
    const volumeMounts = kinds.map(({ name }) => ({ name, mountPath: `/${name}`, subPath: 'x' }));
    const all = Array.from({ length: 200 }, (_, at) =>
      aPod({ uid: `u${at}`, volumes: [...kinds], containers: [aContainer({ volumeMounts })] }),
    );
    await clock.until(Promise.all(all.map((pod) => volumes.manager.mount(pod, signal))));
    expect(host.mounts).toHaveLength(600);
    expect(volumes.mounts.pods()).toHaveLength(200);
    const expand = (text: string): string => text;
    await clock.until(
      Promise.all(
        all.map((pod) =>
          volumes.manager.containerMounts(pod, pod.spec?.containers[0] ?? aContainer(), { expand }, signal),
        ),
      ),
    );
    expect(host.mounts).toHaveLength(1_600);
    await clock.until(Promise.all(all.map((pod) => volumes.manager.unmount(podUid(pod), signal))));
    expect(host.mounts).toEqual([]);
    expect(volumes.mounts.pods()).toEqual([]);
    expect([...host.entries.keys()].filter((path) => path.includes('/volume'))).toEqual([]);
    expect(clock.pendingTimers()).toBe(0);
  });
});

describe('volume usage', () => {
  test('is measured once per period, with the data for eviction', async () => {
    objects.putConfigMap('cm', { k: 'value' });
    await tried(podWith({ emptyDir: { sizeLimit: '1Ki' } }, { uid: 'a' }));
    await tried(podWith({ configMap: { name: 'cm' } }, { uid: 'b' }));
    await tried(podWith({ hostPath: { path: '/etc' } }, { uid: 'c' }));
    await tried(podWith({ emptyDir: { medium: 'Memory' } }, { uid: 'd' }));
    const of = async (uid: string) => await volumes.stats.ofPod(asPodUid(uid), signal);
    expect(await of('a')).toMatchObject([
      { name: 'v', isLocalEphemeral: true, sizeLimitBytes: 1024n, inodesUsed: 1, availableBytes: 600 },
    ]);
    expect(await of('b')).toMatchObject([
      { isLocalEphemeral: true, sizeLimitBytes: undefined, usedBytes: 5 },
    ]);
    expect(await of('c')).toEqual([]);
    expect(await of('d')).toMatchObject([{ isLocalEphemeral: false }]);
    const walks = (): number => host.calls.filter((call) => call.startsWith('usage')).length;
    expect(walks()).toBe(3);
    await of('a');
    expect(walks()).toBe(3);
    await clock.advance(60_000);
    await of('a');
    expect(walks()).toBe(4);
    await clock.until(volumes.manager.unmount(asPodUid('a'), signal));
    expect(await of('a')).toEqual([]);
  });

  test('omits a volume that cannot be measured, and aborts a hung walk', async () => {
    await tried(podWith({ emptyDir: {} }));
    host.injectFault('usage', () => new Promise(() => undefined));
    const measuring = volumes.stats.ofPod(asPodUid('uid-p'), signal);
    expect(await clock.until(measuring, 400_000)).toEqual([]);
  });

  describe('by project quotas, with the feature gate', () => {
    const measured: string[] = [];
    const own = { hostUsers: false };
    beforeEach(() => {
      measured.length = 0;
      const metrics = {
        observe: () => undefined,
        countBy: () => undefined,
        measured: (source: string, seconds: number) => void measured.push(`${source} ${seconds}`),
      };
      volumes = begin({ gates: quotas, metrics });
    });
    const sourceOf = async (pod: Pod): Promise<string | undefined> => {
      await tried(pod);
      measured.length = 0;
      await volumes.stats.ofPod(podUid(pod), signal);
      return measured[0];
    };

    test.each([
      ['an emptyDir on disk of a pod with a user namespace', { emptyDir: {} }, own, 'fsquota 0'],
      [
        'an emptyDir of a pod without a user namespace, which could change its project',
        { emptyDir: {} },
        {},
        'du 0',
      ],
      ['an emptyDir in memory', { emptyDir: { medium: 'Memory' } }, own, 'du 0'],
      ['a ConfigMap', { configMap: { name: 'cm' } }, own, 'du 0'],
    ])('%s', async (_, volume, over, want) => {
      objects.putConfigMap('cm', { k: 'value' });
      expect(await sourceOf(podWith(volume, over))).toBe(want);
    });

    test('a file system without quotas: the volume is mounted and walked, and the cause is logged', async () => {
      host.injectFault('countByProject', () =>
        Promise.reject(new KubeletError('forbidden', 'EPERM', 'not here')),
      );
      expect(await sourceOf(podWith({ emptyDir: {} }, own))).toBe('du 0');
      expect(log.filter((line) => line.includes('Failed to assign a quota project'))).toHaveLength(1);
    });

    test('keeps its project over a restart, and removes it at the end even with the gate off', async () => {
      const pod = podWith({ emptyDir: {} }, own);
      await tried(pod);
      volumes = begin({ gates: quotas });
      await tried(pod);
      expect(host.counted).toEqual(new Set([dir('empty-dir')]));
      volumes = begin();
      await clock.until(volumes.manager.unmount(podUid(pod), signal));
      expect(host.counted.size).toBe(0);
    });

    test('a failure to write the project tables does not prevent the removal of a volume', async () => {
      const pod = podWith({ emptyDir: {} }, own);
      await tried(pod);
      host.injectFault('endCounting', () =>
        Promise.reject(new KubeletError('timeout', 'Locked', 'locked by another process')),
      );
      await clock.until(volumes.manager.unmount(podUid(pod), signal));
      expect(host.entries.has(dir('empty-dir'))).toBe(false);
      expect(log.join('')).toContain('locked by another process');
    });
  });
});
