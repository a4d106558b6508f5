// Volumes with external faults: an unresponsive server, a runtime without a required feature; and mount propagation.
// There is no NFS server: the mount command is replaced by one that binds a directory for one server and hangs for
// another.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Pod, VolumeMount } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow } from './rig/mounts.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { findProgram } from './rig/prerequisites.ts';
import { mustRun } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import {
  containerStatus,
  uidOf,
  untilContainer,
  untilNoPod,
  untilPod,
  untilRunning,
} from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { TestPods } from './support/test-pods.ts';

describeOnRig('volume faults', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = new TestPods(() => kubelet);

  beforeAll(async () => {
    rig = await startRig();
    const bin = join(rig.workspace.dir, 'stand-ins');
    mkdirSync(bin);
    mkdirSync(exported());
    writeFileSync(join(exported(), 'file'), 'served\n');
    const mount = findProgram('mount') ?? 'mount';
    const stand = `#!/bin/sh
case "$*" in
  *never:/*) echo $$ >> ${helpers()}; exec sleep 100000 ;;
  *files:/*) for target; do :; done; exec ${mount} --bind ${exported()} "$target" ;;
  *) exec ${mount} "$@" ;;
esac
`;
    writeFileSync(join(bin, 'mount'), stand);
    chmodSync(join(bin, 'mount'), 0o755);
    kubelet = await rig.kubelet({
      env: { PATH: `${bin}:${process.env['PATH']}` },
      config: { featureGates: { ImageVolume: true } },
    });
  });
  afterAll(() => rig.stop());
  afterEach(() => own.removeAll());

  const exported = (): string => join(rig.workspace.dir, 'exported');
  const helpers = (): string => join(rig.workspace.dir, 'helpers');
  const running = (): readonly string[] =>
    (existsSync(helpers()) ? readFileSync(helpers(), 'utf8').trim().split('\n') : []).filter((pid) =>
      existsSync(`/proc/${pid}`),
    );
  const nfs = (server: string) => [{ name: 'v', nfs: { server, path: '/' } }];
  const reading = (script: string, over: Partial<VolumeMount> = {}) => [
    container('main', script, { volumeMounts: [{ name: 'v', mountPath: '/v', ...over }] }),
  ];
  const podMounts = (pod: Pod): readonly string[] => mountsBelow(join(kubelet.rootDir, 'pods', uidOf(pod)));

  test('an unresponsive server delays only its pod, which reports the volume and can still end', async () => {
    own.write('hung', manifest('hung', { volumes: nfs('never'), containers: reading(exitsOnTerm) }));
    await waitFor(() => running().length > 0, 'the mount command to run', 30_000);
    const served = await own.start(
      'served',
      manifest('served', { volumes: nfs('files'), containers: reading(`cat /v/file; ${exitsOnTerm}`) }),
    );
    expect(await untilLogged(kubelet, served, 1)).toEqual(['served']);
    await own.start(
      'beside',
      manifest('beside', { volumes: [{ name: 'v', emptyDir: {} }], containers: reading(exitsOnTerm) }),
    );
    const explained = await (await kubelet.get(kubelet.readOnlyPort, '/explain')).text();
    expect(explained).toContain('volume v is being mounted');
    const hung = await untilPod(kubelet, 'hung', 'waiting', ({ phase }) => phase === 'Pending');
    own.remove('hung');
    await untilNoPod(kubelet, 'hung');
    await untilNoTraces(rig, kubelet, hung);
    await waitFor(() => running().length === 0, 'the mount command to exit');
    own.remove('served');
    await untilNoTraces(rig, kubelet, served);
    expect([podMounts(hung), podMounts(served)]).toEqual([[], []]);
    // The files of the server are untouched.
    expect(readdirSync(exported())).toEqual(['file']);
  });

  test('a kubelet restarted after a kill during a hung mount ends the pod', async () => {
    own.write('cut', manifest('cut', { volumes: nfs('never'), containers: reading(exitsOnTerm) }));
    const before = running().length;
    await waitFor(() => running().length > before, 'the mount command to run', 30_000);
    const cut = await untilPod(kubelet, 'cut', 'waiting', ({ phase }) => phase === 'Pending');
    await kubelet.kill9();
    own.remove('cut');
    await kubelet.start();
    // Only the pod's directory is left, which is removed like that of any orphaned pod.
    await waitFor(
      () => !existsSync(join(kubelet.rootDir, 'pods', uidOf(cut))),
      'its directory to be removed',
      90_000,
    );
    for (const pid of running()) process.kill(Number(pid), 'SIGKILL');
  }, 150_000);

  test('mount propagation: HostToContainer and Bidirectional', async () => {
    const shared = join(kubelet.rootDir, 'shared');
    mkdirSync(shared);
    const volumes = [{ name: 'v', hostPath: { path: shared } }];
    const wait = (file: string): string => `until [ -e ${file} ]; do sleep 0.1; done`;
    const script = `${wait('/v/in/there')}; echo came; mkdir /v/out && mount -t tmpfs tmpfs /v/out && touch /v/out/here; ${exitsOnTerm}`;
    own.write(
      'both-ways',
      manifest('both-ways', {
        volumes,
        containers: [
          container('main', script, {
            securityContext: { privileged: true },
            volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
          }),
          container(
            'in',
            `${wait('/v/in/there')}; ${wait('/v/out/here')}; touch /v/seen-in; ${exitsOnTerm}`,
            {
              volumeMounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'HostToContainer' }],
            },
          ),
          container('none', `${wait('/v/seen-in')}; [ -e /v/in/there ] || touch /v/unseen; ${exitsOnTerm}`, {
            volumeMounts: [{ name: 'v', mountPath: '/v' }],
          }),
        ],
      }),
    );
    const pod = await untilRunning(kubelet, 'both-ways');
    mkdirSync(join(shared, 'in'));
    await mustRun('mount', ['-t', 'tmpfs', 'tmpfs', join(shared, 'in')]);
    writeFileSync(join(shared, 'in/there'), '');
    await waitFor(
      () => existsSync(join(shared, 'unseen')),
      'each container to see the propagated mounts',
      30_000,
    );
    expect(existsSync(join(shared, 'out/here'))).toBe(true);
    own.remove('both-ways');
    await untilNoTraces(rig, kubelet, pod);
    for (const name of ['in', 'out']) await mustRun('umount', [join(shared, name)]);
  });

  const refusedAs = async (name: string, pod: Pod, reason: string): Promise<string> => {
    own.write(name, pod);
    const seen = await untilContainer(
      kubelet,
      name,
      reason,
      ({ state }) => state?.waiting?.reason === reason,
    );
    return containerStatus(seen).state?.waiting?.message ?? '';
  };

  test('recursive read-only mounts are rejected without runtime support if Enabled, and plain read-only if IfPossible', async () => {
    const pod = (name: string, recursiveReadOnly: string): Pod =>
      manifest(name, {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: reading(`touch /v/x 2>/dev/null || echo read-only; ${exitsOnTerm}`, {
          readOnly: true,
          recursiveReadOnly,
        }),
      });
    const [handler] = (await rig.cri.status({})).runtimeHandlers;
    // This containerd may not support it; a newer one does, and then the pod runs.
    if (handler?.features?.recursiveReadOnlyMounts !== true)
      expect(await refusedAs('must', pod('must', 'Enabled'), 'CreateContainerConfigError')).toBe(
        'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode, but it is not supported by the runtime',
      );
    else await own.start('must', pod('must', 'Enabled'));
    const may = await own.start('may', pod('may', 'IfPossible'));
    expect(await untilLogged(kubelet, may, 1)).toEqual(['read-only']);
  });

  test('an image volume is mounted, or its pod does not start if the runtime lacks support', async () => {
    const volumes = [{ name: 'v', image: { reference: rig.images.busybox, pullPolicy: 'IfNotPresent' } }];
    own.write(
      'image',
      manifest('image', { volumes, containers: reading(`ls /v/bin >/dev/null && ${exitsOnTerm}`) }),
    );
    const ended = 'CreateContainerError';
    const seen = await untilContainer(
      kubelet,
      'image',
      'to run or to be rejected',
      ({ ready, state }) => ready || state?.waiting?.reason === ended,
    );
    const { ready, state } = containerStatus(seen);
    // This containerd treats the empty host path as a directory to create; the Go kubelet sends the same request.
    if (!ready) expect(state?.waiting?.message).toContain('failed to mkdir ""');
  });
});
