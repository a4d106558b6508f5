// Volumes on real directories and mounts, without containers: taking over the state of a Go kubelet, and many pods at
// once.

import { execFileSync } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../../src/api/k8s/types.ts';
import { podUid } from '../../../src/api/pod/pod-ref.ts';
import type { Volumes } from '../../../src/assemble/volumes.ts';
import { realClock } from '../../../src/base/clock.ts';
import { startComponent } from '../../../src/base/component.ts';
import { VolumeFiles } from '../../../src/edge/volumes/volume-files.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakePodObjects } from '../../fakes/fake-pod-objects.ts';
import { canMount, type MountDirectory, mountDirectory } from '../../fakes/mount-directory.ts';
import { testVolumes } from '../../simulate/test-volumes.ts';

describe.runIf(canMount)('volumes on disk (root needed)', () => {
  const signal = new AbortController().signal;
  setMaxListeners(0, signal);
  let mountDir: MountDirectory;
  let objects: FakePodObjects;
  let volumes: Volumes;
  let stop: AbortController;
  let stopped: readonly Promise<void>[];

  beforeEach(async () => {
    mountDir = await mountDirectory();
    objects = new FakePodObjects();
    stop = new AbortController();
    volumes = testVolumes({
      rootDir: mountDir.directory,
      host: (podsDir) => new VolumeFiles({ podsDir, now: () => Date.now() }),
      objects,
      clock: realClock,
    });
    const started = await Promise.all(
      volumes.components.map((component) => startComponent(component, stop.signal)),
    );
    stopped = started.map((each) => each.stopped);
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(stopped);
    await mountDir.clear();
  });

  const given = async (pod: Pod): Promise<readonly string[]> => {
    const [container = aContainer()] = pod.spec?.containers ?? [];
    const options = { expand: (text: string) => text };
    const { mounts } = await volumes.manager.containerMounts(pod, container, options, signal);
    return mounts.map(({ hostPath }) => hostPath?.slice(mountDir.podsDir.length + 1) ?? '');
  };
  const mounting = (volumeMounts: Container['volumeMounts']) => [
    aContainer({ volumeMounts: volumeMounts ?? [] }),
  ];

  /** The layout that the Go kubelet v1.34.11 leaves; its timestamped directories end with a number. */
  function leaveAsUpstream(uid: string): void {
    const dir = join(mountDir.podsDir, uid);
    const mount = (...args: readonly string[]): unknown => execFileSync('mount', args);
    const volume = (plugin: string, name: string): string => {
      const path = join(dir, `volumes/kubernetes.io~${plugin}`, name);
      mkdirSync(path, { recursive: true, mode: 0o777 });
      return path;
    };
    for (const name of ['empty', 'memory', 'wrapped_labels', 'wrapped_config']) {
      mkdirSync(join(dir, 'plugins/kubernetes.io~empty-dir', name), { recursive: true });
      writeFileSync(join(dir, 'plugins/kubernetes.io~empty-dir', name, 'ready'), '');
    }
    const empty = volume('empty-dir', 'empty');
    mkdirSync(join(empty, 'a/b'), { recursive: true });
    writeFileSync(join(empty, 'a/b/kept'), 'kept');
    mount('-t', 'tmpfs', '-o', 'size=8388608', 'tmpfs', volume('empty-dir', 'memory'));
    writeFileSync(join(dir, 'volumes/kubernetes.io~empty-dir/memory/kept'), 'kept');
    mount('-t', 'tmpfs', '-o', 'size=1073741824', 'tmpfs', volume('downward-api', 'labels'));
    for (const [path, file, text] of [
      [volume('downward-api', 'labels'), 'labels', 'app="web"'],
      [volume('configmap', 'config'), 'k', 'old'],
    ] as const) {
      mkdirSync(join(path, '..2026_11_17_03_09_37.1234567890'));
      writeFileSync(join(path, '..2026_11_17_03_09_37.1234567890', file), text);
      symlinkSync('..2026_11_17_03_09_37.1234567890', join(path, '..data'));
      symlinkSync(`..data/${file}`, join(path, file));
    }
    for (const [at, from] of [
      ['empty/c/1', join(empty, 'a/b')],
      ['labels/c/2', join(dir, 'volumes/kubernetes.io~downward-api/labels/labels')],
    ] as const) {
      const target = join(dir, 'volume-subpaths', at);
      mkdirSync(dirname(target), { recursive: true });
      if (statSync(from).isDirectory()) mkdirSync(target);
      else writeFileSync(target, '');
      mount('--bind', from, target);
    }
  }

  test('takes over the state of a Go kubelet: mounts nothing again, loses nothing, and cleans up in the end', async () => {
    leaveAsUpstream('u');
    objects.putConfigMap('cm', { k: 'new' });
    const pod = aPod({
      uid: 'u',
      labels: { app: 'web' },
      volumes: [
        { name: 'empty', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
        {
          name: 'labels',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
        { name: 'config', configMap: { name: 'cm' } },
      ],
      containers: mounting([
        { name: 'empty', mountPath: '/empty' },
        { name: 'empty', mountPath: '/part', subPath: 'a/b' },
        { name: 'labels', mountPath: '/name', subPath: 'labels' },
        { name: 'memory', mountPath: '/memory' },
        { name: 'config', mountPath: '/config' },
      ]),
    });
    const before = await mountDir.mounts();
    await volumes.manager.mount(pod, signal);
    expect(await given(pod)).toEqual([
      'u/volumes/kubernetes.io~empty-dir/empty',
      'u/volume-subpaths/empty/c/1',
      'u/volume-subpaths/labels/c/2',
      'u/volumes/kubernetes.io~empty-dir/memory',
      'u/volumes/kubernetes.io~configmap/config',
    ]);
    expect(await mountDir.mounts()).toEqual(before);
    const text = (path: string): string => readFileSync(join(mountDir.podsDir, 'u', path), 'utf8');
    expect(text('volume-subpaths/empty/c/1/kept')).toBe('kept');
    expect(text('volumes/kubernetes.io~empty-dir/memory/kept')).toBe('kept');
    expect(text('volumes/kubernetes.io~configmap/config/k')).toBe('new');
    expect(readdirSync(join(mountDir.podsDir, 'u/volumes/kubernetes.io~configmap/config'))).not.toContain(
      '..2026_11_17_03_09_37.1234567890',
    );
    await volumes.manager.unmount(podUid(pod), signal);
    expect(await mountDir.mounts()).toEqual([]);
    const left = ['volumes', 'volume-subpaths'].filter((name) =>
      existsSync(join(mountDir.podsDir, 'u', name)),
    );
    expect(left).toEqual([]);
  });

  test('mounts and unmounts 200 pods with five volumes each', async () => {
    objects.putConfigMap('cm', { k: 'v' });
    objects.putSecret('s', { user: 'me' });
    const kinds = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'config', configMap: { name: 'cm' } },
      { name: 'secret', secret: { secretName: 's' } },
      { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ];
    const containers = mounting(kinds.map(({ name }) => ({ name, mountPath: `/${name}` })));
    const pods = Array.from({ length: 200 }, (_, at) =>
      aPod({ name: `p${at}`, volumes: kinds, containers, serviceAccountName: 'sa' }),
    );
    await Promise.all(pods.map((pod) => volumes.manager.mount(pod, signal)));
    const mounts = await mountDir.mounts();
    expect([mounts.length, new Set(mounts).size]).toEqual([600, 600]);
    const token = 'pods/uid-p199/volumes/kubernetes.io~projected/token/token';
    expect(readFileSync(join(mountDir.directory, token), 'utf8')).toBe('token-1');
    await Promise.all(pods.map((pod) => volumes.manager.unmount(podUid(pod), signal)));
    expect(await mountDir.mounts()).toEqual([]);
    const left = pods.flatMap(({ metadata }) => readdirSync(join(mountDir.podsDir, metadata?.uid ?? '')));
    expect(new Set(left)).toEqual(new Set(['plugins']));
    expect(volumes.mounts.pods()).toEqual([]);
  }, 120_000);
});
