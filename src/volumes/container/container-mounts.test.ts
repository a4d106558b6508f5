import { describe, expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { aVolumeSpec } from '../../../test/builders/volume-requests.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { StatusResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import type { VolumeMount } from '../../api/k8s/types.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { imagePlugin } from '../image/image.ts';
import type { MountedVolume } from '../mounted-volumes.ts';
import type { SetUpVolume } from '../plugin.ts';
import { containerMounts } from './container-mounts.ts';

interface Node {
  readonly host?: FakeVolumeHost;
  readonly supportsRecursive?: boolean;
  readonly seLinux?: boolean;
}

const aHost = (): FakeVolumeHost => new FakeVolumeHost('/root/pods');

const own: SetUpVolume = {
  location: { kind: 'path', path: '/root/pods/u/volumes/x/v' },
  readOnly: false,
  managed: true,
};

async function mountOf(
  mount: Partial<VolumeMount>,
  volume: SetUpVolume = own,
  { host = aHost(), supportsRecursive = true, seLinux = false }: Node = {},
): Promise<object> {
  if (seLinux) host.entries.set('/sys/fs/selinux/enforce', 'file');
  const features = { recursiveReadOnlyMounts: supportsRecursive };
  const mounted: MountedVolume = { ...volume, spec: aVolumeSpec(), plugin: imagePlugin, mountedAtMs: 0 };
  const [first] = await containerMounts(
    {
      host,
      layout: { podsDir: '/root/pods', pluginsDir: '/root/plugins' },
      cri: { status: async () => StatusResponse.fromPartial({ runtimeHandlers: [{ features }] }) },
      objects: { runtimeClass: () => Promise.reject(new Error('the pod has no RuntimeClass')) },
      clock: new FakeClock(),
      log: silentLogger,
    },
    {
      pod: aPod({ uid: 'u' }),
      container: aContainer({ volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }),
      imageVolumes: new Map([['v', { image: 'sha256:1', userSpecifiedImage: 'registry/data:1' }]]),
      mounted: (name) => (name === 'v' ? mounted : undefined),
      expand: (text) => text.replace('$(NAME)', 'web'),
    },
    new AbortController().signal,
  );
  return first ?? {};
}

const cases: readonly (readonly [string, Partial<VolumeMount>, object])[] = [
  [
    'without options',
    {},
    { containerPath: '/v', hostPath: '/root/pods/u/volumes/x/v', readonly: false, propagation: 0 },
  ],
  ['at a relative path, which is made absolute', { mountPath: 'etc/x' }, { containerPath: '/etc/x' }],
  ['read-only', { readOnly: true }, { readonly: true, recursiveReadOnly: false }],
  ['recursively read-only', { readOnly: true, recursiveReadOnly: 'Enabled' }, { recursiveReadOnly: true }],
  [
    'recursively read-only if possible',
    { readOnly: true, recursiveReadOnly: 'IfPossible' },
    { recursiveReadOnly: true },
  ],
  ['with propagation HostToContainer', { mountPropagation: 'HostToContainer' }, { propagation: 1 }],
  ['with propagation Bidirectional', { mountPropagation: 'Bidirectional' }, { propagation: 2 }],
  ['with propagation None', { mountPropagation: 'None' }, { propagation: 0 }],
  ['a subPath', { subPath: 'a/b' }, { hostPath: '/root/pods/u/volume-subpaths/v/c/0' }],
  ['a subPathExpr', { subPathExpr: 'logs/$(NAME)' }, { hostPath: '/root/pods/u/volume-subpaths/v/c/0' }],
];
for (const [name, mount, want] of cases)
  test(`mounts ${name}`, async () => expect(await mountOf(mount)).toMatchObject(want));

test('bind-mounts the expanded subPathExpr', async () => {
  const host = aHost();
  await mountOf({ subPathExpr: 'logs/$(NAME)' }, own, { host });
  expect(host.mounts[0]?.options).toBe('/root/pods/u/volumes/x/v/logs/web');
});

describe('rejects', () => {
  const refusals: readonly (readonly [string, Partial<VolumeMount>, string])[] = [
    ['a missing volume', { name: 'w' }, 'cannot find volume "w" to mount into container "c"'],
    ['an absolute subPath', { subPath: '/etc' }, 'error SubPath `/etc` must not be an absolute path'],
    ['a subPath with ..', { subPath: 'a/../..' }, "must not contain '..'"],
    ['a subPathExpr that expands to ..', { subPathExpr: '../$(NAME)' }, "must not contain '..'"],
    ['recursiveReadOnly without readOnly', { recursiveReadOnly: 'Enabled' }, 'but it is not read-only'],
    [
      'recursiveReadOnly with propagation',
      { readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' },
      'not compatible with propagation "HostToContainer"',
    ],
    [
      'an unknown recursiveReadOnly mode',
      { readOnly: true, recursiveReadOnly: 'Maybe' },
      'unknown recursive read-only mode "Maybe"',
    ],
    ['an unknown propagation', { mountPropagation: 'Sideways' }, 'invalid MountPropagation mode: "Sideways"'],
  ];
  for (const [name, mount, message] of refusals)
    test(name, async () => await expect(mountOf(mount)).rejects.toThrow(message));

  test('recursiveReadOnly Enabled if the runtime does not support it, but not IfPossible', async () => {
    const node = { supportsRecursive: false };
    const mode = (recursiveReadOnly: string) => ({ readOnly: true, recursiveReadOnly });
    await expect(mountOf(mode('Enabled'), own, node)).rejects.toThrow('not supported by the runtime');
    expect(await mountOf(mode('IfPossible'), own, node)).toMatchObject({ recursiveReadOnly: false });
  });

  test('a subPath that cannot be bind-mounted, without revealing the cause', async () => {
    const host = aHost();
    host.injectFault('bindSubPath', () => Promise.reject(new Error('/etc/shadow is a link')));
    const failure = await mountOf({ subPath: 'x' }, own, { host }).catch((err: Error) => err.message);
    expect(failure).toBe('failed to prepare subPath for volumeMount "v" of container "c"');
    host.injectFault('bindSubPath', () =>
      Promise.reject(new KubeletError('invalid', 'SubPathNotCreated', '/etc')),
    );
    const notCreated = await mountOf({ subPath: 'x' }, own, { host }).catch((err: Error) => err.message);
    expect(notCreated).toBe('failed to create subPath directory for volumeMount "v" of container "c"');
  });
});

test('requests SELinux relabeling for managed volumes where SELinux is enabled', async () => {
  expect(await mountOf({})).toMatchObject({ selinuxRelabel: false });
  const node = { seLinux: true };
  expect(await mountOf({}, own, node)).toMatchObject({ selinuxRelabel: true });
  expect(await mountOf({}, { ...own, managed: false }, node)).toMatchObject({ selinuxRelabel: false });
});

test('passes the image of an image volume to the runtime, with its subPath', async () => {
  const location = { kind: 'image' } as const;
  const host = aHost();
  const image: SetUpVolume = { location, readOnly: true, managed: false };
  expect(await mountOf({ subPath: 'models' }, image, { host })).toMatchObject({
    hostPath: '',
    image: { image: 'sha256:1', userSpecifiedImage: 'registry/data:1' },
    imageSubPath: 'models',
    readonly: true,
  });
  expect(host.mounts).toEqual([]);
});

test('rejects a block device in volumeMounts', async () => {
  const device: SetUpVolume = {
    location: { kind: 'device', path: '/dev/x' },
    readOnly: false,
    managed: false,
  };
  await expect(mountOf({}, device)).rejects.toThrow('cannot find volume "v" to mount into container "c"');
});
